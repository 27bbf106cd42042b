package snapshot

import "strings"

// Baseline is what a client has of a page: the lines of the last snapshot, with the
// deltas since. Diff compares the next snapshot with it. The zero Baseline is that of a
// client which was sent nothing. A Baseline is never changed.
type Baseline struct {
	lines   []shownLine
	more    string // the [more] line that ends the text, or empty
	chars   int    // of the snapshot's text, header included
	input   int    // Stats.InputNodes
	visited int    // Stats.NodesVisited
	reasons reasonSet
	open    bool // the page has more nodes than lines, behind the last one
	folds   bool // like siblings are left out between the lines,
	fold    int  // the first of them behind this ref
	part    bool // the lines are of a scope, begin after a ref, or a fold stands among them
	// removed are the runs of lines that deltas removed in one line each, the newest
	// last, maxRemoved lines at most. The client can put them back.
	removed [][]shownLine
	// was has, for each ref whose line differs from what the client saw before, what
	// it saw. Add restores it for lines that it does not show.
	was map[int]Entry
}

// shownLine is one line that the client has.
type shownLine struct {
	ref  int    // 0 for a text and a [more] line
	text string // with its indentation
}

func (l shownLine) depth() int { return (len(l.text) - len(strings.TrimLeft(l.text, " "))) / 2 }

// Refs returns the refs of the lines, in their order.
func (s Baseline) Refs() []string {
	var list []string
	for _, l := range s.lines {
		if l.ref != 0 {
			list = append(list, RefOf(l.ref))
		}
	}
	return list
}

// lastRef returns the ref of the last line that has one, else 0.
func (s Baseline) lastRef() int {
	for i := len(s.lines) - 1; i >= 0; i-- {
		if s.lines[i].ref != 0 {
			return s.lines[i].ref
		}
	}
	return 0
}

// without returns the lines that s does not have: lines of other refs, and text lines
// that differ from those after the last ref of s. There a source cannot tell which
// texts the client has.
func (s Baseline) without(lines []shownLine) []shownLine {
	refs, texts := map[int]bool{}, map[string]bool{}
	for _, l := range s.lines {
		if l.ref != 0 {
			refs[l.ref] = true
			clear(texts)
		} else {
			texts[strings.TrimLeft(l.text, " ")] = true
		}
	}
	var list []shownLine
	for _, l := range lines {
		if !refs[l.ref] && !texts[strings.TrimLeft(l.text, " ")] {
			list = append(list, l)
		}
	}
	return list
}
