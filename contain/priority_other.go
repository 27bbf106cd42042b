//go:build !linux

package contain

import (
	"os/exec"
	"time"
)

// Nice is what Start adds to this program's own nice value: nothing here.
const Nice = 0

// Start starts a program, here with this program's own priority, which it may outlive.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Stop does nothing here.
func Stop(pid int) error { return nil }

// Continue does nothing here.
func Continue(pid int) error { return nil }

// SetNice does nothing here.
func SetNice(pid, by int) error { return nil }

// ProcessorTime is 0 here: it is not known.
func ProcessorTime(pid int) time.Duration { return 0 }
