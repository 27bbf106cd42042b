package chromium

// usage counts the processes below pid, itself included, and adds up their
// resident memory (proc(5), statm). Pages that they share are counted in each.
func usage(pid int) (processes int, bytes uint64) {
	children := map[int][]int{}
	for _, p := range pids() {
		if s, err := readStat(p); err == nil && s.state != "Z" {
			children[s.parent] = append(children[s.parent], p)
		}
	}
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		next = append(next, children[next[0]]...)
		if n := resident(next[0]); n > 0 {
			processes, bytes = processes+1, bytes+n
		}
	}
	return processes, bytes
}
