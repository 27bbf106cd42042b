package snapshot

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Diff returns the delta from prev, what the client has, to cur, a new snapshot that the
// client does not have yet, in the form of PROTOCOL.md section 5: first what was added
// (+), changed (~) or moved (>), in the order of cur, each with the lines that say where;
// then what was removed (-), in the order of prev. Package pagetext applies it.
//
// The text is empty if nothing changed. The Baseline returned is what the client has
// after the delta: pass it to the next Diff. ok is false if the delta would be longer
// than o.MaxChars or than the snapshot: then the client is to get the snapshot.
func Diff(prev, cur Baseline, o Options) (d Delta, now Baseline, ok bool) {
	w := deltaWriter{alignment: compare(prev.lines, cur.lines), at: -1, last: -1,
		most: min(max(o.MaxChars, 0), cur.chars), said: map[int]bool{}, removed: prev.removed}
	w.write()
	switch {
	case prev.more == cur.more:
	case cur.more == "":
		w.row("", "- [more]")
		w.changes++
	default:
		w.row("", cur.more)
		w.changes++
	}
	now = cur
	now.was, now.removed = nil, w.removed
	return Delta{Text: string(w.text), Changes: w.changes, Stats: Stats{
		InputNodes: cur.input, NodesVisited: cur.visited, NodesEmitted: w.emitted,
		Chars: w.chars, Truncated: cur.reasons != 0, Reasons: cur.reasons.words(),
	}}, now, w.chars <= w.most
}

// maxRemoved is how many lines a Baseline keeps that can be put back.
const maxRemoved = 5000

// deltaWriter writes a delta as pagetext reads it. While it writes what was added,
// changed and moved, the client's text has all lines that stay, and the new ones up to
// last.
type deltaWriter struct {
	*alignment
	text    []byte
	chars   int
	most    int // chars; a longer delta is discarded
	changes int
	emitted int // lines with a ref, added, changed or moved
	at      int // the line, by its index in cur, behind which the next one goes
	last    int // the last line of cur that is written
	said    map[int]bool
	parents []int // by the index in cur
	removed [][]shownLine
}

func (w *deltaWriter) row(mark, line string) {
	if w.chars > w.most {
		return
	}
	start := len(w.text)
	if start > 0 {
		w.text = append(w.text, '\n')
	}
	w.text = append(w.text, mark...)
	w.text = append(w.text, line...)
	w.chars += utf8.RuneCount(w.text[start:])
}

func (w *deltaWriter) write() {
	folded := make([]bool, len(w.cur))
	covered := foldCovered(w.alignment, folded)
	back := w.comesBack()
	for j := 0; j < len(w.cur) && w.chars <= w.most; j++ {
		l := w.cur[j]
		n := 1
		switch {
		case w.kept(j):
			if l.text == w.prev[w.from[j]].text || folded[j] {
				continue
			}
			if p := w.parent(j + 1); p >= 0 && p != j && j+1 < len(w.cur) && !w.kept(j+1) {
				w.context(p)
			}
			w.row("~ ", l.text)
			if unfocused(l.text) == unfocused(w.prev[w.from[j]].text) {
				w.changes-- // the focus is where the effect says
			}
		case w.from[j] >= 0:
			n = w.block[j]
			w.place(j)
			text := l.text
			if n > 1 {
				text += " with " + strconv.Itoa(n-1) + " lines below"
			}
			w.row("> ", text)
		default:
			w.place(j)
			if run, text := back.at(w, j); run > 0 {
				n = run
				w.row("+ ", text)
			} else {
				w.row("+ ", l.text)
			}
		}
		if l.ref != 0 {
			w.emitted++
		}
		w.changes++
		w.said[j] = true
		j += n - 1
		w.at, w.last = j, j
	}
	for _, row := range covered {
		w.row("", row)
		w.changes++
	}
	w.removals()
}

// unfocused returns the line of an element without the state focused.
func unfocused(line string) string {
	start := strings.IndexByte(line, '[')
	if start < 0 {
		return line
	}
	quoted := false
	for i := start; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ']':
			if !quoted {
				return line
			}
		case ' ':
			if rest, ok := strings.CutPrefix(line[i:], " focused"); ok && !quoted && (strings.IndexAny(rest, " ]") == 0) {
				return line[:i] + rest
			}
		}
	}
	return line
}

// place says where the line j of cur goes: below its parent and behind the line before.
func (w *deltaWriter) place(j int) {
	if w.at == j-1 {
		return
	}
	if p := w.parent(j); p >= 0 && p != j-1 {
		w.context(p)
	}
	if w.at == j-1 {
		return
	}
	if w.cur[j-1].ref == 0 {
		w.reach(j - 1)
	}
	w.row("  ", w.cur[j-1].text)
	w.at = j - 1
	w.said[j-1] = true
}

// context writes line p as context, unless it has no ref or was written before.
func (w *deltaWriter) context(p int) {
	if w.cur[p].ref == 0 || w.said[p] {
		return
	}
	w.row("  ", w.cur[p].text)
	w.at = p
	w.said[p] = true
}

// reach writes context lines, so that a client does not take an earlier line with the same
// text for the one at j.
func (w *deltaWriter) reach(j int) {
	var same []int
	ref := -1
	for k := w.at + 1; k < j; k++ {
		switch {
		case k > w.last && !w.kept(k):
		case w.cur[k].ref != 0:
			ref = k
		case w.cur[k].text == w.cur[j].text:
			same = append(same, k)
		}
	}
	if len(same) > 0 && ref > same[0] {
		w.row("  ", w.cur[ref].text)
		w.said[ref] = true
	}
	for _, k := range same {
		if k > ref {
			w.row("  ", w.cur[k].text)
		}
	}
}

// parent returns the index of the line above j in the tree, -1 if there is none.
func (w *deltaWriter) parent(j int) int {
	if w.parents == nil {
		w.parents = parentsOf(w.cur)
	}
	if j >= len(w.parents) {
		return -1
	}
	return w.parents[j]
}

// parentsOf returns for each line the index of its parent, -1 if it has none.
func parentsOf(lines []shownLine) []int {
	parents := make([]int, len(lines))
	var above []int
	for i, l := range lines {
		depth := l.depth()
		for len(above) > 0 && lines[above[len(above)-1]].depth() >= depth {
			above = above[:len(above)-1]
		}
		parents[i] = -1
		if len(above) > 0 {
			parents[i] = above[len(above)-1]
		}
		above = append(above, i)
	}
	return parents
}

// removals writes what was removed.
func (w *deltaWriter) removals() {
	at := 0 // where the client looks on in its old text
	for i := 0; i < len(w.prev) && w.chars <= w.most; i++ {
		if w.to[i] >= 0 {
			continue
		}
		end := i + 1
		for end < len(w.prev) && w.to[end] < 0 {
			end++
		}
		if l := w.prev[i]; l.ref == 0 {
			end = i + 1
			w.reachRemoved(at, i)
			w.row("- ", l.text)
		} else if end-i >= minFolded {
			last := i
			for k := i; k < end; k++ {
				if w.prev[k].ref != 0 {
					last = k
				}
			}
			w.row("- ", fromTo(l.ref, w.prev[last].ref)+", "+strconv.Itoa(end-i)+" lines")
			w.keep(w.prev[i:end])
		} else {
			end = i + 1
			w.row("- ", l.text)
		}
		w.changes += end - i
		at, i = end, end-1
	}
}

// reachRemoved is reach for the text i of prev, which the client looks for from at on.
func (w *deltaWriter) reachRemoved(at, i int) {
	var same []int
	ref := -1
	for k := at; k < i; k++ {
		switch {
		case w.prev[k].ref != 0:
			ref = k
		case w.prev[k].text == w.prev[i].text:
			same = append(same, k)
		}
	}
	if len(same) > 0 && ref > same[0] {
		w.row("  ", w.prev[ref].text)
	}
	for _, k := range same {
		if k > ref {
			w.row("  ", w.prev[k].text)
		}
	}
}

// keep remembers a run of lines that the client can put back.
func (w *deltaWriter) keep(run []shownLine) {
	w.removed = append(slices.Clip(w.removed), slices.Clone(run))
	total := 0
	for k, r := range slices.Backward(w.removed) {
		if total += len(r); total > maxRemoved {
			w.removed = w.removed[k+1:]
			return
		}
	}
}

// returning finds lines that were removed before, by their refs.
type returning map[int][]shownLine

// comesBack indexes the lines that the client can put back, if any line is new.
func (w *deltaWriter) comesBack() returning {
	if len(w.removed) == 0 || !slices.Contains(w.from, -1) {
		return nil
	}
	back := returning{}
	for _, run := range w.removed {
		for k, l := range run {
			if l.ref != 0 {
				back[l.ref] = run[k:]
			}
		}
	}
	return back
}

// at returns how many lines from j of cur on come back as they were, and the text that
// says so; 0 if they are too few.
func (r returning) at(w *deltaWriter, j int) (n int, text string) {
	run := r[w.cur[j].ref]
	if w.cur[j].ref == 0 {
		return 0, ""
	}
	last := 0
	for n < len(run) && j+n < len(w.cur) && w.from[j+n] < 0 && run[n] == w.cur[j+n] {
		if run[n].ref != 0 {
			last = run[n].ref
		}
		n++
	}
	if n < minFolded {
		return 0, ""
	}
	return n, fromTo(w.cur[j].ref, last) + ", " + strconv.Itoa(n) + " lines"
}
