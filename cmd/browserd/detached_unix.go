//go:build unix

package main

import "syscall"

// detached gives a process a session of its own, so that the terminal that it
// was started from does not end it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
