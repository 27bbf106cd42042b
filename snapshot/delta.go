package snapshot

import (
	"slices"
	"unicode/utf8"
)

// change is one step from one list of lines to another; -1 is no line.
type change struct {
	// '=', '+', '~' or '-'; 'c' is told by one line for itself and for all '.', which
	// are changed too; 'h' is such a line for what a dialog hides.
	op        byte
	prev, cur int
}

// tells says whether the change has a line of its own.
func (c change) tells() bool { return c.op != '=' && c.op != '.' }

// Diff says what changed from what a client has been shown to a new snapshot
// that it has not: the lines added (+), changed (~) and removed (-), in the
// order of the new one, in at most o.MaxChars characters. It returns with it
// what the client has then been shown, to be given to the next Diff; refs is
// the one that made cur.
//
// Lines are written as they stand in the snapshot, removed ones as they stood in
// the last. A line with a ref is the same line as long
// as it has that ref: it is changed where its text is another or where it has
// moved among the others. Lines without a ref are compared by what they say.
//
// Where many lines are changed in nothing but that they are covered, or no longer, a
// [more] line counts those behind the first ones; where a modal dialog hides many,
// they are counted too, and not removed: the client knows them when it closes.
//
// The text is these lines and nothing else, empty where nothing changed. Where
// o.MaxChars cuts it, max_chars is among Stats.Reasons and a last line, [more],
// counts the changes not shown; where there is no room for that one, the text
// is empty and Delta.Changes is not 0. The changes not shown stay unknown to the
// client: refs holds what it saw before, and the next Diff reports them again.
//
// Where cur stops at max_nodes or max_chars, what stood after its last line in
// prev is not reported as removed: it may still be there. Stats.Reasons holds
// cur's reasons then.
func Diff(prev, cur Shown, o Options, refs *Refs) (Delta, Shown) {
	changes, kept := settle(compare(prev.lines, cur.lines), cur.open)
	changes, hidden, nodes := behind(changes, prev.lines, cur.lines)
	kept = append(kept, hidden...)
	d := deltaWriter{prev: &prev, cur: &cur, maxChars: o.MaxChars, covered: onlyCovered(changes, prev.lines, cur.lines)}
	if nodes > 0 {
		d.hidden = moreHere(nodes, "behind the dialog; close it to reach them")
		changes = append(changes, change{'h', -1, -1})
	}
	differ := 0
	for _, c := range changes {
		if c.op != '=' {
			differ++
		}
	}
	text, shownTo := d.write(changes)

	reasons := cur.reasons
	now := cur
	now.was = nil
	if shownTo < len(changes) {
		reasons |= reasonsOf(reasonChars)
		now.lines = d.settled(changes, shownTo, refs)
	}
	if len(kept) > 0 {
		now.lines = slices.Clip(now.lines)
		for k, i := range kept[:min(len(kept), maxKept)] {
			line := prev.lines[i]
			line.behind = line.behind || k >= len(kept)-len(hidden)
			now.lines = append(now.lines, line)
		}
	}
	return Delta{Text: text, Changes: differ, cut: shownTo < len(changes), Stats: Stats{
		InputNodes: cur.input, NodesVisited: cur.visited, NodesEmitted: d.emitted,
		Chars: utf8.RuneCountInString(text), Truncated: reasons != 0, Reasons: reasons.words(),
	}}, now
}

// maxKept bounds the lines that are remembered beyond the end of a snapshot.
const maxKept = 5000

// settle takes out of the changes the removals after the last line that both
// have, where the new snapshot did not reach the page's end. It returns the
// lines that they spoke of.
func settle(changes []change, open bool) (_ []change, kept []int) {
	if !open {
		return changes, nil
	}
	last := len(changes)
	for last > 0 && (changes[last-1].prev < 0 || changes[last-1].cur < 0) {
		last--
	}
	tail := slices.DeleteFunc(changes[last:], func(c change) bool {
		if c.op == '-' {
			kept = append(kept, c.prev)
		}
		return c.op == '-'
	})
	return changes[:last+len(tail)], kept
}

type deltaWriter struct {
	prev, cur *Shown
	maxChars  int
	covered   string // the line for all that is 'c'
	hidden    string // the line that is 'h'
	emitted   int    // lines with a ref, added or changed
}

// write returns the delta's text, and up to which change it tells them.
func (d *deltaWriter) write(changes []change) (text string, shownTo int) {
	total := 0 // lines
	for _, c := range changes {
		if c.tells() {
			total++
		}
	}
	if total == 0 {
		return "", len(changes)
	}
	more := len(rest{what: restChanges, count: total}.String())

	type place struct{ next, bytes, told, emitted int }
	var now, safe place // after the last line written, and after the last one that leaves room for [more]
	b := make([]byte, 0, 1024)
	chars := 0
	for i, c := range changes {
		if !c.tells() {
			continue
		}
		start := len(b)
		if start > 0 {
			b = append(b, '\n')
		}
		op, l := d.line(c)
		b = append(b, op, ' ')
		b = append(b, l.text...)
		if op != '-' && l.ref != 0 {
			now.emitted++
		}
		chars += utf8.RuneCount(b[start:])
		if chars > d.maxChars {
			break
		}
		now = place{next: i + 1, bytes: len(b), told: now.told + 1, emitted: now.emitted}
		if chars+1+more <= d.maxChars {
			safe = now
		}
	}
	if now.told == total {
		d.emitted = now.emitted
		return string(b), len(changes)
	}
	if safe.told == 0 && more > d.maxChars {
		return "", 0
	}
	d.emitted = safe.emitted
	b = b[:safe.bytes]
	if safe.told > 0 {
		b = append(b, '\n')
	}
	b = append(b, rest{what: restChanges, count: total - safe.told}.String()...)
	return string(b), safe.next
}

// line is what a change is told by.
func (d *deltaWriter) line(c change) (op byte, l shownLine) {
	switch c.op {
	case '-':
		return '-', d.prev.lines[c.prev]
	case 'c':
		return '+', shownLine{text: d.covered}
	case 'h':
		return '+', shownLine{text: d.hidden}
	}
	return c.op, d.cur.lines[c.cur]
}

// settled returns the lines that the client knows after a delta that told the
// changes up to shownTo only, and takes back in refs what it was not told.
func (d *deltaWriter) settled(changes []change, shownTo int, refs *Refs) []shownLine {
	lines := make([]shownLine, 0, max(len(d.prev.lines), len(d.cur.lines)))
	for i, c := range changes {
		told := i < shownTo
		if !told && c.cur >= 0 && c.op != '=' {
			if was, ok := d.cur.was[d.cur.lines[c.cur].ref]; ok {
				refs.restore(was)
			}
		}
		switch {
		case c.cur >= 0 && (told || c.op == '='):
			lines = append(lines, d.cur.lines[c.cur])
		case c.prev >= 0 && !told:
			lines = append(lines, d.prev.lines[c.prev])
		}
	}
	return lines
}

// compare returns the steps from prev to cur, in cur's order. What is removed
// comes before what was put in its place.
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
		c.out = append(c.out, change{'=', i, i})
	}
	c.middle(head, len(prev)-tail, head, len(cur)-tail)
	for i := range tail {
		c.out = append(c.out, change{'=', len(prev) - tail + i, len(cur) - tail + i})
	}
	return c.out
}

type comparison struct {
	prev, cur      []shownLine
	inPrev, inCur  map[int]int // ref to line, of the middle
	texts1, texts2 []int       // scratch: the lines without a ref of a gap
	out            []change
}

// middle compares prev[i1:i2] with cur[j1:j2]: the refs that both have and that
// have kept their order part it into gaps.
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
		op := byte('=')
		if c.prev[m.a].text != c.cur[m.b].text {
			op = '~'
		}
		c.out = append(c.out, change{op, m.a, m.b})
		i1, j1 = m.a+1, m.b+1
	}
	c.gap(i1, i2, j1, j2)
}

// gap compares lines between two refs that stayed. Its texts are matched by
// what they say.
func (c *comparison) gap(i1, i2, j1, j2 int) {
	c.texts1 = textsOf(c.texts1[:0], c.prev, i1, i2)
	c.texts2 = textsOf(c.texts2[:0], c.cur, j1, j2)
	for _, m := range common(len(c.texts1), len(c.texts2), func(a, b int) bool {
		return c.prev[c.texts1[a]].text == c.cur[c.texts2[b]].text
	}, func(a int) string { return c.prev[c.texts1[a]].text }, func(b int) string { return c.cur[c.texts2[b]].text }) {
		i, j := c.texts1[m.a], c.texts2[m.b]
		c.replace(i1, i, j1, j)
		c.out = append(c.out, change{'=', i, j})
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

// replace tells lines that have no counterpart here: a ref that both have has
// moved, and is told where it is now.
func (c *comparison) replace(i1, i2, j1, j2 int) {
	for i := i1; i < i2; i++ {
		if _, ok := c.inCur[c.prev[i].ref]; !ok {
			c.out = append(c.out, change{'-', i, -1})
		}
	}
	for j := j1; j < j2; j++ {
		if i, ok := c.inPrev[c.cur[j].ref]; ok {
			c.out = append(c.out, change{'~', i, j})
		} else {
			c.out = append(c.out, change{'+', -1, j})
		}
	}
}
