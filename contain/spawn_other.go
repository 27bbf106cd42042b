//go:build !linux

package contain

import "syscall"

// Namespaces reports whether this system has them.
const Namespaces = false

// Attr adds nothing here.
func Attr(bare bool) *syscall.SysProcAttr { return nil }

// CloseOnExec does nothing here.
func CloseOnExec() {}
