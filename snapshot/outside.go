package snapshot

import (
	"strings"
	"unicode/utf8"
)

// Window is the part of a page that a client is shown.
type Window struct {
	Scope, After string   // as in Options
	Refs         []string // of the lines, in their order
	Cut          bool     // the page goes on behind the last one
}

// Window returns the part of a page that s, made with o, shows; whole says that this
// is all of the page.
func (s Shown) Window(o Options) (w Window, whole bool) {
	w = Window{Scope: o.Scope, After: o.After, Refs: s.Refs(), Cut: s.open}
	return w, !w.Cut && w.Scope == "" && w.After == ""
}

// Outside is what a source has seen change outside of a window.
type Outside struct {
	Nodes []Node // what stands there now
	// Left is how many nodes of it are not among Nodes; Hidden how many changes have
	// nothing to show.
	Left, Hidden int
}

// How much of what changed outside of a window is shown.
const (
	maxOutsideNodes = 20
	maxOutsideChars = 1500
)

// OutsideOptions are the budgets for what changed outside of a window that was shown
// with o.
func OutsideOptions(o Options) Options {
	o.Scope, o.After, o.JSON = "", "", false
	o.MaxNodes, o.MaxChars = min(o.MaxNodes, maxOutsideNodes), maxOutsideChars
	return o
}

// Add appends to the delta d of the window in, which was shown with o, what changed
// outside of it: its lines, which are new to the client (+), and, where there is
// more, how to go on. What is hidden is told where there is nothing else to tell. A
// delta that o.MaxChars cut stays as it is: its [more] line says to look again.
func (d Delta) Add(out Outside, in Shown, o Options, refs *Refs) Delta {
	if d.cut {
		return d
	}
	_, all := Render(Capture{Nodes: out.Nodes, Rest: out.Left}, OutsideOptions(o), refs)
	lines := in.without(all.lines)
	left := out.Left + max(0, len(out.Nodes)-len(all.lines))
	if d.Text == "" && len(lines) == 0 && left == 0 {
		left = out.Hidden
	}
	r := rest{what: restOutside, count: left + len(lines)}
	if o.Scope == "" && o.After == "" {
		r.after = in.lastRef()
	}
	add := adding{text: d.Text, chars: d.Stats.Chars, room: o.MaxChars}
	told := 0
	for _, l := range lines {
		reserve := 0
		if left > 0 || told < len(lines)-1 {
			reserve = 1 + len(r.String())
		}
		if !add.line("+ "+l.text, reserve) {
			break
		}
		told++
		if l.ref != 0 {
			d.Stats.NodesEmitted++
		}
	}
	for _, l := range lines[told:] {
		if was, ok := all.was[l.ref]; ok {
			refs.restore(was)
		}
	}
	d.Changes += left + len(lines)
	if r.count = left + len(lines) - told; r.count > 0 {
		add.line(r.String(), 0)
	}
	d.Text, d.Stats.Chars = add.text, add.chars
	return d
}

// without returns the lines that s does not have: those of other refs, and texts that
// it does not show behind its last ref, where a source cannot tell what was shown.
func (s Shown) without(lines []shownLine) []shownLine {
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

func (s Shown) lastRef() int {
	for i := len(s.lines) - 1; i >= 0; i-- {
		if s.lines[i].ref != 0 {
			return s.lines[i].ref
		}
	}
	return 0
}

// adding is a text to which lines are added as long as there is room.
type adding struct {
	text        string
	chars, room int
}

// line adds a line where there is room for it and as much as is reserved behind it.
func (a *adding) line(text string, reserve int) bool {
	if a.text != "" {
		text = "\n" + text
	}
	chars := a.chars + utf8.RuneCountInString(text)
	if chars+reserve > a.room {
		return false
	}
	a.text, a.chars = a.text+text, chars
	return true
}
