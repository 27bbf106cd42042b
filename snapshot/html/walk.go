package html

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/browserd/browserd/snapshot"
)

var skipped = words("script style template head meta link title base source track param col colgroup datalist rp area wbr")

const (
	optionsShown = 12  // of a closed select (PROTOCOL.md section 5)
	countOn      = 60  // elements visited after the end of a budget, to count the lines that are left out
	countDeep    = 500 // lines below max_depth that are counted
	lineChars    = 12  // characters of a line without its strings
)

var cellRoles = words("cell gridcell columnheader rowheader")

// Roles that a whole page leaves out where no line is inside of them.
var pruneIfEmpty = words("paragraph listitem list blockquote definition group figure article emphasis strong code")

// walk is one walk over a document's flat tree. It ends when a budget is full, so that its
// cost depends on the budget and not on the size of the document.
type walk struct {
	*resolver
	o       snapshot.Options
	lines   []snapshot.Node
	chars   int
	nodes   int
	visited int
	rest    int  // nodes below max_depth
	below   int  // lines below max_depth, as far as they were looked at
	least   bool // more is left than rest counts
	reasons map[string]bool

	counting int // elements still to visit after the end of a budget; 0 before it
	kept     int // lines before the end of the budget
	folding
	ended bool
	run   strings.Builder // text of the current block
	gap   int             // characters of text since the last line with a ref

	scope    *html.Node
	focused  *html.Node
	path     []*html.Node // from the element to continue after up to the top; nil once passed
	resuming bool         // still on path, before the place to continue after
}

// frame is an element whose content is being visited.
type frame struct {
	n     *html.Node
	depth int
	clickContext
	ariaHidden bool // itself or an ancestor is aria-hidden
	nameShown  bool // a line above has its text as a name
	names      string
	only       bool // its only text is its name
	style      style
	block      bool
	spaced     bool // an inline block
	cell       bool
	code       bool // in the text of a program
	shown      bool // has a line
	line       int  // index of its line if that is left out if nothing is in it, else -1
	kids       []kid
	end        int // how many lines there were when the walk left it
	left       int
	prose      int8 // 0 not known, 1 running text, -1 not
}

// segment walks the subtree of top, after the node last if it is not nil.
func (w *walk) segment(top, last *html.Node) {
	base := &frame{line: -1}
	if p := w.d.flat.parent(top); p != nil {
		base.n = p
		base.pointer = !lists[p.Data] && w.style(p).pointer
	}
	if last != nil {
		for p := last; p != nil && p != top; p = w.d.shownIn(p) {
			if !is(p, atom.Optgroup) || p == last {
				w.path = append(w.path, p)
			}
		}
		w.path = append(w.path, top)
		w.resuming = true
	}
	w.element(top, base)
	w.resuming = false
	w.flush(base)
	if w.unnamed != nil || w.counting > 0 && w.mayFold {
		w.resolve(true)
	}
}

// descend walks the children of f: list or, if own is set, those of its tree.
func (w *walk) descend(f *frame, list []*html.Node, own bool) {
	if w.resuming {
		w.path = w.path[:len(w.path)-1]
		if len(w.path) == 0 { // f is the element to continue after
			w.resuming = false
		}
	}
	next := f.n.FirstChild
	if w.resuming {
		for !own && len(w.path) > 1 && !slices.Contains(list, w.path[len(w.path)-1]) {
			w.path = w.path[:len(w.path)-1] // the ancestors of an option
		}
		entered := w.path[len(w.path)-1]
		w.element(entered, f)
		w.resuming = false
		next = entered.NextSibling
		if !own {
			list = list[slices.Index(list, entered)+1:]
		}
	}
	w.stack = append(w.stack, f)
	i := 0
	for !w.ended {
		if w.backTo == nil && (w.pending || w.unnamed != nil) {
			w.resolve(false)
		}
		if w.backTo != nil && w.backTo != f {
			return
		}
		if w.backTo = nil; w.goOn != nil {
			next, i = w.goOn, slices.Index(list, w.goOn)
			w.goOn = nil
		}
		if !own {
			if next = nil; i < len(list) {
				next = list[i]
				i++
			}
		}
		c := next
		if c == nil {
			break
		}
		next = c.NextSibling
		w.child(c, f)
	}
	w.stack = w.stack[:len(w.stack)-1]
	w.leave(f)
}

func (w *walk) child(c *html.Node, f *frame) {
	switch c.Type {
	case html.TextNode:
		w.text(c, f)
	case html.ElementNode:
		w.element(c, f)
	}
}

func (w *walk) leave(f *frame) {
	if f.end = len(w.lines); w.mayFold && len(f.kids) >= minRun {
		w.passed = append(w.passed, f)
	}
	if f.block || f.names != "" || f.shown {
		w.flush(f)
	} else if f.spaced {
		w.space()
	}
	w.prune(f)
}

func (w *walk) prune(f *frame) {
	if f.line == deepLine && f.left == w.below {
		w.rest--
	}
	if f.line >= 0 && f.line == len(w.lines)-1 && f.left == w.below { // nothing in it
		w.shorten(f.line)
		w.nodes--
	}
}

func (w *walk) space() {
	if w.run.Len() > 0 {
		w.run.WriteByte(' ')
	}
}

func (w *walk) text(n *html.Node, f *frame) {
	s := &f.style
	if w.resuming || s.hidden || s.transparent || f.ariaHidden || f.nameShown {
		return
	}
	if w.o.InteractiveOnly && w.gap > w.o.MaxText {
		return
	}
	if blank(n.Data) {
		w.space()
		return
	}
	if f.names != "" && w.o.DedupeText && len(n.Data) <= len(f.names)+60 && strings.Contains(f.names, strings.ToLower(withoutGlyphs(fold(n.Data)))) {
		return
	}
	if s.textUnseen() || w.run.Len() > 3*nameMax {
		return
	}
	data := n.Data
	if len(data) > 3*nameMax {
		data = units(strings.TrimLeftFunc(data, isSpace), nameMax)
	}
	w.run.WriteString(data)
}

// flush writes the text of the block that ends here as a line.
func (w *walk) flush(f *frame) {
	if w.run.Len() == 0 {
		return
	}
	s := withoutGlyphs(fold(w.run.String()))
	for strings.HasSuffix(s, " |") {
		s = strings.TrimSuffix(s, " |")
	}
	w.run.Reset()
	if s == "" {
		return
	}
	if w.o.DedupeText {
		if f.names != "" && strings.Contains(f.names, strings.ToLower(s)) {
			return
		}
		// A text beside a control is its label only if it equals the name.
		if i := len(w.lines) - 1; i >= 0 && w.lines[i].Key.Node > 0 && w.lines[i].Name == s && w.folded[i] == 0 {
			return
		}
	}
	if f.depth > w.o.MaxDepth {
		w.below++
		w.reason("max_depth")
		return
	}
	size := length(s)
	if w.o.InteractiveOnly {
		free := w.o.MaxText - w.gap
		w.gap += size
		if size > free {
			w.reason("max_text")
			if free < 2 {
				return
			}
			s = strings.TrimRightFunc(units(s, free-1), isSpace) + "…"
			size = length(s)
		}
	} else if size > w.o.MaxText+1 {
		s = units(s, max(w.o.MaxText+1, nameMax))
		size = length(s)
	}
	chars := 2*f.depth + size + 8
	if w.chars+chars > w.o.MaxChars && w.nodes > 0 {
		w.stop("max_chars", true)
	}
	w.chars += chars
	w.write(snapshot.Node{Depth: f.depth, Role: snapshot.RoleText, Name: s}, chars)
}

// stop notes that a budget ends before the line that is written next; stays: that line is not
// taken back where nothing is in it. Unless siblings can be folded, the walk goes on for a
// while, so that what is left is counted as it would be written; see left.
func (w *walk) stop(reason string, stays bool) {
	if w.unnamed != nil {
		return
	}
	w.pending = w.pending || stays && w.mayFold
	if w.counting > 0 {
		return
	}
	w.reasons[reason] = true
	w.counting = countOn
	w.kept = len(w.lines)
}

// reason notes a budget that cuts a line or leaves one out.
func (w *walk) reason(r string) {
	if w.counting == 0 {
		w.reasons[r] = true
	}
}

// deep counts a line below max_depth.
func (w *walk) deep() {
	w.reason("max_depth")
	w.below++
	w.rest++
}

// deepLine is the line of an element that has it below max_depth and that goes if nothing is
// in it.
const deepLine = -2

// left takes back the lines behind the end of a budget and counts them.
func (w *walk) left() (nodes, texts int, least bool) {
	nodes, least = w.rest, w.least || w.ended
	if w.counting == 0 {
		return nodes, 0, least
	}
	w.kept = min(w.kept, len(w.lines))
	for _, l := range w.lines[w.kept:] {
		if l.Key.Node > 0 {
			nodes++
		} else {
			texts++
		}
	}
	w.shorten(w.kept)
	if nodes+texts == 0 && !least { // what had no room went again
		delete(w.reasons, "max_nodes")
		delete(w.reasons, "max_chars")
	}
	return nodes, texts, least
}

// element visits an element: it writes its line, if it has one, and walks its content.
func (w *walk) element(n *html.Node, f *frame) {
	if w.over() {
		w.ended = true
		return
	}
	if w.mayFold {
		f.kids = append(f.kids, kid{n, len(w.lines)})
	}
	htm := isHTML(n)
	if htm && skipped[n.Data] {
		if n.Data == "area" && f.n != nil && is(f.n, atom.Img) {
			w.area(n, f)
		}
		return
	}
	if is(n, atom.Br) {
		w.space()
		return
	}
	w.visited++
	if w.counting > 0 {
		if w.counting--; w.counting == 0 {
			w.counting, w.ended = 1, true
			return
		}
	}
	if f.n != nil && is(f.n, atom.Select) && (n.Data == "option" || n.Data == "optgroup") {
		w.option(n, f)
		return
	}
	s := w.style(n)
	if s.noBox || s.transparent && s.clickThrough && !w.replacesInput(n) {
		return
	}
	dark := f.ariaHidden
	if len(n.Attr) > 0 {
		if has(n, "inert") && !w.resuming {
			return
		}
		dark = dark || attr(n, "aria-hidden") == "true"
	}
	child := &frame{n: n, depth: f.depth, ariaHidden: dark, nameShown: f.nameShown, names: f.names, style: s, line: -1}
	child.control = f.control
	child.pointer = s.pointer && !(lists[n.Data] && !listens(n))
	child.block = !s.inlined()
	child.spaced = s.display == inlineBlock
	child.code = f.code || htm && (n.Data == "pre" || n.Data == "code")
	beside := f.n != nil && w.style(f.n).row
	switch {
	case f.code && htm && n.Data == "span": // a token
		child.spaced = false
		child.block = child.block && !beside
	case w.o.InteractiveOnly && (s.display == tableCell || child.block && (beside || cellRoles[attr(n, "role")])):
		child.block, child.cell = false, true
	}
	var what *line
	if !s.hidden {
		what = w.decide(n, htm, f, dark, s.inlined())
	}
	switch {
	case what != nil || child.block:
		w.flush(f)
	case child.spaced:
		w.space()
	case child.cell && !blank(w.run.String()):
		w.run.WriteString(" | ")
	}
	switch {
	case what != nil:
		w.show(n, what, f, child)
	case s.hidden:
	case is(n, atom.Label):
		w.label(n, f, child)
	case !dark && pictures(n, f):
		if w.picture(n, f) {
			return
		}
	}
	if !w.ended {
		w.enter(n, htm, child, what)
	}
}

// enter walks the content of n, if it has children with boxes.
func (w *walk) enter(n *html.Node, htm bool, child *frame, what *line) {
	if htm {
		switch n.Data {
		case "input", "textarea", "iframe", "frame", "video", "audio", "canvas", "embed", "progress", "meter", "hr":
			return
		case "img":
			if list := w.d.areas(n); len(list) > 0 {
				w.descend(child, list, false)
			}
			return
		case "select":
			if what == nil {
				return
			}
			if list := w.options(n, what.role); len(list) > 0 {
				w.descend(child, list, false)
			}
			return
		case "details":
			if !has(n, "open") && !w.d.flat.hosts(n) {
				var list []*html.Node
				for c := firstElement(n); c != nil && list == nil; c = nextElement(c) {
					if is(c, atom.Summary) {
						list = append(list, c)
					}
				}
				w.descend(child, list, false)
				return
			}
		}
	} else if n.Data == "svg" && (what != nil && what.role == "img" && w.o.InteractiveOnly || !hasContent(n)) {
		return
	} else if n.Data == "title" || n.Data == "desc" || n.Data == "defs" || n.Data == "metadata" {
		return
	}
	if child.only && !w.d.flat.hosts(n) && !w.resuming {
		return // its one text is its name
	}
	list, ok := w.d.flat.children(n)
	w.descend(child, list, !ok)
}

// hasContent reports whether an SVG has something to read or to act on.
func hasContent(svg *html.Node) bool {
	for c, i := after(svg, svg), 0; c != nil && i < maxInside; c, i = after(c, svg), i+1 {
		if !isElement(c) {
			continue
		}
		switch c.Data {
		case "a", "text", "foreignObject":
			return true
		}
		if has(c, "tabindex") || has(c, "onclick") || has(c, "role") {
			return true
		}
	}
	return false
}

// label keeps the text of a label from being repeated as the name of its control.
func (w *walk) label(n *html.Node, f, child *frame) {
	if !w.o.DedupeText {
		return
	}
	c := w.d.Control(n)
	if c == nil || !w.showsName(c) {
		return
	}
	w.flush(f)
	child.names = strings.ToLower(w.name(c, w.role(c)))
}

// showsName reports whether c, which a label is for, gets a line with its name. An input
// that a styled element replaces gets none.
func (w *walk) showsName(c *html.Node) bool {
	if s := w.style(c); !w.rendered(c) || s.transparent && s.clickThrough && !w.replacesInput(c) {
		return false
	}
	for p := c; p != nil; p = p.Parent {
		if isElement(p) && attr(p, "aria-hidden") == "true" {
			return false
		}
	}
	return true
}

// pictures reports whether the name of n is shown as text: n is a picture other than an img
// element, or an img in a control without a name.
func pictures(n *html.Node, f *frame) bool {
	if n.Data == "img" {
		return isHTML(n) && f.control != nil && f.names == ""
	}
	return attr(n, "role") == "img"
}

// picture writes the name of a picture as text, in place of its content.
func (w *walk) picture(n *html.Node, f *frame) bool {
	if f.style.transparent || f.nameShown || w.resuming || !w.visible(n) {
		return false
	}
	name := w.name(n, "img")
	if name == "" {
		return false
	}
	w.run.WriteString(" " + name + " ")
	return true
}

// options returns the options, and of a whole page the groups, of a select that
// get lines.
func (w *walk) options(sel *html.Node, role string) (out []*html.Node) {
	all := OptionsOf(sel)
	if role == "combobox" && len(all) > optionsShown && w.o.InteractiveOnly && sel != w.scope {
		return nil
	}
	var group *html.Node
	for _, o := range all {
		if has(o, "hidden") {
			continue
		}
		p := parent(o)
		if !w.o.InteractiveOnly && p != group && is(p, atom.Optgroup) {
			out = append(out, p)
		}
		group = p
		out = append(out, o)
	}
	return out
}

func (w *walk) option(n *html.Node, f *frame) {
	if w.resuming {
		return
	}
	role := w.role(n)
	if role == "" {
		role = "option"
	}
	depth := f.depth
	if !w.o.InteractiveOnly && role == "option" && is(parent(n), atom.Optgroup) {
		depth++
	}
	if depth > w.o.MaxDepth {
		w.deep()
		return
	}
	l, chars := w.record(n, role, w.name(n, role), false, false, depth)
	w.add(l, chars, true)
}

// area writes the line of an area of the image map of f's image.
func (w *walk) area(n *html.Node, f *frame) {
	if w.resuming || f.style.transparent || f.style.hidden || f.ariaHidden {
		return
	}
	if f.depth > w.o.MaxDepth {
		w.deep()
		return
	}
	w.flush(f)
	l, chars := w.record(n, "link", cutName(w.name(n, "link")), false, w.unseen(f.n), f.depth)
	w.add(l, chars, true)
}

// add writes a line with a ref; stays: whether or not there is something in it.
func (w *walk) add(l snapshot.Node, chars int, stays bool) {
	if w.nodes >= w.o.MaxNodes {
		w.stop("max_nodes", stays)
	}
	if w.chars+chars > w.o.MaxChars && w.nodes > 0 {
		w.stop("max_chars", stays)
	}
	w.write(l, chars)
	w.nodes++
	w.chars += chars
	w.gap = 0
}

// inProse reports whether n, a text-level element, is part of running text. Alone, or with
// a name by its author, it has a line of its own.
func inProse(n *html.Node, f *frame) bool {
	if has(n, "role") || authorNamed(n) || f.n == nil {
		return false
	}
	if f.prose == 0 {
		f.prose = -1
		for c, i := f.n.FirstChild, 0; c != nil && i < 200; c, i = c.NextSibling, i+1 {
			if c.Type == html.TextNode && !blank(c.Data) {
				f.prose = 1
				break
			}
		}
	}
	return f.prose == 1 && n.FirstChild != nil
}
