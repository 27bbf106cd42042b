package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/browserd/browserd/protocol/local"
)

// StateDir returns the directory in which the daemon keeps its token and the
// marks of its browsers, and makes it, for this user alone (mode 0700):
// $XDG_STATE_HOME/browserd or ~/.local/state/browserd, on macOS
// ~/Library/Application Support/browserd, on Windows %LocalAppData%\browserd.
func StateDir() (string, error) {
	base, err := local.StateBase(runtime.GOOS)
	if err == nil && !filepath.IsAbs(base) { // in the working directory, which may be a stranger's
		err = fmt.Errorf("%s is no absolute path", base)
	}
	if err != nil {
		return "", fmt.Errorf("no state directory: %w: set HOME or XDG_STATE_HOME", err)
	}
	dir := filepath.Join(base, "browserd")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the state directory: %w: set HOME or XDG_STATE_HOME", err)
	}
	// It may have been there before. Of another user's, that user could choose the token.
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("making the state directory: %w", err)
	}
	if ofAnother(info, false) {
		return "", fmt.Errorf("the state directory %s belongs to another user: set HOME or XDG_STATE_HOME to a directory of your own", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", fmt.Errorf("closing the state directory to others: %w", err)
	}
	return dir, nil
}
