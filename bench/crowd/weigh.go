package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/browserd/browserd/internal/testdaemon"
)

// weight is what a daemon and its Chromium take, in bytes.
type weight struct {
	daemon, pss, rss float64
	processes        int
}

// weigh adds up /proc/PID/smaps_rollup (proc(5)). Where it may not be read, PSS is 0.
func weigh(d *testdaemon.Daemon) weight {
	var w weight
	w.daemon = rollup(d.PID)["Rss"]
	for _, p := range testdaemon.Descendants(d.PID) {
		r := rollup(p.PID)
		w.pss, w.rss = w.pss+r["Pss"], w.rss+r["Rss"]
		w.processes++
	}
	return w
}

func rollup(pid int) map[string]float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	values := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "kB" {
			kb, _ := strconv.ParseFloat(f[1], 64)
			values[strings.TrimSuffix(f[0], ":")] = kb * 1024
		}
	}
	return values
}
