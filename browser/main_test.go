package browser

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// builds runs a test with each build of Chromium that this machine has. On a
// continuous integration machine a build that is missing is a failure.
func builds(t *testing.T, f func(t *testing.T, cfg chromium.Config)) {
	for _, b := range []struct {
		name  string
		shell bool
	}{{"chromium-headless-shell", true}, {"chromium", false}} {
		t.Run(b.name, func(t *testing.T) {
			cfg := testConfig(t)
			for found := range chromium.Installed() {
				if found.Shell == b.shell {
					cfg.Path = found.Path
					f(t, cfg)
					return
				}
			}
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is not installed", b.name)
			}
			t.Skipf("%s is not installed: this build is NOT tested", b.name)
		})
	}
}

// defaults is the configuration of a daemon that was told nothing.
func defaults() chromium.Config {
	return chromium.Config{Headless: true, ComputedNames: true, Jail: chromium.JailAuto, AnswerTimeout: 10 * time.Second, PageMemoryMB: 2048}
}

func testConfig(t *testing.T) chromium.Config {
	cfg := defaults()
	cfg.StateDir = t.TempDir()
	return cfg
}

// started returns a running Chromium that is closed, without a trace, at the end.
func started(t *testing.T, cfg chromium.Config) *chromium.Supervisor {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	c := chromium.Start(t.Context(), cfg, discard())
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
