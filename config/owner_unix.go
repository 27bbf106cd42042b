//go:build unix

package config

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// ownerOf returns the number of the user that owns a file.
func ownerOf(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(s.Uid), 10)
	}
	return ""
}

// ofAnother reports whether a file belongs to a user that is neither this process's nor,
// where root may own it, root.
func ofAnother(info fs.FileInfo, root bool) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) != os.Geteuid() && !(root && s.Uid == 0)
}
