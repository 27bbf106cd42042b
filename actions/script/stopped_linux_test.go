package script

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process that neither answers nor ends, whatever it is asked, is killed with its script's
// context, or with the pool.
func TestAProcessThatDoesNotEnd(t *testing.T) {
	pool := testPool(t, DefaultConfig)
	s := Script{Code: "return 1", Input: json.RawMessage("{}"), Commands: map[string]string{}}
	if _, err := pool.Run(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	stopped := func() int {
		waits := <-pool.ready
		if err := unix.Kill(waits.cmd.Process.Pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		pool.ready <- waits
		return waits.cmd.Process.Pid
	}
	gone := func(pid int) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); unix.Kill(pid, 0) != unix.ESRCH; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the process is still there")
			}
		}
	}
	pid := stopped()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := pool.Run(ctx, s, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a script in a process that does nothing: %v", err)
	}
	gone(pid)
	pid = stopped()
	pool.Close() // returns when all processes have ended
	gone(pid)
}
