package contain

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// archCalls are what a Go thread needs here besides: its thread-local storage.
var archCalls = []uint32{unix.SYS_ARCH_PRCTL, unix.SYS_EPOLL_WAIT}
