package html

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// finder looks for what shows a text, or has a role and a name.
type finder struct {
	*resolver
	text, name, role string
	limit            int
	found            []*html.Node
}

var unread = words("script style template head meta link title datalist canvas object embed param source track")

// visit returns what n says, and whether something in it was found by its text.
func (f *finder) visit(n *html.Node) (says string, hit bool) {
	if n.Type == html.TextNode {
		return n.Data, false
	}
	if !isElement(n) || len(f.found) >= f.limit || isHTML(n) && unread[n.Data] {
		return "", false
	}
	// What is visibility:hidden says nothing itself, and may hold what is visible.
	shown := f.rendered(n) || is(n, atom.Option) || is(n, atom.Optgroup)
	if !shown && (f.style(n).noBox || is(n, atom.Select)) {
		return "", false
	}
	place := len(f.found)
	mine := shown && (f.role != "" || f.name != "") && f.fits(n)
	if mine && f.text == "" {
		f.found = append(f.found, n)
	}
	if is(n, atom.Iframe) || is(n, atom.Textarea) {
		return "", false
	}
	var b strings.Builder
	list, ok := f.d.children(n)
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
		// By text alone the innermost element is meant; with a role or a name the
		// innermost that has them.
		if !hit && (mine || f.role == "" && f.name == "") && strings.Contains(strings.ToLower(fold(says)), f.text) {
			is := n
			if !mine {
				is = f.labelled(n)
			}
			if len(f.found) < f.limit && !slices.Contains(f.found, is) {
				f.found = slices.Insert(f.found, place, is)
			}
			hit = true
		}
	}
	if !f.style(n).inlined() {
		says = " " + says + " "
	}
	return says, hit
}

// labelled is the field whose label n is, or is part of, as a snapshot shows it by
// that name; n where it is none's, or another control's in the label.
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

// say gathers text only where it is asked for.
func (f *finder) say(b *strings.Builder, s string) {
	if f.text != "" {
		b.WriteString(s)
	}
}

func (f *finder) fits(n *html.Node) bool {
	r := f.resolver.role(n)
	if r == "" {
		r = "generic"
	}
	if f.role != "" && r != f.role {
		return false
	}
	return f.name == "" || strings.Contains(strings.ToLower(f.nameOf(n)), f.name)
}
