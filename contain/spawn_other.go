//go:build !linux

package contain

import "syscall"

// Namespaces reports whether this system has them.
const Namespaces = false

func Attr(bare bool) *syscall.SysProcAttr { return nil }
