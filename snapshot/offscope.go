package snapshot

import "unicode/utf8"

// Window is the part of a page that a snapshot shows.
type Window struct {
	Scope, After string   // as in Options
	Refs         []string // of the lines, in their order
	Cut          bool     // the page continues after the last line
	Folds        bool     // like siblings are left out between the lines
}

// Window returns the part of a page that s, rendered with o, shows, and whether
// that is the whole page.
func (s Baseline) Window(o Options) (w Window, whole bool) {
	w = Window{Scope: o.Scope, After: o.After, Refs: s.Refs(), Cut: s.open, Folds: s.folds}
	return w, !w.Cut && !w.Folds && w.Scope == "" && w.After == ""
}

// OffScope is what a source has seen change outside of a window.
type OffScope struct {
	Nodes  []Node // as they are now
	Left   int    // changed nodes that are not among Nodes
	Hidden int    // changes that no line shows
}

// The budgets of a delta's off-scope part.
const (
	maxOffScopeNodes = 20
	maxOffScopeChars = 1500
)

// OffScopeOptions returns the options to capture and render off-scope changes with,
// beside a snapshot that was rendered with o.
func OffScopeOptions(o Options) Options {
	o.Scope, o.After, o.JSON = "", "", false
	o.MaxNodes, o.MaxChars = min(o.MaxNodes, maxOffScopeNodes), maxOffScopeChars
	return o
}

// Add returns d with what changed off-scope, in lines that are not part of the client's
// text (*): the lines that it does not have, and, where there is more, a [more] line that
// says how to continue. in is the Baseline that d is a delta to, rendered with o. Hidden
// changes are reported only if there is nothing else to report.
func (d Delta) Add(out OffScope, in Baseline, o Options, refs *Refs) Delta {
	_, all := Render(Capture{Nodes: out.Nodes, Rest: out.Left}, OffScopeOptions(o), refs)
	lines := in.without(all.lines)
	left := out.Left + max(0, len(out.Nodes)-len(all.lines))
	if d.Text == "" && len(lines) == 0 && left == 0 {
		left = out.Hidden
	}
	r := rest{what: restOffScope, count: left + len(lines)}
	if o.Scope == "" && o.After == "" {
		if r.after = in.lastRef(); in.folds {
			r.after = in.fold
		}
	}
	text := appender{text: d.Text, chars: d.Stats.Chars, maxChars: o.MaxChars}
	added := 0
	for _, l := range lines {
		reserve := 0
		if left > 0 || added < len(lines)-1 {
			reserve = 3 + len(r.String())
		}
		if !text.line("* "+l.text, reserve) {
			break
		}
		added++
		if l.ref != 0 {
			d.Stats.NodesEmitted++
		}
	}
	for _, l := range lines[added:] {
		if was, ok := all.was[l.ref]; ok {
			refs.restore(was)
		}
	}
	d.Changes += left + len(lines)
	if r.count = left + len(lines) - added; r.count > 0 {
		text.line("* "+r.String(), 0)
	}
	d.Text, d.Stats.Chars = text.text, text.chars
	return d
}

// appender appends lines to a text of at most maxChars characters.
type appender struct {
	text            string
	chars, maxChars int
}

// line appends a line if it fits and leaves at least reserve characters, and reports
// whether it did.
func (a *appender) line(text string, reserve int) bool {
	if a.text != "" {
		text = "\n" + text
	}
	chars := a.chars + utf8.RuneCountInString(text)
	if chars+reserve > a.maxChars {
		return false
	}
	a.text, a.chars = a.text+text, chars
	return true
}
