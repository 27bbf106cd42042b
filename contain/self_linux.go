//go:build linux && (amd64 || arm64)

package contain

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Self gives up all that a script needs nothing of, for all threads of the process.
// After it no file, socket or process can be opened, made or signalled. One byte of a core dump, unlike none,
// also keeps Linux from passing it to a program (core(5)).
func Self(cpuSeconds, dataBytes uint64) error {
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_CORE: 1, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CPU: cpuSeconds, unix.RLIMIT_DATA: dataBytes, unix.RLIMIT_MEMLOCK: 0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("setting a limit: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbidding dumps: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up privileges: %w", err)
	}
	filter := seccompFilter(uint32(os.Getpid()))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// TSYNC: all threads of the process, which Go has started already.
	failed, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 || failed != 0 {
		return fmt.Errorf("installing the seccomp filter: %w", errno)
	}
	return nil
}

// Offsets in struct seccomp_data (linux/seccomp.h). Arguments are 64-bit, and both
// architectures are little-endian.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

func argument(i uint32) uint32 { return dataArgs + 8*i }

// seccompFilter lets the Go runtime work, on the file descriptors that are open. All else
// fails with EPERM; another architecture's calls end the process.
func seccompFilter(pid uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	answer := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
	}
	const refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	f := []unix.SockFilter{
		load(dataArch), jump(unix.BPF_JEQ, auditArch, 1, 0), answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(dataNumber),
	}
	for _, number := range append([]uint32{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_MUNMAP, unix.SYS_MADVISE,
		unix.SYS_FUTEX, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY,
		unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK,
		unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
		unix.SYS_RESTART_SYSCALL, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL,
		unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MINCORE,
	}, archCalls...) {
		f = append(f, jump(unix.BPF_JEQ, number, 0, 1), answer(unix.SECCOMP_RET_ALLOW))
	}
	// Memory, but none that can be executed.
	for _, number := range []uint32{unix.SYS_MMAP, unix.SYS_MPROTECT} {
		f = append(f, jump(unix.BPF_JEQ, number, 0, 4), load(argument(2)),
			jump(unix.BPF_JSET, unix.PROT_EXEC, 0, 1), answer(refuse), answer(unix.SECCOMP_RET_ALLOW))
	}
	// Threads, but no processes. What clone3 does stands in memory, which a filter cannot
	// read: without it, Go and C libraries take clone.
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4), load(argument(0)),
		jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), answer(unix.SECCOMP_RET_ALLOW), answer(refuse))
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), answer(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
	// Signals to its own threads, with which Go interrupts a goroutine.
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_TGKILL, 0, 4), load(argument(0)),
		jump(unix.BPF_JEQ, pid, 0, 1), answer(unix.SECCOMP_RET_ALLOW), answer(refuse))
	// Whether a descriptor blocks, which Go asks of its pipes.
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_FCNTL, 0, 4), load(argument(1)),
		jump(unix.BPF_JEQ, unix.F_GETFL, 0, 1), answer(unix.SECCOMP_RET_ALLOW), answer(refuse))
	return append(f, answer(refuse))
}
