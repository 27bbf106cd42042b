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
	// The leader is waited for by the goroutine that started it; while it has
	// not been, its id and so its group's belong to nobody else.
	killGroup(browser)
	select {
	case <-exited:
	case <-time.After(killLimit):
		return fmt.Errorf("process %d does not end", group)
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		killGroup(browser)
		for _, pid := range using(userData) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if reapGroup(group) && len(using(userData)) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of browser %d do not end", using(userData), group)
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

// killLeft kills what is left of a browser whose daemon is gone, and returns how
// many processes it found.
func killLeft(m mark, userData string) (int, error) {
	found := map[int]bool{}
	deadline := time.Now().Add(killLimit)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		left := using(userData)
		// The group, while its leader is known to be the browser, or is gone while
		// others of it are left, which have nothing in their command line to tell
		// whose they are: a number that was given out again must not be killed.
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
