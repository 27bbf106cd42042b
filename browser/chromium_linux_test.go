package browser

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"go.uber.org/goleak"
)

// builds runs a test with each build of Chromium that this machine has. On a
// continuous integration machine a build that is missing is a failure.
func builds(t *testing.T, f func(t *testing.T, cfg Config)) {
	for _, b := range []struct {
		name  string
		shell bool
	}{{"chromium-headless-shell", true}, {"chromium", false}} {
		t.Run(b.name, func(t *testing.T) {
			cfg := testConfig(t)
			for _, path := range (finder{goos: "linux", path: filepath.SplitList(os.Getenv("PATH"))}).candidates() {
				if isShell(path) == b.shell && (finder{}).executable(path) {
					cfg.Path = path
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

func testConfig(t *testing.T) Config {
	cfg := Defaults()
	cfg.StateDir = t.TempDir()
	return cfg
}

// started returns a running Chromium that is closed, without a trace, at the end.
func started(t *testing.T, cfg Config) *Chromium {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	c := Start(t.Context(), cfg, slog.New(slog.DiscardHandler))
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
func openPage(t *testing.T, conn *Conn) (target.ID, *Session) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b := conn.Session("")
	bc, err := cdp.Call(ctx, b, target.CreateBrowserContext, target.CreateBrowserContextParams{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := cdp.Call(ctx, b, target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: bc.BrowserContextID})
	if err != nil {
		t.Fatal(err)
	}
	flat := true
	s, err := cdp.Call(ctx, b, target.AttachToTarget, target.AttachToTargetParams{TargetID: page.TargetID, Flatten: &flat})
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

func TestLaunchAndClose(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		begin := time.Now()
		c := started(t, cfg)
		t.Logf("first answer after %v", time.Since(begin))
		conn, gen, err := c.Conn(t.Context())
		if err != nil || gen != 1 {
			t.Fatal(gen, err)
		}
		begin = time.Now()
		openPage(t, conn)
		t.Logf("page after %v", time.Since(begin))
		i := c.Info()
		t.Logf("%+v", i)
		prof := profileOf(c)
		begin = time.Now()
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("closed after %v", time.Since(begin))
		checkGone(t, i.PID, prof)
	})
}

func profileOf(c *Chromium) *profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.proc.profile
}

// checkGone fails when a browser left a process, a zombie, a file or a mark.
func checkGone(t *testing.T, group int, prof *profile) {
	t.Helper()
	for _, pid := range pids() {
		if s, err := readStat(pid); err == nil && s.group == group {
			t.Errorf("process %d (%s) is left: %v", pid, s.state, cmdline(pid))
		}
	}
	if left := using(prof.userData()); len(left) > 0 {
		t.Errorf("processes %v have the profile still", left)
	}
	for _, path := range []string{prof.dir, prof.mark} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left (%v)", path, err)
		}
	}
}

func TestKilledBrowser(t *testing.T) {
	builds(t, func(t *testing.T, cfg Config) {
		c := started(t, cfg)
		lost := make(chan string, 4)
		c.OnLost(func(gen Generation, cause string) { lost <- cause })
		conn, _, err := c.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		openPage(t, conn)
		pid, prof := c.Info().PID, profileOf(c)
		begin := time.Now()
		syscall.Kill(pid, syscall.SIGKILL)
		<-conn.Done()
		t.Logf("pipe after %v", time.Since(begin))
		cause := <-lost
		t.Logf("told after %v: %s", time.Since(begin), cause)
		_, gen, err := c.Conn(t.Context())
		t.Logf("again after %v", time.Since(begin))
		if err != nil || gen != 2 {
			t.Fatal(gen, err)
		}
		eventually(t, time.Second, "profile gone", func() bool { _, err := os.Lstat(prof.mark); return err != nil })
		t.Logf("clean after %v", time.Since(begin))
		checkGone(t, pid, prof)
	})
}
