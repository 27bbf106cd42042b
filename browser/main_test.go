package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/internal/untested"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(endingShared{m}) }

// endingShared ends the shared Chromiums behind the last test, before goleak looks: tests
// that run at the same time could not be told apart by their goroutines.
type endingShared struct{ *testing.M }

func (m endingShared) Run() int {
	code := m.M.Run()
	if err := endShared(); err != nil {
		fmt.Fprintln(os.Stderr, "ending the shared Chromiums:", err)
		code = max(code, 1)
	}
	return code
}

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
			untested.Missing(t, "%s is not installed: this build is NOT tested", b.name)
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
	c := chromium.Start(t.Context(), cfg, discard())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := c.Warm(t.Context()); err != nil {
		t.Fatalf("%v; %+v", err, err)
	}
	return c
}

// sharedChromium is one for tests that need nothing of a process of their own: one test
// has it at a time.
type sharedChromium struct {
	chromium *chromium.Supervisor
	b        *Browser
	stateDir string
}

// sharedChromiums are as many as tests ran at the same time.
var sharedChromiums struct {
	sync.Mutex
	all, free []*sharedChromium
	used      map[*testing.T]*sharedChromium
}

// sharedBrowser is a Browser over a shared Chromium that no other test has meanwhile:
// what the test opens in it is closed and gone when the test ends, in Chromium too.
func sharedBrowser(t *testing.T) *Browser {
	t.Helper()
	one, first := takeShared(t)
	h, err := one.b.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first { // it looks for what is left once, when all its pages are closed
		t.Cleanup(func() {
			defer giveBack(t, one)
			nothingLeft(t, h)
		})
	}
	return one.b
}

// takeShared returns the Chromium that the test has, or gives it one, and tells which.
func takeShared(t *testing.T) (one *sharedChromium, first bool) {
	t.Helper()
	list := &sharedChromiums
	list.Lock()
	defer list.Unlock()
	if one := list.used[t]; one != nil {
		return one, false
	}
	if list.used == nil {
		list.used = map[*testing.T]*sharedChromium{}
	}
	if n := len(list.free); n > 0 {
		one, list.free = list.free[n-1], list.free[:n-1]
	} else {
		one = newShared(t)
		list.all = append(list.all, one)
	}
	list.used[t] = one
	return one, true
}

func giveBack(t *testing.T, one *sharedChromium) {
	list := &sharedChromiums
	list.Lock()
	defer list.Unlock()
	delete(list.used, t)
	list.free = append(list.free, one)
}

func newShared(t *testing.T) *sharedChromium {
	t.Helper()
	dir, err := os.MkdirTemp("", "browserd-shared-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // Chromium's user passes through it
		t.Fatal(err)
	}
	cfg := defaults()
	cfg.StateDir = dir
	c := chromium.Start(context.Background(), cfg, discard())
	return &sharedChromium{c, New(c, discard()), dir}
}

// nothingLeft fails the test where its contexts have outlived it, in Chromium or in
// browserd, or where Chromium did not outlive the test.
func nothingLeft(t *testing.T, h *host) {
	t.Helper()
	if err := h.conn.Err(); err != nil {
		t.Errorf("the shared Chromium was lost: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	defer func() { // what this test left is not held against the next
		for _, c := range h.all() {
			c.discard()
		}
	}()
	eventually(t, 10*time.Second, "no browser context is left", func() bool {
		left, err := cdproto.Call(ctx, h.root, target.GetBrowserContexts, cdproto.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(left.BrowserContextIDs) == 0 && len(h.contexts) == 0 && len(h.pages) == 0
	})
}

// endShared ends the shared Chromiums and looks whether the mark of one is left.
func endShared() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, one := range sharedChromiums.all {
		one.b.Close()
		err = errors.Join(err, one.chromium.Close(ctx))
		if left, _ := filepath.Glob(filepath.Join(one.stateDir, "browsers", "*")); len(left) > 0 {
			err = errors.Join(err, fmt.Errorf("%q are left", left))
		}
		err = errors.Join(err, os.RemoveAll(one.stateDir))
	}
	return err
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
