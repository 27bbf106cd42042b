package local

import (
	"errors"
	"os"
	"path/filepath"
)

// StateBase returns the folder of this user in which programs keep their state, on a system
// (runtime.GOOS). The daemon's state directory is browserd in it.
func StateBase(goos string) (string, error) {
	switch goos {
	case "windows":
		if d := os.Getenv("LocalAppData"); d != "" {
			return d, nil
		}
		return "", errors.New("%LocalAppData% is not set")
	case "darwin":
		return os.UserConfigDir()
	}
	// Base Directory Specification: a path that is not absolute is ignored.
	if d := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return d, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state"), err
}
