package driver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Meter reads how much processor time a session's processes have used since it
// was made, with the scheduler's own nanoseconds, thread by thread
// (/proc/PID/task/TID/schedstat): ten milliseconds' ticks would hide a click.
// What a thread uses between the last reading and its end is not seen.
type Meter struct {
	d    processes
	last map[string]time.Duration
	sum  time.Duration
}

// commands is implemented by a Driver whose commands are processes of their own.
type commands interface{ ended() time.Duration }

// processes are those that are measured.
type processes interface{ PIDs() []int }

// NewMeter begins to measure d.
func NewMeter(d processes) *Meter {
	m := NewAccount(d)
	m.Read()
	m.sum = 0
	return m
}

// NewAccount measures all that d's processes have used since they began.
func NewAccount(d processes) *Meter { return &Meter{d: d, last: map[string]time.Duration{}} }

// Read is the time used so far. Where there is no schedstat, it stays 0.
func (m *Meter) Read() time.Duration {
	now := make(map[string]time.Duration, len(m.last))
	for _, pid := range m.d.PIDs() {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, path := range tasks {
			b, err := os.ReadFile(path)
			if err != nil {
				continue // it has just ended
			}
			running, _, _ := bytes.Cut(b, []byte(" "))
			ns, err := strconv.ParseInt(string(running), 10, 64)
			if err != nil {
				continue
			}
			now[path] = time.Duration(ns)
			m.sum += time.Duration(ns) - m.last[path]
		}
	}
	if c, ok := m.d.(commands); ok {
		now["ended"] = c.ended()
		m.sum += now["ended"] - m.last["ended"]
	}
	m.last = now
	return m.sum
}

// Memory is what a session's processes hold, in bytes.
type Memory struct {
	// Tool is the resident set of the tool's own processes: all that are no
	// Chromium.
	Tool int64
	// Chromium is the proportional set of Chromium's, without the pages of files: a page
	// that several processes share is counted once among them. Those of its program are
	// shared with the Chromiums of other tools that run beside it, so that their part would
	// be another with each tool that starts.
	Chromium int64
	// Processes are how many there are, Chromium's and the tool's.
	Processes int
}

// ReadMemory reads proc(5)'s smaps_rollup, for which the reader must be root or
// the owner of all the processes.
func ReadMemory(d Driver) Memory {
	var m Memory
	for _, pid := range d.PIDs() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil || len(b) == 0 {
			continue
		}
		m.Processes++
		if isChromium(pid) {
			m.Chromium += kilobytes(b, "Pss_Anon:") + kilobytes(b, "Pss_Shmem:")
		} else {
			m.Tool += kilobytes(b, "Rss:")
		}
	}
	return m
}

func isChromium(pid int) bool {
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	// Its children write their command line anew: one string, spaces between.
	program, args, _ := strings.Cut(strings.ReplaceAll(string(cmdline), "\x00", " "), " ")
	base := filepath.Base(program)
	return base == "chrome" || base == "headless_shell" || strings.HasPrefix(base, "chromium") || strings.HasPrefix(base, "chrome_") ||
		strings.Contains(args, "--type=")
}

func kilobytes(rollup []byte, field string) int64 {
	for line := range strings.Lines(string(rollup)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb * 1024
		}
	}
	return 0
}

// group are several sessions as one, for a Meter.
type group struct {
	Driver
	all []Driver
}

// Together are the sessions' processes as those of one Driver, each once.
func Together(all []Driver) Driver { return group{all[0], all} }

func (g group) PIDs() []int {
	seen := map[int]bool{}
	var pids []int
	for _, d := range g.all {
		list := d.PIDs()
		if len(list) == 0 || seen[list[0]] {
			continue // they share their processes
		}
		for _, pid := range list {
			seen[pid] = true
		}
		pids = append(pids, list...)
	}
	return pids
}
