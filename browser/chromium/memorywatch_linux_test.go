package chromium

import (
	"context"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
)

// A page that takes a whole core gives way to the others, until it no longer does; also
// those of a daemon that itself gives way to whatever else there is.
func TestAHogGivesWay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may raise a process's priority again")
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
	givesWay := func() bool {
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
	eventually(t, 30*time.Second, "a hog that gives way", givesWay)
	run(`clearInterval(hog)`)
	eventually(t, 20*time.Second, "a page that gives way no longer", func() bool {
		return !slices.ContainsFunc(renderers(c.Info().PID, nil), func(r *renderer) bool {
			n, err := syscall.Getpriority(syscall.PRIO_PROCESS, r.pid)
			return err == nil && 20-n != own
		})
	})
}
