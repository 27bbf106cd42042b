package html

import (
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// finder finds elements by text, role and name.
type finder struct {
	*resolver
	text, name, role string
	label            string // of a field, whole
	whole            bool   // text and name are
	limit            int
	found            []*html.Node
	texts            map[*html.Node]string // what was found in them by its text
}

// finderOf returns the finder of a query that is no selector.
func finderOf(r *resolver, q protocol.Query) *finder {
	f := &finder{resolver: r, limit: q.Limit, texts: map[*html.Node]string{}}
	if l := q.Locator; l != nil {
		q.Text, q.Name, q.Role, f.label, f.whole = l.Text, l.Name, l.Role, labelWords(l.Label), true
	}
	f.text, f.name, f.role = strings.ToLower(fold(q.Text)), strings.ToLower(fold(q.Name)), strings.ToLower(q.Role)
	return f
}

// byItself reports whether an element is found by what it is, not by the text in it.
func (f *finder) byItself() bool { return f.role != "" || f.name != "" || f.label != "" }

// same reports whether what an element says is what was asked for.
func (f *finder) same(says, asked string) bool {
	if says = strings.ToLower(says); f.whole {
		return says == asked
	}
	return strings.Contains(says, asked)
}

// labelWords returns the words of a label without the marks that often end one: "Email: *".
func labelWords(s string) string {
	return strings.TrimRight(strings.ToLower(fold(s)), " :*\uff1a")
}

var fieldRoles = words("checkbox combobox listbox menuitemcheckbox menuitemradio radio searchbox slider spinbutton switch textbox")

// isField reports whether n is a field, which has a label.
func (f *finder) isField(n *html.Node) bool {
	if is(n, atom.Input) {
		switch InputType(n) {
		case "button", "hidden", "image", "reset", "submit":
			return false
		}
		return true
	}
	return is(n, atom.Select) || is(n, atom.Textarea) || fieldRoles[f.resolver.role(n)]
}

// selected returns the elements that the locator's css or testid selects. Those that are not
// rendered count only if q says so and there are no others. The error is invalid_params.
func (d *Document) selected(r *resolver, q protocol.Query) ([]*html.Node, error) {
	selector := q.Locator.CSS
	if selector == "" {
		selector = "[data-testid=" + snapshot.Quote(q.Locator.TestID) + "]"
	}
	s, err := parseScope(selector)
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "ref: %s is no CSS selector", snapshot.Quote(snapshot.Cut(selector, 80))).With("parameter", "ref")
	}
	all := cascadia.QueryAll(d.root, s)
	if q.Locator.TestID != "" {
		all = slices.DeleteFunc(all, func(n *html.Node) bool { return attr(n, "data-testid") != q.Locator.TestID })
	}
	if shown := slices.DeleteFunc(slices.Clone(all), func(n *html.Node) bool { return !r.rendered(n) }); len(shown) > 0 || !q.Unrendered {
		all = shown
	}
	return all[:min(len(all), q.Limit)], nil
}

var textlessTags = words("script style template head meta link title datalist canvas object embed param source track")

// visit returns the text of n, and whether something in n was found by its text.
func (f *finder) visit(n *html.Node) (says string, hit bool) {
	if n.Type == html.TextNode {
		return n.Data, false
	}
	if !isElement(n) || len(f.found) >= f.limit || isHTML(n) && textlessTags[n.Data] {
		return "", false
	}
	// An element that is visibility:hidden shows no text itself, but may have visible descendants.
	shown := f.rendered(n) || is(n, atom.Option) || is(n, atom.Optgroup)
	if !shown && (f.style(n).noBox || is(n, atom.Select)) {
		return "", false
	}
	place := len(f.found)
	mine := shown && f.byItself() && f.fits(n)
	if mine && f.text == "" {
		f.found = append(f.found, n)
	}
	if is(n, atom.Iframe) || is(n, atom.Textarea) {
		return "", false
	}
	var b strings.Builder
	list, ok := f.d.flat.children(n)
	if !ok {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			list = append(list, c)
		}
	}
	for _, c := range list {
		if f.over() {
			return "", false
		}
		if !shown && !isElement(c) {
			continue
		}
		s, h := f.visit(c)
		f.say(&b, s)
		hit = hit || h
	}
	says = b.String()
	if f.text != "" && shown {
		if is(n, atom.Input) {
			switch InputType(n) {
			case "button", "submit", "reset":
				says = attr(n, "value")
			}
		}
		// By text alone, the innermost element is found; with a role or a name, the
		// innermost that has them.
		if !hit && (mine || !f.byItself()) && f.same(fold(says), f.text) {
			is := n
			switch {
			case mine:
			case f.whole:
				is = f.labelled(n)
			default:
				is = f.controlOf(n)
			}
			if len(f.found) < f.limit && !slices.Contains(f.found, is) {
				f.found = slices.Insert(f.found, place, is)
				if !f.whole { // otherwise it is the text asked for
					f.texts[is] = units(fold(says), textMax)
				}
			}
			hit = true
		}
	}
	if !f.style(n).inlined() {
		says = " " + says + " "
	}
	return says, hit
}

// textMax is the longest text, in UTF-16 code units, that is returned as what was found.
const textMax = 300

// controlOf returns what is acted on where n, which shows a text, is meant: the field of its
// label, otherwise the nearest element around it that is shown as something to act on. It
// returns n if there is none.
func (f *finder) controlOf(n *html.Node) *html.Node {
	if c := f.labelled(n); c != n {
		return c
	}
	for p, up := n, 0; p != nil && up < 8 && !is(p, atom.Body); p, up = f.d.flat.parent(p), up+1 {
		if controls[f.resolver.role(p)] || isHost(p) || f.clickable(p, f.clickContextOf(p)) {
			return p
		}
	}
	return n
}

// lineOfFound is lineOf with the text that was found, where the name does not say it.
func (f *finder) lineOfFound(n *html.Node) snapshot.Node {
	l, text := f.lineOf(n, snapshot.DefaultOptions().Attrs), f.texts[n]
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(fold(s), " | ", " ")) }
	if !strings.Contains(plain(l.Name), plain(text)) {
		l.Says = text
	}
	return l
}

// labelled returns the field of the label that n is or is part of, which a snapshot shows by
// that name. It returns n if there is none, or if the label contains another control.
func (f *finder) labelled(n *html.Node) *html.Node {
	for p := n; p != nil; p = parent(p) {
		if is(p, atom.Label) {
			if c := f.d.Control(p); c != nil && f.rendered(c) {
				return c
			}
			return n
		}
		if controls[f.resolver.role(p)] {
			return n
		}
	}
	return n
}

// say collects text if the query has text.
func (f *finder) say(b *strings.Builder, s string) {
	if f.text != "" {
		b.WriteString(s)
	}
}

func (f *finder) fits(n *html.Node) bool {
	if f.label != "" {
		return f.isField(n) && labelWords(f.nameOf(n)) == f.label
	}
	if f.role != "" && shownRole(f.resolver.role(n)) != f.role {
		return false
	}
	return f.name == "" || f.same(f.nameOf(n), f.name)
}
