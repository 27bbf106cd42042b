package snapshot

import (
	"slices"
	"strconv"
	"strings"
)

// behindOpen is what the page's script says, in a [more] line, of the controls
// that the page makes inert or hides from assistive technology while a menu, a
// list or a dialog is open.
const behindOpen = "behind what is open; close it to reach them"

// withoutHidden removes from changes the removals of lines that an open modal
// dialog, menu or list hides, if there are more than maxSame. These lines are
// still in the page and appear again when it closes, so the client keeps them.
// kept are their indices in prev. hidden is how many nodes the delta reports as
// hidden instead: those that were not hidden before, 0 if cur counts them itself.
func withoutHidden(changes []change, prev, cur []shownLine) (_ []change, kept []int, hidden int) {
	open, counted := opened(cur)
	if !open {
		return changes, nil, 0
	}
	removed := inFront(prev, hiddenCount(cur))
	for _, i := range removedBehind(changes, prev) {
		removed[i] = true
	}
	for _, c := range changes {
		if c.op == opRemove && !removed[c.prev] {
			kept = append(kept, c.prev)
		}
	}
	if len(kept) <= maxSame {
		return changes, nil, 0
	}
	texts := 0
	for _, i := range kept {
		switch {
		case counted || prev[i].hidden:
		case prev[i].ref != 0:
			hidden++
		default:
			texts = 1
		}
	}
	hidden = max(hidden, texts)
	return slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return c.op == opRemove && !removed[c.prev] }), kept, hidden
}

// removedBehind returns the removed lines that were hidden and whose parent was
// hidden too and is visible again: the page no longer has these lines.
func removedBehind(changes []change, prev []shownLine) (list []int) {
	removed := make([]bool, len(prev))
	for _, c := range changes {
		if c.op == opRemove {
			removed[c.prev] = true
		}
	}
	var parents []int // the possible parents of the next line, the deepest last
	for i, l := range prev {
		depth := (len(l.text) - len(strings.TrimLeft(l.text, " "))) / 2
		parents = parents[:min(depth, len(parents))]
		if removed[i] && l.hidden && len(parents) > 0 {
			if parent := parents[len(parents)-1]; prev[parent].hidden && !removed[parent] {
				list = append(list, i)
			}
		}
		parents = append(parents, i)
	}
	return list
}

// opened reports whether a modal dialog, a menu or a list is open and hides the
// page, and whether a [more] line counts what it hides.
func opened(lines []shownLine) (open, counted bool) {
	for _, l := range lines {
		if countsHidden(l) {
			return true, true
		}
		open = open || isModal(l)
		counted = counted || open && isMore(l)
	}
	return open, counted
}

// hiddenCount is how many controls the lines count as behind what is open, 0 if
// there is no such line.
func hiddenCount(lines []shownLine) int {
	if i := slices.IndexFunc(lines, countsHidden); i >= 0 {
		number, _, _ := strings.Cut(strings.TrimPrefix(lines[i].text, moreStart), " ")
		n, _ := strconv.Atoi(number)
		return n
	}
	return 0
}

func isMore(l shownLine) bool { return l.ref == 0 && strings.HasPrefix(l.text, moreStart) }

// countsHidden reports whether l counts the controls behind what is open.
func countsHidden(l shownLine) bool { return isMore(l) && strings.Contains(l.text, behindOpen) }

// isModal reports whether l is a modal dialog at depth 0.
func isModal(l shownLine) bool {
	if l.ref == 0 || !strings.HasPrefix(l.text, "@e") {
		return false
	}
	_, element, _ := strings.Cut(l.text, "[")
	role, _, _ := strings.Cut(element, " ")
	if role != "dialog" && role != "alertdialog" {
		return false
	}
	_, modal := withoutState(l.text, "modal")
	return modal
}

// inFront reports for each line whether it is in a modal dialog or in anything
// else that is open, or counts what is hidden behind it. next is the hiddenCount
// of the next snapshot: if it is higher, then what was in front is now behind, as
// a dialog in which a list opens.
func inFront(lines []shownLine, next int) []bool {
	front := make([]bool, len(lines))
	if count := hiddenCount(lines); count > 0 {
		for i, l := range lines {
			front[i] = !l.hidden && (next <= count || isMore(l))
		}
		return front
	}
	inDialog, any := false, false
	for i, l := range lines {
		if !strings.HasPrefix(l.text, "  ") {
			inDialog = isModal(l)
			any = any || inDialog
		}
		front[i] = inDialog || any && isMore(l)
	}
	return front
}

// foldedLine returns a [more] line in place of count nodes.
func foldedLine(count int, why string) string {
	return moreStart + strconv.Itoa(count) + moreFolded + ": " + Quote(why)
}
