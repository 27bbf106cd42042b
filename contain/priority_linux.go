package contain

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Nice is what Start adds to this program's own nice value.
const Nice = 10

// Start starts a program that ends with this one, however this one ends and also while the other
// is stopped, and whose threads have this program's own nice value plus Nice, 19 at most, from the
// first instruction on. Where the kernel refuses that value, it starts all the same.
func Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	started := make(chan error)
	go func() { // ends with the program
		// A child has the nice value of the thread that starts it. Only root may lower it
		// again, so the thread ends with this goroutine, which stays locked to it.
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the first thread cannot end: while it is locked, the next goroutine has another
			defer runtime.UnlockOSThread()
			started <- Start(cmd)
			return
		}
		if own, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
			unix.Setpriority(unix.PRIO_PROCESS, 0, min(20-own+Nice, 19)) // of this thread alone (setpriority(2))
		}
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		// The kernel sends Pdeathsig as soon as the thread that started the program ends
		// (prctl(2), PR_SET_PDEATHSIG). Cmd.Wait still learns how the program ended.
		for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	return <-started
}

// Stop stops all threads of a process until Continue.
func Stop(pid int) error { return unix.Kill(pid, unix.SIGSTOP) }

// Continue lets a process that was stopped go on.
func Continue(pid int) error { return unix.Kill(pid, unix.SIGCONT) }

// SetNice sets the nice value of all threads of a process to this program's own plus by,
// 19 at most. Threads that they start later have it too. Only root may lower it again.
func SetNice(pid, by int) error {
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return err
	}
	value := min(20-own+by, 19) // the system call returns 20 less the nice value (getpriority(2))
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range threads { // on Linux each thread has its own (setpriority(2))
		id, _ := strconv.Atoi(t.Name())
		if e := unix.Setpriority(unix.PRIO_PROCESS, id, value); e != nil && !errors.Is(e, unix.ESRCH) {
			err = e
		}
	}
	return err
}

// ProcessorTime returns the processor time that a process has used so far, 0 if it has ended.
func ProcessorTime(pid int) time.Duration {
	var used unix.Timespec
	// The clock of another process: MAKE_PROCESS_CPUCLOCK of the kernel's posix-timers.h.
	if unix.ClockGettime(int32(^pid<<3|2), &used) != nil {
		return 0
	}
	return time.Duration(used.Nano())
}
