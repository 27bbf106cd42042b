package html

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/browserd/browserd/snapshot"
)

// line is how an element is shown.
type line struct {
	role    string
	control bool
	clicks  bool // by its handlers or its cursor, not by its role
	prune   bool // left out if it has no name and no line is inside of it
}

// decide returns the line of n, nil if n has none.
func (w *walk) decide(n *html.Node, htm bool, f *frame, dark, inlined bool) *line {
	role := w.role(n)
	if htm && n.DataAtom == atom.Input && InputType(n) == "hidden" {
		return nil
	}
	if role == "iframe" {
		if isTrackingFrame(n) {
			return nil
		}
		return &line{role: "iframe"}
	}
	control := controls[role] || htm && isHost(n)
	clicks := !control && w.clickable(n, f.clickContext)
	if dark { // the live page shows what can be clicked, which needs boxes
		return nil
	}
	if control || clicks {
		if f.nameShown && !control && !listens(n) {
			return nil
		}
		return &line{role: role, clicks: clicks, control: control}
	}
	if role == "" || role == "none" || f.nameShown {
		return nil
	}
	digest := w.o.InteractiveOnly
	if landmarks[role] {
		if role == "form" && digest && !authorNamed(n) {
			return nil
		}
		return &line{role: role, prune: digest}
	}
	switch role {
	case "heading", "dialog", "alertdialog", "progressbar", "meter":
		return &line{role: role}
	case "alert", "status", "log":
		return &line{role: role, prune: digest}
	case "video", "audio":
		if has(n, "controls") || !digest {
			return &line{role: role}
		}
		return nil
	case "canvas":
		if width, ok := leadingInt(attr(n, "width")); !digest || !ok || width >= 100 {
			return &line{role: role}
		}
		return nil
	}
	if n.Data == "tbody" && !authorNamed(n) {
		return nil // the parser inserts it
	}
	if digest {
		if sorted(n, role) != "" {
			return &line{role: role}
		}
		if groups[role] && (authorNamed(n) || n.Data == "fieldset" || n.Data == "table" && captionOf(n) != nil) {
			return &line{role: role, prune: true}
		}
		if w.namedCell(n, role) || declaredRows(n, role) != "" {
			return &line{role: role, prune: true}
		}
		return nil
	}
	if phrases[role] && (f.code || inlined && inProse(n, f)) {
		return nil
	}
	return &line{role: role, prune: pruneIfEmpty[role] && n.FirstChild != nil}
}

// declaredRows returns the aria-rowcount of a table, "" for none. The document may have only
// some of the rows.
func declaredRows(n *html.Node, role string) string {
	if role != "grid" && role != "treegrid" && role != "table" {
		return ""
	}
	v := attr(n, "aria-rowcount")
	if v == "" || len(v) > 9 || v[0] == '0' || strings.Trim(v, "0123456789") != "" {
		return ""
	}
	return v
}

// sorted returns the aria-sort of n, a header of a table; "" for none.
func sorted(n *html.Node, role string) string {
	if role != "columnheader" && role != "rowheader" {
		return ""
	}
	switch v := strings.ToLower(attr(n, "aria-sort")); v {
	case "ascending", "descending", "other":
		return v
	}
	return ""
}

// namedCell reports whether a cell of a grid has a line of its own: its author named it, as
// the days of a calendar, or it can be focused, as cells that are edited in place.
func (w *walk) namedCell(n *html.Node, role string) bool {
	return role == "gridcell" && has(n, "role") &&
		(has(n, "aria-label") || has(n, "aria-labelledby") || has(n, "tabindex") && !w.operablesIn(n))
}

// isTrackingFrame reports whether a frame is as small as those that count visitors.
func isTrackingFrame(n *html.Node) bool {
	for _, a := range []string{"width", "height"} {
		if v, ok := lookup(n, a); ok && !strings.HasSuffix(v, "%") {
			if px, ok := leadingInt(v); ok && px < 8 && n.Data != "frame" {
				return true
			}
		}
	}
	return false
}

// isPicture reports whether the content of n is part of a picture. A whole page shows the
// labels of a drawing as text.
func (w *walk) isPicture(n *html.Node, role string) bool {
	return role == "img" && (w.o.InteractiveOnly || n.Data != "svg")
}

// show writes the line of n and prepares child for its content.
func (w *walk) show(n *html.Node, what *line, f, child *frame) {
	role, clicks := what.role, what.clicks
	child.depth = f.depth + 1
	child.shown = true
	if what.control && atoms[role] || clicks && role == "" {
		child.control = n
	}
	if w.resuming {
		if w.o.DedupeText && (fromContent[role] || clicks) {
			child.names = strings.ToLower(w.shownName(n, role, clicks))
		}
		if what.control && (!atoms[role] && isHost(n) || role == "textbox" || role == "searchbox") || w.isPicture(n, role) {
			child.nameShown = true
		}
		return
	}
	tooDeep := f.depth > w.o.MaxDepth
	if tooDeep && w.rest >= countDeep {
		w.least = true
		w.below++
		return
	}
	name := w.shownName(n, role, clicks)
	invisible := (what.control || clicks) && w.unseen(n) && w.replacementOf(n) == nil
	if (what.control && !isField(n) || clicks) && name == "" && invisible && w.o.InteractiveOnly {
		child.names = ""
		return // empty
	}
	if tooDeep {
		if what.prune && name == "" {
			w.reason("max_depth")
			w.rest++
			child.line, child.left = deepLine, w.below
			return
		}
		w.deep()
		return
	}
	l, chars := w.record(n, role, name, clicks, invisible, f.depth)
	if w.o.DedupeText && what.control {
		w.dropLabelText(name)
	}
	w.add(l, chars, !what.prune || name != "")
	if what.prune && name == "" {
		child.line, child.left = len(w.lines)-1, w.below
	}
	if what.control && role != "button" && !is(n, atom.Button) && isField(n) {
		return
	}
	if what.control && (isHost(n) || role == "textbox" || role == "searchbox") || w.isPicture(n, role) {
		child.nameShown = true
	}
	if w.o.DedupeText && name != "" && (fromContent[role] || clicks) {
		child.names = strings.ToLower(name)
		child.only = firstElement(n) == nil
	}
}

// dropLabelText removes a text line right before a control whose name has the same text.
func (w *walk) dropLabelText(name string) {
	i := len(w.lines) - 1
	if i < 0 || w.lines[i].Role != snapshot.RoleText || w.lines[i].Key.Node != 0 || w.lines[i].Name != name || w.folded[i] != 0 {
		return
	}
	w.chars -= w.sizes[i]
	w.shorten(i)
	for _, f := range w.stack {
		if k := len(f.kids) - 1; k >= 0 {
			f.kids[k].start = min(f.kids[k].start, i)
		}
	}
}

// record returns the line of n and the characters that it has.
func (w *walk) record(n *html.Node, role, name string, clicks, invisible bool, depth int) (l snapshot.Node, chars int) {
	l = w.node(n, role, name, clicks, invisible, w.o.Attrs, n == w.focused)
	l.Depth = depth
	short := func(s string) int { return min(length(s), w.o.MaxText) }
	chars = 2*depth + lineChars + length(l.Role) + short(name) + short(l.Value)
	for i, s := range l.States {
		chars += len(s) + min(i, 1)
	}
	for _, a := range l.Attrs {
		chars += 4 + short(a.Key) + short(a.Value)
	}
	return l, chars
}

// node returns the line of n, with the text of its row if it can be acted on.
func (k *resolver) node(n *html.Node, role, name string, clicks, invisible bool, attrs []string, focused bool) snapshot.Node {
	l := snapshot.Node{
		Key: k.d.Key(n), Role: shownRole(role), Name: name, Tag: strings.ToLower(n.Data), Attrs: k.attrs(n, role, name, attrs),
		States: k.states(n, role, focused, clicks, invisible), Ident: ident(n),
	}
	if slices.Contains(attrs, "value") {
		l.Value = k.value(n, role)
	}
	if clicks || controls[role] || isHost(n) {
		l.Context = k.context(n)
		l.Attrs = append(l.Attrs, appearance(n, name, clicks)...)
	}
	return l
}

// replacementOf returns what a person clicks in place of a checkbox, radio button, select
// or file input that is hidden: its label, or the styled element beside or around it. It
// returns nil if there is none, or if n is not such a control.
func (k *resolver) replacementOf(n *html.Node) *html.Node {
	switch {
	case is(n, atom.Select):
	case is(n, atom.Input) && (InputType(n) == "checkbox" || InputType(n) == "radio" || InputType(n) == "file"):
	default:
		return nil
	}
	for _, l := range k.d.Labels(n) {
		if k.visible(l) {
			return l
		}
	}
	for _, s := range []*html.Node{nextElement(n), previousElement(n)} {
		if s != nil && !isField(s) && s.Data != "label" && k.visible(s) {
			return s
		}
	}
	return nil
}

// replacesInput reports whether n is, or contains, an input in whose place another element
// is clicked. It checks only the first few inputs in n.
func (k *resolver) replacesInput(n *html.Node) bool {
	if is(n, atom.Input) {
		return k.replacementOf(n) != nil
	}
	for c, i, tried := after(n, n), 0, 0; c != nil && i < maxInside && tried < 20; c, i = after(c, n), i+1 {
		if !is(c, atom.Input) {
			continue
		}
		if k.replacementOf(c) != nil {
			return true
		}
		tried++
	}
	return false
}
