package chromium

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killTree kills the process group of a browser that this daemon started and
// every process that has its user data directory, waits for all of them, and
// leaves no zombie.
func killTree(browser *os.Process, userData string, exited <-chan struct{}) error {
	group := browser.Pid
	deadline := time.Now().Add(killLimit)
	// The goroutine that started the leader waits for it. Until then the ids of the
	// leader and its group are not reused.
	killGroup(browser)
	select {
	case <-exited:
	case <-time.After(killLimit):
		return fmt.Errorf("process %d does not end", group)
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		killGroup(browser)
		for _, pid := range processesUsing(userData) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if reapGroup(group) && len(processesUsing(userData)) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of browser %d do not end", processesUsing(userData), group)
		}
		time.Sleep(pause)
	}
}

// killGroup kills the processes of the group that are not zombies.
func killGroup(leader *os.Process) { syscall.Kill(-leader.Pid, syscall.SIGKILL) }

// reapGroup waits for the dead children of the group that have come to this
// process as their subreaper, and reports whether the group is empty.
func reapGroup(group int) bool {
	for {
		pid, err := unix.Wait4(-group, nil, unix.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 {
			break
		}
	}
	return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH)
}

// killOrphans kills the processes of a browser whose daemon is gone, and returns how
// many it found.
func killOrphans(m mark, userData string) (int, error) {
	found := map[int]bool{}
	deadline := time.Now().Add(killLimit)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		left := processesUsing(userData)
		// The process group too, since helpers may not have the directory in their
		// command line. Only while its leader is the browser or gone: the id of a
		// leader that was reused names another program's group.
		if leader, err := readStat(m.PID); m.PID > 1 && (err != nil || leader.start == m.Start) {
			for _, pid := range pids() {
				if s, err := readStat(pid); err == nil && s.group == m.PID && s.state != "Z" && s.start >= m.Start {
					left = append(left, pid)
				}
			}
		}
		if len(left) == 0 {
			return len(found), nil
		}
		for _, pid := range left {
			found[pid] = true
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Now().After(deadline) {
			return len(found), fmt.Errorf("processes %v do not end", left)
		}
		time.Sleep(pause)
	}
}

// mayEnter reports whether owner (nil: this process) may pass through dir.
func mayEnter(dir string, owner *account) bool {
	if owner == nil {
		return unix.Access(dir, unix.X_OK) == nil
	}
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return false
	}
	switch {
	case st.Uid == owner.uid:
		return st.Mode&0o100 != 0
	case st.Gid == owner.gid:
		return st.Mode&0o010 != 0
	}
	return st.Mode&0o001 != 0
}
