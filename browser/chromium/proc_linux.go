package chromium

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// stat are the fields of /proc/PID/stat that the package needs.
type stat struct {
	state  string // one letter; Z: a zombie
	parent int
	group  int
	start  uint64 // in clock ticks since boot
	cpu    uint64 // used so far, in clock ticks of 10 ms
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The second field, the name in parentheses, may hold anything.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return stat{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(f))
	}
	var s stat
	s.state = f[0]
	s.parent, _ = strconv.Atoi(f[1])
	s.group, _ = strconv.Atoi(f[2])
	user, _ := strconv.ParseUint(f[11], 10, 64)
	system, _ := strconv.ParseUint(f[12], 10, 64)
	s.cpu = user + system
	s.start, err = strconv.ParseUint(f[19], 10, 64)
	return s, err
}

// startTime returns when the process started. It distinguishes it from every other
// process that has had its id since boot.
func startTime(pid int) (uint64, error) {
	s, err := readStat(pid)
	return s.start, err
}

// bootID returns the id of this boot of the machine.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

// alive reports whether the process of that start time runs (a zombie does not).
func alive(pid int, start uint64) bool {
	s, err := readStat(pid)
	return err == nil && s.start == start && s.state != "Z" && s.state != "X"
}

// pids lists all processes of the machine.
func pids() []int {
	entries, _ := os.ReadDir("/proc")
	var list []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// cmdline returns the arguments of a process; none for a zombie.
func cmdline(pid int) []string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if len(b) == 0 {
		return nil
	}
	// Chromium rewrites its helpers' command lines into one string.
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == 0 || r == ' ' })
}

// processesUsing lists the processes that have the user data directory in their
// command line, as Chromium's browser process and its helpers do.
func processesUsing(userData string) []int {
	var list []int
	want := "--user-data-dir=" + userData
	self := os.Getpid()
	for _, pid := range pids() {
		if pid == self {
			continue
		}
		for _, a := range cmdline(pid) {
			if a == want {
				list = append(list, pid)
				break
			}
		}
	}
	return list
}

// traversable reports whether owner may pass through every directory of path.
func traversable(path string, owner *account) bool {
	for dir := path; ; dir = filepath.Dir(dir) {
		if !mayEnter(dir, owner) {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
