package snapshot

import "github.com/browserd/browserd/snapshot/pagetext"

// alignment says which lines of two lists are the same: those with the same ref, and
// texts that are equal and stand between the same refs. The indices are -1 for a line
// that the other list does not have.
type alignment struct {
	prev, cur []shownLine
	to        []int // by the index in prev, the index in cur
	from      []int // by the index in cur, the index in prev
	// block is, by the index in cur, how many lines moved together from this one on:
	// 0 for a line that did not move, -1 for one below the first.
	block []int
}

// compare aligns prev with cur.
func compare(prev, cur []shownLine) *alignment {
	a := &alignment{prev: prev, cur: cur, to: make([]int, len(prev)), from: make([]int, len(cur)), block: make([]int, len(cur))}
	for i := range a.to {
		a.to[i] = -1
	}
	for j := range a.from {
		a.from[j] = -1
	}
	n := min(len(prev), len(cur))
	head := 0
	for head < n && prev[head].text == cur[head].text {
		a.pair(head, head)
		head++
	}
	tail := 0
	for tail < n-head && prev[len(prev)-1-tail].text == cur[len(cur)-1-tail].text {
		tail++
		a.pair(len(prev)-tail, len(cur)-tail)
	}
	a.middle(head, len(prev)-tail, head, len(cur)-tail)
	return a
}

func (a *alignment) pair(i, j int) { a.to[i], a.from[j] = j, i }

// kept reports whether the line j of cur is at its place in prev, changed or not.
func (a *alignment) kept(j int) bool { return a.from[j] >= 0 && a.block[j] == 0 }

// middle aligns prev[i1:i2] with cur[j1:j2]. The refs that both have in the same order
// divide the lists into gaps; the other refs that both have have moved.
func (a *alignment) middle(i1, i2, j1, j2 int) {
	inPrev := map[int]int{}
	for i := i1; i < i2; i++ {
		if ref := a.prev[i].ref; ref != 0 {
			inPrev[ref] = i
		}
	}
	var both []match
	for j := j1; j < j2; j++ {
		if i, ok := inPrev[a.cur[j].ref]; ok {
			both = append(both, match{i, j})
			a.block[j] = 1
			a.pair(i, j)
		}
	}
	stay := rising(both)
	for _, m := range stay {
		a.block[m.b] = 0
	}
	for j := j1; j < j2; j++ {
		if a.block[j] == 1 {
			j += a.extend(j, i2, j2) - 1
		}
	}
	for _, m := range append(stay, match{i2, j2}) {
		a.gap(i1, m.a, j1, m.b)
		i1, j1 = m.a+1, m.b+1
	}
}

// extend finds the lines that moved together with the line j of cur, which are below
// it, and returns how many lines that makes.
func (a *alignment) extend(j, i2, j2 int) int {
	i := a.from[j]
	depth := a.prev[i].depth()
	deeper := 2 * (a.cur[j].depth() - depth)
	n := 1
	for ; i+n < i2 && j+n < j2; n++ {
		was, is := a.prev[i+n], a.cur[j+n]
		free := a.to[i+n] < 0 && a.from[j+n] < 0 && was.ref == 0 && is.ref == 0
		if !free && (a.to[i+n] != j+n || a.block[j+n] == 0) || was.depth() <= depth || pagetext.Indent(was.text, deeper) != is.text {
			break
		}
		a.pair(i+n, j+n)
		a.block[j+n] = -1
	}
	a.block[j] = n
	return n
}

// gap aligns the texts between two refs that stay.
func (a *alignment) gap(i1, i2, j1, j2 int) {
	var was, is []int
	for i := i1; i < i2; i++ {
		if a.to[i] < 0 && a.prev[i].ref == 0 {
			was = append(was, i)
		}
	}
	for j := j1; j < j2; j++ {
		if a.from[j] < 0 && a.cur[j].ref == 0 {
			is = append(is, j)
		}
	}
	for _, m := range common(len(was), len(is), func(x, y int) bool {
		return a.prev[was[x]].text == a.cur[is[y]].text
	}, func(x int) string { return a.prev[was[x]].text }, func(y int) string { return a.cur[is[y]].text }) {
		a.pair(was[m.a], is[m.b])
	}
}
