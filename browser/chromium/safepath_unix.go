//go:build unix

package chromium

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// checkPrivateDir returns an error unless dir is a directory that only the daemon or user can
// have written to, on a path that nobody else can have replaced.
func checkPrivateDir(dir string, user int) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner := ownerOf(info)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || owner != user && owner != os.Geteuid() {
		return fmt.Errorf("%s is not as browserd made it, or another user's: it stays", dir)
	}
	return checkSafePath(filepath.Dir(dir), user)
}

// checkSafePath returns an error if anybody but root, the daemon and user may replace what is in dir: because of
// the owner or mode of dir or one of its parents.
func checkSafePath(dir string, user int) error {
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
