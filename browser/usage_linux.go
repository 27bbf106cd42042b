package browser

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// usage counts the processes below pid, itself included, and adds up their
// resident memory (proc(5), statm). Pages that they share are counted in each.
func usage(pid int) (processes int, bytes uint64) {
	children := map[int][]int{}
	for _, p := range pids() {
		if s, err := readStat(p); err == nil && s.state != "Z" {
			children[s.parent] = append(children[s.parent], p)
		}
	}
	page := uint64(os.Getpagesize())
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		next = append(next, children[next[0]]...)
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", next[0]))
		if f := strings.Fields(string(b)); err == nil && len(f) > 1 {
			resident, _ := strconv.ParseUint(f[1], 10, 64)
			processes, bytes = processes+1, bytes+resident*page
		}
	}
	return processes, bytes
}
