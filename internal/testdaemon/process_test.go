package testdaemon

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestDescendantsAndTheirEnd(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc on this system: ", err)
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
