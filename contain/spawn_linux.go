package contain

import "syscall"

// Namespaces reports whether this system has them.
const Namespaces = true

// Attr starts a process in namespaces of its own: a user who is nobody outside, and
// a network without an interface. bare: where the system allows none, without. It has a
// process group of its own, so what is typed at this program's terminal ends this program alone.
func Attr(bare bool) *syscall.SysProcAttr {
	if bare {
		return &syscall.SysProcAttr{Setpgid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
}
