//go:build !linux

package script

import "syscall"

const namespaces = false

func contained(bare bool) *syscall.SysProcAttr { return nil }
