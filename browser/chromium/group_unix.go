//go:build unix && !linux

package chromium

import (
	"os"
	"os/exec"
	"syscall"
)

func newGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

// alive reports whether there is a process with the id.
func alive(pid int, _ uint64) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}
