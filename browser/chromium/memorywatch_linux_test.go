package chromium

import (
	"context"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/untested"
)

// The renderer of a page that keeps a whole core busy runs at a lower priority until the
// page is quiet again; also where the daemon itself runs at a lower priority.
func TestBusyRendererGetsLowerPriority(t *testing.T) {
	if os.Getuid() != 0 {
		untested.Skip(t, "only root may raise a process's priority again")
	}
	c := started(t, testConfig(t))
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	conn, _, err := c.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, page := openPage(t, conn)
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	own = 20 - own // the system call's own answer is 20 less the nice value
	lowered := func() bool {
		return slices.ContainsFunc(renderers(c.Info().PID, nil), func(r *renderer) bool {
			n, err := syscall.Getpriority(syscall.PRIO_PROCESS, r.pid)
			return err == nil && 20-n == min(own+hogNice, 19)
		})
	}
	run := func(script string) {
		t.Helper()
		if err := page.Call(ctx, "Runtime.evaluate", map[string]any{"expression": script}, nil); err != nil {
			t.Fatal(err)
		}
	}
	run(`window.hog = setInterval(() => { for (const end = Date.now() + 100; Date.now() < end;); }, 0)`)
	eventually(t, 30*time.Second, "a hog that gives way", lowered)
	run(`clearInterval(hog)`)
	eventually(t, 20*time.Second, "a page that gives way no longer", func() bool {
		return !slices.ContainsFunc(renderers(c.Info().PID, nil), func(r *renderer) bool {
			n, err := syscall.Getpriority(syscall.PRIO_PROCESS, r.pid)
			return err == nil && 20-n != own
		})
	})
}
