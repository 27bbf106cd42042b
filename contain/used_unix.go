//go:build unix

package contain

import "golang.org/x/sys/unix"

// UsedSeconds returns the processor time that the process has used, rounded up.
func UsedSeconds() uint64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return uint64(u.Utime.Sec+u.Stime.Sec) + 1
}
