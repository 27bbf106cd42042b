package snapshot

import (
	"slices"
	"strings"
)

// maxSame is how many lines a delta reports one by one for the same cause: that
// something covers them or no longer does, or that a modal dialog hides them.
const maxSame = 8

// foldCovered folds the changes of lines whose only change is the state covered.
// It leaves the first maxSame changes, sets the others to opFold and opFolded,
// and returns the text of the line for all of the others; "" if there are none.
func foldCovered(changes []change, prev, cur []shownLine) (text string) {
	found, folded := 0, 0
	var states []bool
	for i, c := range changes {
		if c.op != opChange {
			continue
		}
		was, wasCovered := withoutState(prev[c.prev].text, "covered")
		is, covered := withoutState(cur[c.cur].text, "covered")
		if wasCovered == covered || was != is {
			continue
		}
		if found++; found <= maxSame {
			continue
		}
		if changes[i].op = opFolded; folded == 0 {
			changes[i].op = opFold
		}
		folded++
		states = append(states, covered)
	}
	switch {
	case folded == 0:
		return ""
	case !slices.Contains(states, false):
		return foldedLine(folded, "covered now, and else as they were")
	case !slices.Contains(states, true):
		return foldedLine(folded, "no longer covered, and else as they were")
	}
	return foldedLine(folded, "covered now, or no longer, and else as they were")
}

// withoutState returns an element's line without a state, and whether the line
// had it. Each line has one spelling, so lines of equal text are equal.
func withoutState(line, state string) (string, bool) {
	if !strings.Contains(line, " "+state) {
		return line, false
	}
	i := strings.IndexByte(line, '[')
	if i < 0 || !strings.HasPrefix(strings.TrimLeft(line, " "), "@e") {
		return line, false
	}
	quoted := false
	for ; i < len(line); i++ {
		switch {
		case quoted && line[i] == '\\':
			i++
		case line[i] == '"':
			quoted = !quoted
		case quoted:
		case line[i] == ']':
			return line, false
		case line[i] == ' ':
			after, ok := strings.CutPrefix(line[i+1:], state)
			if ok && after != "" && (after[0] == ' ' || after[0] == ']') {
				return line[:i] + after, true
			}
		}
	}
	return line, false
}
