//go:build linux || darwin

package main

import "syscall"

// preventCoreDumps has this process, and those that it starts, leave no memory on disk when they crash:
// it may hold passwords. A limit of one byte is too small for a file, and keeps Linux from
// starting a program that takes dumps, for which zero would count as no limit (core(5)).
func preventCoreDumps() error {
	return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 1, Max: 1})
}
