package main

import "syscall"

// detached gives a process a group of its own and no console (CreateProcess:
// CREATE_NEW_PROCESS_GROUP, DETACHED_PROCESS), so that the one that it was
// started from does not end it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: 0x00000200 | 0x00000008}
}
