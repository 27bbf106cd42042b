package testdaemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is one process as proc(5) shows it. Start tells it from a later one
// with the same number. Where there is no /proc, nothing is found.
type Process struct {
	PID   int
	Start string
}

// Descendants lists the processes below pid, without those that have ended.
func Descendants(pid int) []Process { return below(pid, false) }

// Zombies lists the processes below pid that have ended and that their parent
// has not waited for.
func Zombies(pid int) []Process { return below(pid, true) }

func below(pid int, ended bool) []Process {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	children := map[int][]child{}
	for _, dir := range dirs {
		id, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if s, ok := readAnyStat(id); ok {
			children[s.parent] = append(children[s.parent], child{Process{PID: id, Start: s.start}, s.ended})
		}
	}
	var list []Process
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, c := range children[next[0]] {
			if c.ended == ended {
				list = append(list, c.Process)
			}
			next = append(next, c.PID)
		}
	}
	return list
}

type child struct {
	Process
	ended bool
}

// Chromium lists the daemon's Chromium processes of one --type; "browser" is
// the one that has none.
func (d *Daemon) Chromium(kind string) []Process {
	var found []Process
	for _, p := range Descendants(d.PID) {
		// Not /proc/PID/exe: only root may read that of a sandboxed process.
		args := p.Args()
		if len(args) == 0 {
			continue
		}
		name := filepath.Base(args[0])
		if strings.Contains(name, "chrom") && !strings.Contains(name, "crashpad") && p.kind() == kind {
			found = append(found, p)
		}
	}
	return found
}

// Background lists the daemons that a command line started at the daemon's
// address, which it leaves to them after Stop.
func (d *Daemon) Background() []Process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var found []Process
	for _, dir := range dirs {
		id, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		p := Process{PID: id}
		if args := p.Args(); len(args) > 3 && args[1] == "serve" && slices.Contains(args, d.Addr) {
			if s, ok := readStat(id); ok {
				found = append(found, Process{PID: id, Start: s.start})
			}
		}
	}
	return found
}

// Alive reports whether the process still runs; one that ended and has not been
// waited for does not.
func (p Process) Alive() bool {
	s, ok := readStat(p.PID)
	return ok && s.start == p.Start
}

// Kill is kill -9, if it still is the same process.
func (p Process) Kill() {
	if !p.Alive() {
		return
	}
	if process, err := os.FindProcess(p.PID); err == nil {
		process.Kill()
	}
}

// CPU returns the user and system time that the process with this number has used.
func (p Process) CPU() time.Duration {
	s, ok := readStat(p.PID)
	if !ok {
		return 0
	}
	return s.cpu
}

// CPUBelow returns the user and system time that a process and all below it have used, those that have ended and
// were waited for too.
func CPUBelow(pid int) (used time.Duration) {
	for _, p := range append(Descendants(pid), Process{PID: pid}) {
		s, _ := readStat(p.PID)
		used += s.cpu + s.gone
	}
	return used
}

// State is the letter of proc(5) for what the process does, such as T for stopped; empty if
// it has ended.
func (p Process) State() string {
	s, _ := readStat(p.PID)
	return s.state
}

// String names the process and how it was started.
func (p Process) String() string { return fmt.Sprintf("%d %s", p.PID, p.kind()) }

// AwaitGone waits until none of the processes is alive, and returns those that
// still are after within.
func AwaitGone(ps []Process, within time.Duration) []Process {
	deadline := time.Now().Add(within)
	for {
		var left []Process
		for _, p := range ps {
			if p.Alive() {
				left = append(left, p)
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(10 * time.Millisecond) // a process that is not ours to wait for
	}
}

// kind returns the process's --type; one without is Chromium's browser process.
func (p Process) kind() string {
	args := p.Args()
	if len(args) == 0 {
		return "gone"
	}
	for _, arg := range args {
		if kind, ok := strings.CutPrefix(arg, "--type="); ok {
			return kind
		}
	}
	return "browser"
}

// Args returns how the process was started; nil if it has ended.
func (p Process) Args() []string {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
	if err != nil {
		return nil
	}
	// Chromium rewrites its children's command line: one string, spaces between.
	return strings.FieldsFunc(string(cmdline), func(r rune) bool { return r == 0 || r == ' ' })
}

type stat struct {
	parent int
	state  string
	ended  bool
	start  string
	cpu    time.Duration
	gone   time.Duration // of children that it has waited for, with theirs
}

// clockTick is USER_HZ, 100 on every Linux that Go runs on.
const clockTick = time.Second / 100

// readStat is readAnyStat; ok is false also for a process that has ended.
func readStat(pid int) (s stat, ok bool) {
	s, ok = readAnyStat(pid)
	return s, ok && !s.ended
}

// readAnyStat reads /proc/PID/stat (proc(5)); ok is false for a process that is
// not there.
func readAnyStat(pid int) (s stat, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	// The command stands in parentheses and may itself hold spaces and parentheses.
	text := string(b)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return s, false
	}
	s.state = fields[0]
	s.ended = fields[0] == "Z" || fields[0] == "X"
	s.parent, _ = strconv.Atoi(fields[1])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	s.cpu = time.Duration(user+system) * clockTick
	user, _ = strconv.Atoi(fields[13])
	system, _ = strconv.Atoi(fields[14])
	s.gone = time.Duration(user+system) * clockTick
	s.start = fields[19]
	return s, true
}
