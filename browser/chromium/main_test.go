package chromium

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"testing"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/policy"
)

// roleVariable makes the test binary another process: see TestMain.
const roleVariable = "BROWSERD_TEST_ROLE"

// TestMain runs the tests, or acts as a daemon for those that kill it or
// need another user.
func TestMain(m *testing.M) {
	if cfg := os.Getenv(roleVariable); cfg != "" {
		daemon(cfg)
		return
	}
	goleak.VerifyTestMain(m)
}

// said is what a daemon writes to the test that started it, on one line.
type said struct {
	Info    Info
	Profile string
	Err     string
}

// daemon launches a browser with a page, writes a said, and closes the browser when
// its standard input ends.
func daemon(config string) {
	var cfg Config
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		panic(err)
	}
	if cfg.JailPort != 0 {
		e, err := policy.NewEgress(policy.EgressOptions{Jailed: true}, func(netip.AddrPort) {})
		if err != nil {
			panic(err)
		}
		defer e.Close()
		cfg.Adopt, cfg.ProxyServer = e.Serve, e.Refusing()
	}
	c := Start(context.Background(), cfg, discard())
	var s said
	conn, _, err := c.Conn(context.Background())
	if err == nil {
		_, err = tryPage(context.Background(), conn)
	}
	if err != nil {
		s.Err = err.Error()
	} else {
		s.Info, s.Profile = c.Info(), c.current.proc.profile.dir
	}
	b, _ := json.Marshal(s)
	fmt.Printf("%s\n", b)
	for n, b := 1, make([]byte, 1); n > 0; n, _ = os.Stdin.Read(b) {
	}
	c.Close(context.Background())
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// builds runs a test with each build of Chromium that this machine has. On a
// continuous integration machine a build that is missing is a failure.
func builds(t *testing.T, f func(t *testing.T, cfg Config)) {
	for _, b := range []struct {
		name  string
		shell bool
	}{{"chromium-headless-shell", true}, {"chromium", false}} {
		t.Run(b.name, func(t *testing.T) {
			cfg := testConfig(t)
			for found := range Installed() {
				if found.Shell == b.shell {
					cfg.Path = found.Path
					f(t, cfg)
					return
				}
			}
			untested.Missing(t, "%s is not installed: this build is NOT tested", b.name)
		})
	}
}

// defaults is the configuration of a daemon without settings.
func defaults() Config {
	return Config{Headless: true, ComputedNames: true, Jail: JailAuto, AnswerTimeout: 10 * time.Second, PageMemoryMB: 2048}
}

func testConfig(t *testing.T) Config {
	cfg := defaults()
	cfg.StateDir = t.TempDir()
	return cfg
}

// started returns a running Chromium that is closed, without a trace, at the end.
func started(t *testing.T, cfg Config) *Supervisor {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	c := Start(t.Context(), cfg, discard())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		goleak.VerifyNone(t, ignore)
	})
	if err := c.Warm(t.Context()); err != nil {
		t.Fatalf("%v; %+v", err, err)
	}
	return c
}

// openPage opens about:blank in a new context, so that there is a renderer.
func openPage(t *testing.T, conn *cdp.Conn) (target.ID, *cdp.Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := conn.Session("")
	bc, err := cdproto.Call(ctx, b, target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := cdproto.Call(ctx, b, target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: bc.BrowserContextID})
	if err != nil {
		t.Fatal(err)
	}
	flat := true
	s, err := cdproto.Call(ctx, b, target.AttachToTarget, target.AttachToTargetParams{TargetID: page.TargetID, Flatten: &flat})
	if err != nil {
		t.Fatal(err)
	}
	return page.TargetID, conn.Session(s.SessionID)
}

// eventually waits until ok holds, at most limit.
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", limit, what)
		}
	}
}
