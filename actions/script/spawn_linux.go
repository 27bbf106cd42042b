package script

import "syscall"

const namespaces = true

// contained starts a process in namespaces of its own: a user who is nobody outside, and
// a network without an interface. bare: where the system allows none, without.
func contained(bare bool) *syscall.SysProcAttr {
	if bare {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
}
