package snapshot

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxBehind is how many lines a delta tells one by one of which there is nothing to
// say but that something lies before them now, or no longer does.
const maxBehind = 8

// behindOpen is what a walk says of the controls that a page makes inert or hides from
// assistive technology, and from it alone, while a menu, a list or a dialog is open.
const behindOpen = "behind what is open; close it to reach them"

// behind takes out of the changes the removals of what a modal dialog hides, or
// anything else that is open, where they are many: it is there still, and the client
// will know it when that closes. It returns the lines that they spoke of, and how many nodes are to be told
// of in their place: those that were not behind something before, where the new snapshot
// does not count them itself.
func behind(changes []change, prev, cur []shownLine) (_ []change, kept []int, hidden int) {
	there, counted := hides(cur)
	if !there {
		return changes, nil, 0
	}
	inside := inFront(prev, countsBehind(cur))
	for _, i := range goneFromSight(changes, prev) {
		inside[i] = true
	}
	for _, c := range changes {
		if c.op == '-' && !inside[c.prev] {
			kept = append(kept, c.prev)
		}
	}
	if len(kept) <= maxBehind {
		return changes, nil, 0
	}
	texts := 0
	for _, i := range kept {
		switch {
		case counted || prev[i].behind:
		case prev[i].ref != 0:
			hidden++
		default:
			texts = 1
		}
	}
	hidden = max(hidden, texts)
	return slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return c.op == '-' && !inside[c.prev] }), kept, hidden
}

// goneFromSight are the removed lines that were behind something, as the line that they
// stood under was, which is in sight again: of them it is known that they are gone.
func goneFromSight(changes []change, prev []shownLine) (list []int) {
	removed := make([]bool, len(prev))
	for _, c := range changes {
		if c.op == '-' {
			removed[c.prev] = true
		}
	}
	var above []int // the lines that the next one may stand under, the deepest last
	for i, l := range prev {
		depth := (len(l.text) - len(strings.TrimLeft(l.text, " "))) / 2
		above = above[:min(depth, len(above))]
		if removed[i] && l.behind && len(above) > 0 {
			if under := above[len(above)-1]; prev[under].behind && !removed[under] {
				list = append(list, i)
			}
		}
		above = append(above, i)
	}
	return list
}

// hides tells whether a modal dialog is before all of a page, or something else that is
// open, and whether a [more] line counts what is behind it.
func hides(lines []shownLine) (there, counted bool) {
	for _, l := range lines {
		if saysBehindOpen(l) {
			return true, true
		}
		there = there || isModal(l)
		counted = counted || there && l.ref == 0 && strings.HasPrefix(l.text, moreStart)
	}
	return there, counted
}

// countsBehind is how many controls the lines say are behind what is open; 0: nothing is said.
func countsBehind(lines []shownLine) int {
	if i := slices.IndexFunc(lines, saysBehindOpen); i >= 0 {
		number, _, _ := strings.Cut(strings.TrimPrefix(lines[i].text, moreStart), " ")
		n, _ := strconv.Atoi(number)
		return n
	}
	return 0
}

// saysBehindOpen says whether l counts what is behind something that is open.
func saysBehindOpen(l shownLine) bool {
	return l.ref == 0 && strings.HasPrefix(l.text, moreStart) && strings.Contains(l.text, behindOpen)
}

// isModal says whether l is a modal dialog at the page's own depth.
func isModal(l shownLine) bool {
	if l.ref == 0 || !strings.HasPrefix(l.text, "@e") || !strings.Contains(l.text, "dialog") || !strings.Contains(l.text, " modal") {
		return false
	}
	got := lineOf(l)
	return (got.Role == "dialog" || got.Role == "alertdialog") && slices.Contains(got.States, "modal")
}

// inFront says of each line whether it is of a modal dialog, or of anything else that
// is open, or counts what is behind it. now is how many controls the next snapshot counts
// behind what is open there: where they are more, what was in front is among them, as a
// dialog in which a list opens.
func inFront(lines []shownLine, now int) []bool {
	inside := make([]bool, len(lines))
	counts := func(l shownLine) bool { return l.ref == 0 && strings.HasPrefix(l.text, moreStart) }
	before := countsBehind(lines)
	if before > 0 {
		for i, l := range lines {
			inside[i] = !l.behind && (now <= before || counts(l))
		}
		return inside
	}
	within, any := false, false
	for i, l := range lines {
		if !strings.HasPrefix(l.text, "  ") {
			within = isModal(l)
			any = any || within
		}
		inside[i] = within || any && counts(l)
	}
	return inside
}

// onlyCovered marks the changes that are nothing but covered, or no longer, where
// they are many, and returns what is said in the place of those behind the first ones.
func onlyCovered(changes []change, prev, cur []shownLine) (said string) {
	told, folded := 0, 0
	var states []bool
	for i, c := range changes {
		if c.op != '~' || !strings.Contains(prev[c.prev].text+cur[c.cur].text, " covered") {
			continue
		}
		was, is := lineOf(prev[c.prev]), lineOf(cur[c.cur])
		covered := takeState(&is, "covered")
		if takeState(&was, "covered") == covered || !reflect.DeepEqual(was, is) {
			continue
		}
		if told++; told <= maxBehind {
			continue
		}
		if changes[i].op = '.'; folded == 0 {
			changes[i].op = 'c'
		}
		folded++
		states = append(states, covered)
	}
	switch {
	case folded == 0:
		return ""
	case !slices.Contains(states, false):
		return moreHere(folded, "covered now, and else as they were")
	case !slices.Contains(states, true):
		return moreHere(folded, "no longer covered, and else as they were")
	}
	return moreHere(folded, "covered now, or no longer, and else as they were")
}

// lineOf reads a line that has been written.
func lineOf(l shownLine) Line {
	p := parser{s: l.text}
	got, _ := p.body("snapshot") // what was written can be read
	return got
}

// takeState takes a state from the line and says whether it had it.
func takeState(l *Line, state string) bool {
	i := slices.Index(l.States, state)
	if i < 0 {
		return false
	}
	l.States = slices.Delete(l.States, i, i+1)
	if len(l.States) == 0 {
		l.States = nil
	}
	return true
}

// moreHere is a [more] line in the place of nodes that are left out.
func moreHere(count int, why string) string {
	return moreStart + strconv.Itoa(count) + foldedHere + ": " + string(appendQuoted(nil, why))
}
