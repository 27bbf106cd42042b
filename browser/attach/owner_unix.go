//go:build unix

package attach

import (
	"fmt"
	"os"
	"syscall"
)

// ownedByUs returns an error if a file is a link, another user's, or one that others may write.
func ownedByUs(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	at, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(at.Uid) != os.Getuid() || info.Mode()&os.ModeSymlink != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is a link, another user's, or may be written by others", path)
	}
	return nil
}
