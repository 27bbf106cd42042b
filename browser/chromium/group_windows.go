package chromium

import (
	"os"
	"os/exec"
	"syscall"
)

func newGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup ends the browser; its helpers end when their channel to it closes.
func killGroup(p *os.Process) { p.Kill() }

// alive reports whether there is a process with the id.
func alive(pid int, _ uint64) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}
