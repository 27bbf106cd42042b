//go:build unix

package config

import (
	"io/fs"
	"strconv"
	"syscall"
)

// ownerOf is the number of the user that owns a file.
func ownerOf(info fs.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(s.Uid), 10)
	}
	return ""
}
