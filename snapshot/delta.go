package snapshot

import (
	"slices"
	"unicode/utf8"
)

// op says what a change does to a line, and is how the delta's text marks it.
type op byte

const (
	opSame   op = '='
	opAdd    op = '+'
	opChange op = '~'
	opRemove op = '-'
	opFold   op = 'c' // a change reported by one added line, for itself and all opFolded
	opFolded op = '.' // a change reported by the line of opFold
	opHidden op = 'h' // no line of either: one added line reports the hidden nodes
)

// change is one step from one list of lines to another. prev and cur are the
// indices of the line in the lists, -1 where the list does not have it.
type change struct {
	op        op
	prev, cur int
}

// reported reports whether the change has a line of its own in the delta.
func (c change) reported() bool { return c.op != opSame && c.op != opFolded }

// Diff returns the delta from prev, what the client has, to cur, a new snapshot
// that the client does not have yet: the lines added (+), changed (~) and removed
// (-), in the order of cur, in at most o.MaxChars characters. refs is the one
// that rendered cur. The Baseline returned is what the client has after the
// delta: pass it to the next Diff.
//
// Lines are written as in the snapshot, removed ones as in the previous one. A
// line with a ref is the same line for as long as it has that ref; it is changed
// if its text differs or if it moved among the others. Lines without a ref are
// compared by their text.
//
// Where only the state covered changes in many lines, a [more] line counts all but
// the first ones. Where an open modal dialog hides many lines, a [more] line counts
// them and they are not reported as removed: the client still has them when the
// dialog closes.
//
// The text has these lines and nothing else, and is empty if nothing changed.
// Where o.MaxChars cuts the text, max_chars is among Stats.Reasons and a last line,
// [more], counts the changes not shown; where even that line does not fit, the text
// is empty and Delta.Changes is not 0. The client does not have the changes that
// are not shown: refs keeps what it saw before, and the next Diff reports them.
//
// Where cur ends at max_nodes or max_chars, the lines of prev after cur's last
// line are not reported as removed: the page may still have them. Stats.Reasons
// then has cur's reasons.
func Diff(prev, cur Baseline, o Options, refs *Refs) (Delta, Baseline) {
	changes, kept := withoutUnreached(compare(prev.lines, cur.lines), cur.open)
	changes, hidden, nodes := withoutHidden(changes, prev.lines, cur.lines)
	kept = append(kept, hidden...)
	d := deltaWriter{prev: &prev, cur: &cur, maxChars: o.MaxChars, covered: foldCovered(changes, prev.lines, cur.lines)}
	if nodes > 0 {
		d.hidden = foldedLine(nodes, "behind the dialog; close it to reach them")
		changes = append(changes, change{opHidden, -1, -1})
	}
	differ := 0
	for _, c := range changes {
		if c.op != opSame {
			differ++
		}
	}
	text, end := d.write(changes)

	reasons := cur.reasons
	now := cur
	now.was = nil
	if end < len(changes) {
		reasons |= reasonsOf(reasonChars)
		now.lines = d.applied(changes, end, refs)
	}
	if len(kept) > 0 {
		now.lines = slices.Clip(now.lines)
		for k, i := range kept[:min(len(kept), maxKept)] {
			line := prev.lines[i]
			line.hidden = line.hidden || k >= len(kept)-len(hidden)
			now.lines = append(now.lines, line)
		}
	}
	return Delta{Text: text, Changes: differ, cut: end < len(changes), Stats: Stats{
		InputNodes: cur.input, NodesVisited: cur.visited, NodesEmitted: d.emitted,
		Chars: utf8.RuneCountInString(text), Truncated: reasons != 0, Reasons: reasons.words(),
	}}, now
}

// maxKept is how many lines a Baseline keeps that its snapshot does not have.
const maxKept = 5000

// withoutUnreached removes from changes the removals after the last line that both
// lists have, if the new snapshot did not reach the page's end (open). kept are
// the indices of these lines in the previous list.
func withoutUnreached(changes []change, open bool) (_ []change, kept []int) {
	if !open {
		return changes, nil
	}
	last := len(changes)
	for last > 0 && (changes[last-1].prev < 0 || changes[last-1].cur < 0) {
		last--
	}
	tail := slices.DeleteFunc(changes[last:], func(c change) bool {
		if c.op == opRemove {
			kept = append(kept, c.prev)
		}
		return c.op == opRemove
	})
	return changes[:last+len(tail)], kept
}

type deltaWriter struct {
	prev, cur *Baseline
	maxChars  int
	covered   string // the line of opFold
	hidden    string // the line of opHidden
	emitted   int    // lines with a ref, added or changed; set by write
}

// write returns the delta's text and the index of the first change that it does
// not report.
func (d *deltaWriter) write(changes []change) (text string, end int) {
	total := 0 // lines
	for _, c := range changes {
		if c.reported() {
			total++
		}
	}
	if total == 0 {
		return "", len(changes)
	}
	more := len(rest{what: restChanges, count: total}.String())

	type place struct{ next, bytes, lines, emitted int }
	var now, safe place // after the last line written, and after the last one after which [more] fits
	b := make([]byte, 0, 1024)
	chars := 0
	for i, c := range changes {
		if !c.reported() {
			continue
		}
		start := len(b)
		if start > 0 {
			b = append(b, '\n')
		}
		op, l := d.line(c)
		b = append(b, byte(op), ' ')
		b = append(b, l.text...)
		if op != opRemove && l.ref != 0 {
			now.emitted++
		}
		chars += utf8.RuneCount(b[start:])
		if chars > d.maxChars {
			break
		}
		now = place{next: i + 1, bytes: len(b), lines: now.lines + 1, emitted: now.emitted}
		if chars+1+more <= d.maxChars {
			safe = now
		}
	}
	if now.lines == total {
		d.emitted = now.emitted
		return string(b), len(changes)
	}
	if safe.lines == 0 && more > d.maxChars {
		return "", 0
	}
	d.emitted = safe.emitted
	b = b[:safe.bytes]
	if safe.lines > 0 {
		b = append(b, '\n')
	}
	b = append(b, rest{what: restChanges, count: total - safe.lines}.String()...)
	return string(b), safe.next
}

// line returns the line that reports a change.
func (d *deltaWriter) line(c change) (op, shownLine) {
	switch c.op {
	case opRemove:
		return opRemove, d.prev.lines[c.prev]
	case opFold:
		return opAdd, shownLine{text: d.covered}
	case opHidden:
		return opAdd, shownLine{text: d.hidden}
	}
	return c.op, d.cur.lines[c.cur]
}

// applied returns the lines that the client has after a delta which reported the
// changes before end only. It restores in refs what the client saw of the others.
func (d *deltaWriter) applied(changes []change, end int, refs *Refs) []shownLine {
	lines := make([]shownLine, 0, max(len(d.prev.lines), len(d.cur.lines)))
	for i, c := range changes {
		reported := i < end
		if !reported && c.cur >= 0 && c.op != opSame {
			if was, ok := d.cur.was[d.cur.lines[c.cur].ref]; ok {
				refs.restore(was)
			}
		}
		switch {
		case c.cur >= 0 && (reported || c.op == opSame):
			lines = append(lines, d.cur.lines[c.cur])
		case c.prev >= 0 && !reported:
			lines = append(lines, d.prev.lines[c.prev])
		}
	}
	return lines
}
