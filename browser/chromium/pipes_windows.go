package chromium

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// passPipes hands the browser its ends of the pipes by their handles, which it
// inherits under the same numbers: --remote-debugging-io-pipes=commands,answers.
func passPipes(cmd *exec.Cmd, commands, answers *os.File) error {
	in, out := syscall.Handle(commands.Fd()), syscall.Handle(answers.Fd())
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// Only the handles that are listed are inherited.
	cmd.SysProcAttr.AdditionalInheritedHandles = []syscall.Handle{in, out}
	cmd.Args = append(cmd.Args, fmt.Sprintf("--remote-debugging-io-pipes=%d,%d", in, out))
	return nil
}
