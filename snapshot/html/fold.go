package html

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/snapshot"
)

// Long runs of like siblings are folded as browser/script/js/folds.js does, which says how; the
// numbers are explained there.
const (
	minRun      = 10
	minLeft     = 5
	mostFirst   = 10
	fewestFirst = 2
	step        = 5
	few         = 20
	maxSiblings = 5000
	maxBehind   = 200
	foldName    = 80
	foldLine    = 70
	foldHeader  = 500
	minNodes    = 40
	minChars    = 2000
)

var (
	apart    = words("p nav main aside header footer h1 h2 h3 h4 h5 h6 hr html body select optgroup option table thead tfoot iframe frame slot")
	alike    = words("li tr td th dt dd tbody article a button label input details figure")
	noMember = words("script style template link br")
)

// folding is what a walk knows of folds.
type folding struct {
	sizes    []int // of each line its characters,
	folded   []int // and the number of the fold that it is in, 0 for none
	mayFold  bool  // until nothing can be: what is behind the end of a budget is only counted then
	pending  bool  // a line that stays is behind that end
	ids      int
	folds    []*foldedRun
	passed   []*frame   // that have been left, in which there may be a run
	stack    []*frame   // that the walk is in
	unnamed  *foldedRun // the one whose last sibling is walked for its name,
	nameless int        // and the lines before this one have none
	backTo   *frame     // the frame to go back to, since what is in it is left out
	goOn     *html.Node // and what to go on with there, nil for what comes next
}

// kid is an element that the walk came to when it had written start lines.
type kid struct {
	n     *html.Node
	start int
}

// foldedRun is a run of like siblings of which the last one and some of the first are shown.
type foldedRun struct {
	f      *frame
	id     int
	starts []int // of each sibling that the walk came to: the lines before it, and behind the last
	from   int   // siblings at least shown
	walked int   // of which there are all lines
	total  int
	least  bool   // there are more
	end    int    // of the lines that may be left out
	atCut  string // what the sibling is called in which the walk was,
	last   string // and the last one that is left out
}

// run is a run of like siblings in f.
type run struct {
	f        *frame
	n        *html.Node // the last one that was compared
	starts   []int
	ahead    ahead
	from     int
	gain     float64
	wholeRun int // siblings that the walk came to
}

// ahead is what comes behind those that the walk came to.
type ahead struct {
	count        int
	before, last *html.Node
	least        bool
}

func (w *walk) write(l snapshot.Node, chars int) {
	w.lines = append(w.lines, l)
	w.sizes = append(w.sizes, chars)
	w.folded = append(w.folded, 0)
}

func (w *walk) shorten(n int) {
	w.lines, w.sizes, w.folded = w.lines[:n], w.sizes[:n], w.folded[:n]
	w.nameless = min(w.nameless, n)
}

func like(a, b *html.Node) bool {
	role := attr(b, "role")
	switch {
	case !isHTML(a) || !isHTML(b) || apart[b.Data] || attr(a, "role") != role:
		return false
	case a.Data != b.Data:
		return (a.Data == "dt" || a.Data == "dd") && (b.Data == "dt" || b.Data == "dd")
	case role != "" || alike[b.Data] || strings.Contains(b.Data, "-"):
		return true
	}
	x, y := attr(a, "class"), attr(b, "class")
	switch {
	case x == y && x != "":
		return true
	case x == "" && y == "":
		return firstTag(a) == firstTag(b)
	}
	of := strings.Fields(x)
	return slices.ContainsFunc(strings.Fields(y), func(c string) bool { return slices.Contains(of, c) })
}

func firstTag(n *html.Node) string {
	if c := firstElement(n); c != nil {
		return c.Data
	}
	return ""
}

// runsOf returns the runs of what the walk has come to in f, up to line end. open: the walk is
// in it.
func (k *styleResolver) runsOf(f *frame, end int, open bool) (list []*run) {
	var of *run
	kids := slices.DeleteFunc(slices.Clone(f.kids), func(c kid) bool { return noMember[c.n.Data] })
	for i, c := range kids {
		upTo := end
		if i+1 < len(kids) {
			upTo = kids[i+1].start
		}
		if of == nil || !like(of.n, c.n) {
			of = &run{f: f, starts: []int{c.start}}
			list = append(list, of)
		}
		of.n = c.n
		if upTo == c.start && !(open && i+1 == len(kids)) && k.style(c.n).noBox {
			continue
		}
		of.wholeRun++
		of.starts = append(of.starts, upTo)
	}
	if open && of != nil {
		of.ahead = k.siblingsAfter(of.n, of.wholeRun)
	}
	return slices.DeleteFunc(list, func(r *run) bool { return r.wholeRun <= fewestFirst || r.wholeRun+r.ahead.count < minRun })
}

// siblingsAfter counts the siblings behind n, the last of those walked, that are like it and laid out.
func (k *styleResolver) siblingsAfter(n *html.Node, walked int) (found ahead) {
	next, previous := nextElement, previousElement
	last := lastChild(n.Parent)
	if p := k.d.flat.parent(n); p != nil {
		if list, ok := k.d.flat.children(p); ok {
			list = slices.DeleteFunc(slices.Clone(list), func(c *html.Node) bool { return !isElement(c) })
			step := func(i, by int) func(*html.Node) *html.Node { // from the one with index i on
				return func(*html.Node) *html.Node {
					if i += by; i < 0 || i >= len(list) {
						return nil
					}
					return list[i]
				}
			}
			next, previous, last = step(slices.Index(list, n), 1), step(len(list)-1, -1), list[len(list)-1]
		}
	}
	seen := 0
	for c := next(n); c != nil; c = next(c) {
		if noMember[c.Data] {
			continue
		}
		if !like(n, c) {
			return found
		}
		if n = c; seen >= maxSiblings-walked {
			return k.fromEnd(found, n, last, previous)
		}
		seen++
		if !k.style(c).noBox {
			found.count++
			found.before, found.last = found.last, c
		}
	}
	return found
}

// fromEnd finds the last ones of a run that is longer than is looked at.
func (k *styleResolver) fromEnd(found ahead, n, end *html.Node, previous func(*html.Node) *html.Node) ahead {
	var last *html.Node
	for i := 0; end != nil && i < maxBehind; end, i = previous(end), i+1 {
		if !like(n, end) || k.style(end).noBox {
			continue
		}
		if last != nil {
			return ahead{found.count, end, last, true}
		}
		last = end
	}
	return ahead{}
}

func lastChild(n *html.Node) *html.Node {
	c := n.LastChild
	for c != nil && c.Type != html.ElementNode {
		c = c.PrevSibling
	}
	return c
}

// longest returns the run that leaves the most out, nil where there is none.
func (w *walk) longest() (best *run) {
	nodes, chars := make([]int, len(w.lines)+1), make([]int, len(w.lines)+1) // shown, of the lines before each
	for i := range w.lines {
		nodes[i+1], chars[i+1] = nodes[i], chars[i]
		if w.folded[i] == 0 {
			chars[i+1] += w.sizes[i]
			if w.lines[i].Key.Node > 0 {
				nodes[i+1]++
			}
		}
	}
	share := func(from, to int) float64 {
		return max(float64(nodes[to]-nodes[from])/float64(w.o.MaxNodes), float64(chars[to]-chars[from])/float64(w.o.MaxChars))
	}
	consider := func(list []*run) {
		for _, r := range list {
			walked := r.wholeRun - 1 // the last one is shown, or the walk is in it
			for r.from < mostFirst && r.from < walked && share(r.starts[0], r.starts[r.from+1]) <= 1.0/4 {
				r.from++
			}
			if r.from = max(r.from, fewestFirst); r.from > walked {
				continue
			}
			end := r.starts[walked]
			if r.ahead.count > 0 {
				end = len(w.lines)
			}
			now := share(r.starts[r.from], end)
			r.gain = now + float64(r.ahead.count)*share(r.starts[0], r.starts[walked])/float64(walked)
			if walked+r.ahead.count-r.from >= minLeft && now > 0 && (best == nil || r.gain > best.gain) {
				best = r
			}
		}
	}
	done := func(f *frame) bool {
		return slices.ContainsFunc(w.folds, func(of *foldedRun) bool { return of.f == f })
	}
	for _, f := range w.passed {
		if !done(f) {
			consider(w.runsOf(f, f.end, false))
		}
	}
	for _, f := range w.stack {
		if !done(f) {
			consider(w.runsOf(f, len(w.lines), true))
		}
	}
	return best
}

// resolve makes space for the lines that stand behind the end of a budget, by folding runs
// until they fit. Where that does not suffice, nothing more is folded. end: the page has been
// walked.
func (w *walk) resolve(end bool) {
	if w.unnamed != nil {
		w.takeName(end)
	}
	if w.counting == 0 || !w.mayFold || !w.pending && !end {
		return
	}
	for w.nodes > w.o.MaxNodes || w.chars > w.o.MaxChars {
		var r *run
		if !w.ended {
			r = w.longest()
		}
		if r == nil {
			w.mayFold, w.pending = false, false
			if len(w.folds) > 0 {
				w.kept = w.endOf()
			}
			return
		}
		w.fold(r)
	}
	w.counting, w.pending = 0, false
}

func (w *walk) fold(r *run) {
	if len(w.folds) == 0 {
		w.o.MaxChars -= min(foldHeader, w.o.MaxChars>>3)
	}
	w.ids++
	walked := r.wholeRun - 1
	of := &foldedRun{f: r.f, id: w.ids, starts: r.starts, from: r.from, walked: walked, total: r.wholeRun + r.ahead.count, least: r.ahead.least, end: r.starts[walked]}
	w.forShown(r.starts[r.from], of.end, of.id)
	if r.ahead.count > 0 {
		of.atCut = w.saidIn(of.end, len(w.lines))
		of.last = of.atCut
		w.cutBack(r.f, of.end)
		w.goOn = r.ahead.last
		if r.ahead.before != nil {
			w.goOn, w.unnamed, w.nameless = r.ahead.before, of, 0
		}
	} else {
		of.last = w.saidIn(r.starts[walked-1], of.end)
	}
	w.chars += of.line()
	w.folds = append(w.folds, of)
}

// line is the most characters of the line of a fold.
func (of *foldedRun) line() int { return 2*of.f.depth + foldLine + 2*foldName }

// forShown takes the lines from from on, before to, out of what the budget is for, and marks
// them with id.
func (w *walk) forShown(from, to, id int) {
	for i := from; i < to; i++ {
		if w.folded[i] != 0 {
			continue
		}
		w.chars -= w.sizes[i]
		if w.lines[i].Key.Node > 0 {
			w.nodes--
		}
		w.folded[i] = id
	}
}

// cutBack takes back the lines from start on, and leaves what is in f.
func (w *walk) cutBack(f *frame, start int) {
	w.forShown(start, len(w.lines), 0)
	w.shorten(start)
	w.folds = slices.DeleteFunc(w.folds, func(of *foldedRun) bool { return of.starts[of.from] >= start })
	w.passed = slices.DeleteFunc(w.passed, func(left *frame) bool { return left.kids[0].start >= start })
	w.stack = w.stack[:slices.Index(w.stack, f)+1]
	w.backTo = f
	if w.unnamed != nil && !slices.Contains(w.stack, w.unnamed.f) {
		w.unnamed = nil
	}
	w.run.Reset()
	w.gap = 0
}

// takeName takes the name of the last sibling that is left out, once there is one or the
// sibling has been walked.
func (w *walk) takeName(end bool) {
	of := w.unnamed
	name := w.saidIn(max(of.end, w.nameless), len(w.lines))
	w.nameless = len(w.lines)
	if name == "" && !end && w.stack[len(w.stack)-1] != of.f {
		return
	}
	of.last = name
	w.unnamed = nil
	w.cutBack(of.f, of.end)
}

// saidIn returns the first name or text of some lines.
func (w *walk) saidIn(from, to int) string {
	for _, l := range w.lines[from:to] {
		if l.Name != "" {
			return l.Name
		}
	}
	return ""
}

// endOf returns where the budget ends although runs are folded.
func (w *walk) endOf() int {
	nodes, chars := 0, 0
	for _, of := range w.folds {
		chars += of.line()
	}
	for i := range w.lines {
		if w.folded[i] != 0 {
			continue
		}
		chars += w.sizes[i]
		if w.lines[i].Key.Node > 0 {
			nodes++
		}
		if nodes > w.o.MaxNodes || chars > w.o.MaxChars && nodes > 1 {
			return i
		}
	}
	return len(w.lines)
}

// writeFolds puts the lines of the folds where the siblings are left out, and reports whether
// a fold is behind the end of the budget.
func (w *walk) writeFolds() (least bool) {
	type hidden struct {
		from, to int
		line     snapshot.Node
	}
	var list []hidden
	slices.SortFunc(w.folds, func(a, b *foldedRun) int { return cmp.Compare(a.starts[a.from], b.starts[b.from]) })
	for _, of := range w.folds {
		at := of.starts[of.from]
		if at > len(w.lines) {
			least = true
			continue
		}
		if slices.ContainsFunc(list, func(h hidden) bool { return h.from <= at && at < h.to }) {
			continue
		}
		n := w.shownOf(of)
		l := snapshot.Node{Role: snapshot.RoleSiblings, Depth: of.f.depth, More: of.total - 1 - n, AtLeast: of.least, Name: of.atCut}
		if n < of.walked {
			l.Name = w.saidIn(of.starts[n], of.starts[n+1])
		}
		if l.More > 1 {
			l.Value = of.last
		}
		if l.More > 0 {
			list = append(list, hidden{of.starts[n], of.end, l})
		}
	}
	if len(list) == 0 {
		return least
	}
	var lines []snapshot.Node
	to := 0
	for i := 0; i <= len(w.lines); i++ {
		for len(list) > 0 && list[0].from == i {
			lines, to, list = append(lines, list[0].line), max(to, list[0].to), list[1:]
		}
		if i < len(w.lines) && i >= to {
			lines = append(lines, w.lines[i])
		}
	}
	w.lines = lines
	return least
}

// shownOf returns how many of the first siblings of a fold are shown: those that there is
// space for.
func (w *walk) shownOf(of *foldedRun) int {
	if w.counting > 0 {
		return of.from
	}
	n := of.from
	nodes, chars := []int{w.nodes}, []int{w.chars}
	for ; n < of.walked; n++ {
		needNodes, needChars := nodes[n-of.from], chars[n-of.from]
		for i := of.starts[n]; i < of.starts[n+1]; i++ {
			if w.folded[i] != of.id {
				continue
			}
			needChars += w.sizes[i]
			if w.lines[i].Key.Node > 0 {
				needNodes++
			}
		}
		if needNodes > w.o.MaxNodes || needChars > w.o.MaxChars {
			break
		}
		nodes, chars = append(nodes, needNodes), append(chars, needChars)
	}
	if n < of.total-1 {
		if 4*n < of.total {
			n = max(of.from, min(n, few))
		}
		if n > mostFirst {
			n -= n % step
		}
	}
	w.nodes, w.chars = nodes[n-of.from], chars[n-of.from]
	return n
}
