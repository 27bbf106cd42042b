//go:build unix

package chromium

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ours returns an error unless dir is a directory in which the daemon or user alone can have
// written, at a place that nobody else can have given to another.
func ours(dir string, user int) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner := ownerOf(info)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || owner != user && owner != os.Geteuid() {
		return fmt.Errorf("%s is not as browserd made it, or another user's: it stays", dir)
	}
	return undisturbed(filepath.Dir(dir), user)
}

// undisturbed returns an error where somebody else than root, the daemon and user may replace what is in dir.
func undisturbed(dir string, user int) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for _, path := range []string{dir, real} {
		for {
			info, err := os.Lstat(path)
			if err != nil {
				return err
			}
			owner := ownerOf(info)
			shared := info.IsDir() && info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0
			if shared || owner != 0 && owner != os.Geteuid() && owner != user {
				return fmt.Errorf("others may replace what is in %s", path)
			}
			up := filepath.Dir(path)
			if up == path {
				break
			}
			path = up
		}
	}
	return nil
}

func ownerOf(info os.FileInfo) int {
	if at, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(at.Uid)
	}
	return -1
}
