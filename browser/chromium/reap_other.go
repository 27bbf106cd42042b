//go:build !linux

package chromium

import (
	"fmt"
	"os"
	"time"
)

// Without /proc a process is identified only by its id, which may be reused, so nothing is
// killed later: a Chromium whose daemon is killed sees its pipe close and exits.

func startTime(int) (uint64, error) { return 0, nil }

func bootID() string { return "" }

func killTree(browser *os.Process, _ string, exited <-chan struct{}) error {
	killGroup(browser)
	select {
	case <-exited:
		return nil
	case <-time.After(killLimit):
		return fmt.Errorf("process %d does not end", browser.Pid)
	}
}

func killOrphans(mark, string) (int, error) { return 0, nil }

func traversable(string, *account) bool { return true }

func sandboxOf(int) string { return "on" }
