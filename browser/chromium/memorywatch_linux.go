package chromium

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/browserd/browserd/contain"
)

const (
	// watchEvery is the time between two measurements of the pages' processes; a page
	// can fill about a gigabyte in it.
	watchEvery = 500 * time.Millisecond
	// searchEvery is the number of measurements between two searches for new processes,
	// which read all of /proc.
	searchEvery = 3
	// A process that demands most of a core in so many measurements in a row, whether it
	// gets it or not, has a lower priority (nice) from then on, until it has demanded
	// little in as many.
	hogMeasurements = 4
	hogNice         = 10 // more than the daemon's own
)

// renderer is a process of pages. The start time identifies it, since ids are reused.
type renderer struct {
	pid   int
	start uint64

	cpu        uint64        // used until the last measurement, in clock ticks
	demand     time.Duration // at the last measurement; 0: it had used none
	busy, idle int           // measurements in a row
	nice       bool
	ended      bool // it was sent limitSignal
}

// watchMemory measures the processes of pages until the browser has ended. It ends a
// process that takes more memory than the limit, and lowers the priority of one that
// demands a whole core. A process belongs to one browser context alone, so that no other
// session is affected.
func (s *Supervisor) watchMemory(r *running) {
	if r.proc == nil {
		return
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	limit := uint64(s.cfg.PageMemoryMB) << 20
	var pages []*renderer
	for n, last := 0, time.Now(); ; n++ {
		select {
		case <-r.proc.exited:
			return
		case <-tick.C:
		}
		if n%searchEvery == 0 {
			pages = renderers(r.pid(), pages)
		}
		at := time.Now()
		for _, p := range pages {
			now, err := readStat(p.pid)
			if err != nil || now.start != p.start || now.state == "Z" {
				continue
			}
			if bytes := resident(p.pid); limit > 0 && bytes > limit {
				s.log.Warn("a page takes more memory than browser.page_memory_mb: its process is ended", "pid", p.pid, "bytes", bytes)
				p.end()
			}
			p.adjustPriority(now.cpu, at.Sub(last))
		}
		last = at
	}
}

// end ends a process that takes too much memory, by a signal that PageDeath recognizes.
func (p *renderer) end() {
	signal := syscall.Signal(limitSignal)
	if p.ended {
		signal = syscall.SIGKILL // limitSignal did not end it
	}
	p.ended = true
	syscall.Kill(p.pid, signal)
}

// adjustPriority lowers or restores the priority of the process by how much of a core it has
// demanded since the last measurement. The time that it got is no measure: of several
// processes that demand a whole core, none gets it.
func (p *renderer) adjustPriority(cpu uint64, since time.Duration) {
	got := time.Duration(cpu-p.cpu) * 10 * time.Millisecond
	p.cpu = cpu
	if got == 0 {
		p.busy, p.idle, p.demand = 0, p.idle+1, 0
	} else {
		before := p.demand
		p.demand = cpuDemand(p.pid)
		switch more := p.demand - before; {
		case before == 0 || more < since*3/4 && more > since/4:
			p.idle = 0
		case more <= since/4:
			p.busy, p.idle = 0, p.idle+1
		default:
			p.busy, p.idle = p.busy+1, 0
		}
	}
	switch {
	case p.busy >= hogMeasurements && !p.nice:
		p.nice = true
		contain.SetNice(p.pid, hogNice)
	case p.idle >= hogMeasurements && p.nice:
		// Without the privilege to raise it the process keeps its low priority.
		p.nice = contain.SetNice(p.pid, 0) != nil
	}
}

// cpuDemand returns how long the threads of the process have run or waited for a
// processor, added up (proc(5), schedstat).
func cpuDemand(pid int) (all time.Duration) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range threads {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, t.Name()))
		if f := strings.Fields(string(b)); len(f) > 1 {
			ran, _ := strconv.ParseInt(f[0], 10, 64)
			waited, _ := strconv.ParseInt(f[1], 10, 64)
			all += time.Duration(ran + waited)
		}
	}
	return all
}

// renderers lists the processes below the browser that run pages. known are
// those found before.
func renderers(browser int, known []*renderer) []*renderer {
	var found []*renderer
	for _, pid := range pids() {
		// The process group first: it takes a thirtieth of the time of reading the file.
		if group, err := syscall.Getpgid(pid); err != nil || group != browser {
			continue
		}
		s, err := readStat(pid)
		if err != nil || s.state == "Z" {
			continue
		}
		i := slices.IndexFunc(known, func(k *renderer) bool { return k.pid == pid && k.start == s.start })
		if i >= 0 {
			found = append(found, known[i])
		} else if slices.Contains(cmdline(pid), "--type=renderer") {
			found = append(found, &renderer{pid: pid, start: s.start})
		}
	}
	return found
}

// resident returns how much memory the process has in use, in bytes (proc(5), statm); 0
// where it has ended.
func resident(pid int) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	f := strings.Fields(string(b))
	if err != nil || len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(f[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}
