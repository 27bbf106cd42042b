package snapshot

// compare returns the changes from prev to cur, in cur's order. A removed line
// comes before the line that replaces it.
func compare(prev, cur []shownLine) []change {
	c := comparison{prev: prev, cur: cur, out: make([]change, 0, max(len(prev), len(cur)))}
	n := min(len(prev), len(cur))
	head := 0
	for head < n && prev[head].text == cur[head].text {
		head++
	}
	tail := 0
	for tail < n-head && prev[len(prev)-1-tail].text == cur[len(cur)-1-tail].text {
		tail++
	}
	for i := range head {
		c.out = append(c.out, change{opSame, i, i})
	}
	c.middle(head, len(prev)-tail, head, len(cur)-tail)
	for i := range tail {
		c.out = append(c.out, change{opSame, len(prev) - tail + i, len(cur) - tail + i})
	}
	return c.out
}

type comparison struct {
	prev, cur      []shownLine
	inPrev, inCur  map[int]int // ref to line, of the middle
	texts1, texts2 []int       // scratch: the lines without a ref of a gap
	out            []change
}

// middle compares prev[i1:i2] with cur[j1:j2]. The refs that both have in the same
// order divide the lists into gaps.
func (c *comparison) middle(i1, i2, j1, j2 int) {
	c.inPrev, c.inCur = map[int]int{}, map[int]int{}
	for i := i1; i < i2; i++ {
		if ref := c.prev[i].ref; ref != 0 {
			c.inPrev[ref] = i
		}
	}
	var both []match
	for j := j1; j < j2; j++ {
		if ref := c.cur[j].ref; ref != 0 {
			c.inCur[ref] = j
			if i, ok := c.inPrev[ref]; ok {
				both = append(both, match{i, j})
			}
		}
	}
	for _, m := range rising(both) {
		c.gap(i1, m.a, j1, m.b)
		op := opSame
		if c.prev[m.a].text != c.cur[m.b].text {
			op = opChange
		}
		c.out = append(c.out, change{op, m.a, m.b})
		i1, j1 = m.a+1, m.b+1
	}
	c.gap(i1, i2, j1, j2)
}

// gap compares the lines between two refs that both lists have. It matches lines
// without a ref by their text.
func (c *comparison) gap(i1, i2, j1, j2 int) {
	c.texts1 = textsOf(c.texts1[:0], c.prev, i1, i2)
	c.texts2 = textsOf(c.texts2[:0], c.cur, j1, j2)
	for _, m := range common(len(c.texts1), len(c.texts2), func(a, b int) bool {
		return c.prev[c.texts1[a]].text == c.cur[c.texts2[b]].text
	}, func(a int) string { return c.prev[c.texts1[a]].text }, func(b int) string { return c.cur[c.texts2[b]].text }) {
		i, j := c.texts1[m.a], c.texts2[m.b]
		c.replace(i1, i, j1, j)
		c.out = append(c.out, change{opSame, i, j})
		i1, j1 = i+1, j+1
	}
	c.replace(i1, i2, j1, j2)
}

func textsOf(dst []int, lines []shownLine, from, to int) []int {
	for i := from; i < to; i++ {
		if lines[i].ref == 0 {
			dst = append(dst, i)
		}
	}
	return dst
}

// replace reports the lines of a gap that match none. A ref that both lists have
// has moved, and is reported at its new place.
func (c *comparison) replace(i1, i2, j1, j2 int) {
	for i := i1; i < i2; i++ {
		if _, ok := c.inCur[c.prev[i].ref]; !ok {
			c.out = append(c.out, change{opRemove, i, -1})
		}
	}
	for j := j1; j < j2; j++ {
		if i, ok := c.inPrev[c.cur[j].ref]; ok {
			c.out = append(c.out, change{opChange, i, j})
		} else {
			c.out = append(c.out, change{opAdd, -1, j})
		}
	}
}
