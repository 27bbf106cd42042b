package testdaemon

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/untested"
)

func TestDescendantsAndTheirEnd(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		untested.Skip(t, "there is no /proc on this system: %v", err)
	}
	shell := exec.Command("sh", "-c", "sleep 100 & sleep 100")
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	var below []Process
	for deadline := time.Now().Add(5 * time.Second); len(below) < 2 && time.Now().Before(deadline); {
		below = Descendants(shell.Process.Pid)
	}
	if len(below) != 2 {
		t.Fatalf("below the shell: %v", below)
	}
	if left := AwaitGone(below, 20*time.Millisecond); len(left) != 2 {
		t.Errorf("running and said to be gone: %v of %v left", left, below)
	}
	for _, p := range below {
		p.Kill()
	}
	shell.Wait()
	if left := AwaitGone(below, 5*time.Second); len(left) != 0 {
		t.Errorf("killed and still there: %v", left)
	}
}

func TestAnotherProcessWithTheNumberIsNotTheSame(t *testing.T) {
	self := Process{PID: os.Getpid(), Start: "1"}
	if self.Alive() {
		t.Error("a process with another start time passes for this one")
	}
	self.Kill() // would end the test run
}

// A daemon that a test starts obeys SIGHUP, also where the test itself ignores it,
// as under nohup; with nohup in between it ignores it.
func TestSIGHUPOfAChild(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	for _, c := range []struct {
		name  string
		start func(*exec.Cmd) error
		dies  bool
	}{
		{"as from a terminal", startAsFromTerminal, true},
		{"as a child inherits it", (*exec.Cmd).Start, false},
	} {
		signal.Ignore(syscall.SIGHUP)
		cmd := exec.Command("sh", "-c", "kill -HUP $$")
		if err := c.start(cmd); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if died := err != nil; died != c.dies {
			t.Errorf("%s: the child ends with %v", c.name, err)
		}
	}
	cmd := exec.Command("nohup", "sh", "-c", "kill -HUP $$")
	if err := startAsFromTerminal(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("under nohup: %v", err)
	}
}
