//go:build !linux

package contain

import (
	"os/exec"
	"time"
)

// Start starts a program, here with this program's own priority.
func Start(cmd *exec.Cmd, by int) error { return cmd.Start() }

// Stop does nothing here.
func Stop(pid int) error { return nil }

// Continue does nothing here.
func Continue(pid int) error { return nil }

// SetNice does nothing here.
func SetNice(pid, by int) error { return nil }

// ProcessorTime is 0 here: it is not known.
func ProcessorTime(pid int) time.Duration { return 0 }
