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
	countOn      = 100 // elements looked at, after the budget's end, to count what is left
	lineChars    = 12  // characters of a line beside its strings
)

// Of a whole page, these are left out where nothing of what they contain is shown.
var hollow = words("paragraph listitem list blockquote definition group figure article emphasis strong code")

// walk is one pass over a document's flat tree. It ends when a budget is full, so
// that its cost is the budget's and not the document's.
type walk struct {
	*look
	o       snapshot.Options
	lines   []snapshot.Node
	chars   int
	nodes   int
	visited int
	rest    int
	reasons map[string]bool

	counting int // elements left to look at after the end; 0 while it writes
	ended    bool
	run      strings.Builder // text of the block under way
	gap      int             // characters of text since the last line with a ref

	scope   *html.Node
	focused *html.Node
	path    []*html.Node // from the place to go on after up to the top; nil once passed
	silent  bool         // on the way there
}

// frame is an element whose content is being walked.
type frame struct {
	n     *html.Node
	depth int
	surroundings
	dark   bool // aria-hidden, here or around
	mute   bool // its text is said already
	names  string
	only   bool // its one text is its name
	style  style
	block  bool
	spaced bool // an inline block
	cell   bool
	shown  bool // has a line
	line   int  // where that line is left out if nothing is in it; -1 otherwise
	left   int
	prose  int8 // 0 not known, 1 running text, -1 not
}

// segment walks the subtree of top, after the node last where one is given.
func (w *walk) segment(top, last *html.Node) {
	base := &frame{line: -1}
	if p := w.d.around(top); p != nil {
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
		w.silent = true
	}
	w.element(top, base)
	w.silent = false
	w.flush(base)
}

// descend walks what f contains: list or, where own is set, its own children.
func (w *walk) descend(f *frame, list []*html.Node, own bool) {
	if w.silent {
		w.path = w.path[:len(w.path)-1]
		if len(w.path) == 0 { // f is the place to go on after
			w.silent = false
		}
	}
	if own {
		c := f.n.FirstChild
		if w.silent {
			next := w.path[len(w.path)-1]
			w.element(next, f)
			w.silent = false
			c = next.NextSibling
		}
		for ; c != nil && !w.ended; c = c.NextSibling {
			w.child(c, f)
		}
	} else {
		if w.silent {
			for len(w.path) > 1 && !slices.Contains(list, w.path[len(w.path)-1]) {
				w.path = w.path[:len(w.path)-1] // what stands around an option
			}
			next := w.path[len(w.path)-1]
			w.element(next, f)
			w.silent = false
			list = list[slices.Index(list, next)+1:]
		}
		for _, c := range list {
			if w.ended {
				break
			}
			w.child(c, f)
		}
	}
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
	if f.block || f.names != "" || f.shown {
		w.flush(f)
	} else if f.spaced {
		w.space()
	}
	if f.line >= 0 && f.line == len(w.lines)-1 && f.left == w.rest && w.counting == 0 { // nothing in it
		w.lines = w.lines[:f.line]
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
	if w.silent || s.hidden || s.clear || f.dark || f.mute || w.counting > 0 {
		return
	}
	if w.o.InteractiveOnly && w.gap > w.o.MaxText {
		return
	}
	if blank(n.Data) {
		w.space()
		return
	}
	if f.names != "" && w.o.DedupeText && len(n.Data) <= len(f.names)+60 && strings.Contains(f.names, strings.ToLower(fold(n.Data))) {
		return
	}
	if s.cut || s.skips || s.tiny || s.inkless || s.unread || w.run.Len() > 3*nameMax {
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
	s := fold(w.run.String())
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
		// What stands by itself is a label only where it is the name to the letter.
		if i := len(w.lines) - 1; i >= 0 && w.lines[i].Key.Node > 0 && w.lines[i].Name == s {
			return
		}
	}
	if w.counting > 0 || f.depth > w.o.MaxDepth {
		return
	}
	size := length(s)
	if w.o.InteractiveOnly {
		room := w.o.MaxText - w.gap
		w.gap += size
		if size > room {
			w.reasons["max_text"] = true
			if room < 2 {
				return
			}
			s = strings.TrimRightFunc(units(s, room-1), isSpace) + "…"
			size = length(s)
		}
	} else if size > w.o.MaxText+1 {
		s = units(s, max(w.o.MaxText+1, nameMax))
		size = length(s)
	}
	chars := 2*f.depth + size + 8
	if w.chars+chars > w.o.MaxChars && w.nodes > 0 {
		w.stop("max_chars")
		return
	}
	w.chars += chars
	w.lines = append(w.lines, snapshot.Node{Depth: f.depth, Role: snapshot.RoleText, Name: s})
}

func (w *walk) stop(reason string) {
	if w.counting > 0 {
		return
	}
	w.reasons[reason] = true
	w.counting = countOn
	w.run.Reset()
}

// element looks at an element: writes its line where it has one, and enters it.
func (w *walk) element(n *html.Node, f *frame) {
	if w.over() {
		w.ended = true
		return
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
			w.ended = true
			return
		}
	}
	if f.n != nil && is(f.n, atom.Select) && (n.Data == "option" || n.Data == "optgroup") {
		w.option(n, f)
		return
	}
	s := w.style(n)
	if s.gone || s.clear && s.through && !w.standsFor(n) {
		return
	}
	dark := f.dark
	if len(n.Attr) > 0 {
		if has(n, "inert") && !w.silent {
			return
		}
		dark = dark || attr(n, "aria-hidden") == "true"
	}
	child := &frame{n: n, depth: f.depth, dark: dark, mute: f.mute, names: f.names, style: s, line: -1}
	child.control = f.control
	child.pointer = s.pointer && !(lists[n.Data] && !listens(n))
	child.block = !s.inlined()
	child.spaced = s.display == inlineBlock
	if s.display == tableCell && w.o.InteractiveOnly {
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

// enter walks what n contains, where it has children that are laid out.
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
			if !has(n, "open") && !w.d.hosts(n) {
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
	} else if n.Data == "svg" && (what != nil && what.role == "img" && w.o.InteractiveOnly || !speaks(n)) {
		return
	} else if n.Data == "title" || n.Data == "desc" || n.Data == "defs" || n.Data == "metadata" {
		return
	}
	if child.only && !w.d.hosts(n) && !w.silent {
		return // its one text is its name
	}
	list, ok := w.d.children(n)
	w.descend(child, list, !ok)
}

// speaks tells whether an SVG holds something to read or to act on.
func speaks(svg *html.Node) bool {
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

// label keeps the text of a label from being said again by its control.
func (w *walk) label(n *html.Node, f, child *frame) {
	if !w.o.DedupeText {
		return
	}
	c := w.d.Control(n)
	if c == nil || !w.gives(c) {
		return
	}
	w.flush(f)
	child.names = strings.ToLower(w.name(c, w.role(c)))
}

// gives tells whether c, which a label is for, gets a line that says its name.
// What a widget stands in front of gets none.
func (w *walk) gives(c *html.Node) bool {
	if s := w.style(c); !w.rendered(c) || s.clear && s.through && !w.standsFor(c) {
		return false
	}
	for p := c; p != nil; p = p.Parent {
		if isElement(p) && attr(p, "aria-hidden") == "true" {
			return false
		}
	}
	return true
}

// pictures tells whether the name of n is text: that of a picture which is drawn
// otherwise than by an image, or of an image in a control that nothing names.
func pictures(n *html.Node, f *frame) bool {
	if n.Data == "img" {
		return isHTML(n) && f.control != nil && f.names == ""
	}
	return attr(n, "role") == "img"
}

// picture puts the name of a picture into the text, in the place of what it is drawn with.
func (w *walk) picture(n *html.Node, f *frame) bool {
	if f.style.clear || f.mute || w.counting > 0 || w.silent || !w.visible(n) {
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
	all := Options(sel)
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
	if w.silent {
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
	if w.counting > 0 || depth > w.o.MaxDepth || w.nodes >= w.o.MaxNodes {
		if depth <= w.o.MaxDepth {
			w.stop("max_nodes")
		} else {
			w.reasons["max_depth"] = true
		}
		w.rest++
		return
	}
	name := OptionLabel(n)
	if is(n, atom.Optgroup) {
		name = attr(n, "label")
	}
	l, chars := w.record(n, role, cutName(fold(name)), false, false, depth)
	w.add(l, chars)
}

// area writes the line of an area of the image map that the image of f shows.
func (w *walk) area(n *html.Node, f *frame) {
	if w.silent || f.style.clear || f.style.hidden || f.dark {
		return
	}
	if w.counting > 0 || f.depth > w.o.MaxDepth || w.nodes >= w.o.MaxNodes {
		if f.depth <= w.o.MaxDepth {
			w.stop("max_nodes")
		} else {
			w.reasons["max_depth"] = true
		}
		w.rest++
		return
	}
	w.flush(f)
	l, chars := w.record(n, "link", cutName(w.name(n, "link")), false, w.unseen(f.n), f.depth)
	w.add(l, chars)
}

// add writes a line with a ref, where there is room for it.
func (w *walk) add(l snapshot.Node, chars int) bool {
	if w.chars+chars > w.o.MaxChars && w.nodes > 0 {
		w.stop("max_chars")
		w.rest++
		return false
	}
	w.lines = append(w.lines, l)
	w.nodes++
	w.chars += chars
	w.gap = 0
	return true
}

// inProse tells whether n, a text-level element, is one of several pieces of
// running text; standing alone, or named by its author, it is a node.
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
