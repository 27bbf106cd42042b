//go:build unix

package chromium

import (
	"os"
	"os/exec"
)

// passPipes hands the browser its ends of the pipes: with
// --remote-debugging-pipe it reads commands from file descriptor 3 and writes
// answers to 4.
func passPipes(cmd *exec.Cmd, commands, answers *os.File) error {
	cmd.ExtraFiles = []*os.File{commands, answers}
	return nil
}
