//go:build !linux

package chromium

import (
	"os"
	"os/exec"
)

// processOwner returns nil: only on Linux does Chromium get a user of its own.
func processOwner(Config) (*account, error) { return nil, nil }

func smallSharedMemory() bool { return false }

func confine(cmd *exec.Cmd, _ *account) { newGroup(cmd) }

func setPipeSize(*os.File) {}
