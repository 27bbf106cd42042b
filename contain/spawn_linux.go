package contain

import (
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Namespaces reports whether this system has them.
const Namespaces = true

// Attr starts a process in namespaces of its own: a user who is nobody outside, and
// a network without an interface. bare: where the system allows none, without. It has a
// process group of its own, so what is typed at this program's terminal ends this program alone. It
// gets no file that this program was started with.
func Attr(bare bool) *syscall.SysProcAttr {
	CloseOnExec()
	if bare {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
}

// CloseOnExec keeps the files that this program was started with, such as a supervisor's, from all processes
// that it starts from now on: seccomp lets a process read and write what is open. Go marks what it opens
// itself. The daemon calls it at its start, so that all of its processes have the same files.
func CloseOnExec() {
	const first = 3 // behind standard input, output and error output
	if unix.CloseRange(first, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}
