package form

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Attr returns an attribute of n in no namespace, and whether n has it.
func Attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Namespace == "" && a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func attr(n *html.Node, name string) string {
	v, _ := Attr(n, name)
	return v
}

func has(n *html.Node, name string) bool {
	_, ok := Attr(n, name)
	return ok
}

// Is reports whether n is an HTML element of one of the tags.
func Is(n *html.Node, tags ...string) bool {
	return n != nil && n.Type == html.ElementNode && n.Namespace == "" && slices.Contains(tags, n.Data)
}

// Closest returns n or its nearest ancestor of one of the tags, nil for none.
func Closest(n *html.Node, tags ...string) *html.Node {
	for ; n != nil; n = n.Parent {
		if Is(n, tags...) {
			return n
		}
	}
	return nil
}

// Elements calls f for each element below n in tree order, without those in templates, until
// f returns false.
func Elements(n *html.Node, f func(*html.Node) bool) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			continue
		}
		if !f(c) {
			return false
		}
		if !Is(c, "template") && !Elements(c, f) {
			return false
		}
	}
	return true
}

// Text returns the textContent of n.
func Text(n *html.Node) string {
	var b strings.Builder
	text(n, &b)
	return b.String()
}

func text(n *html.Node, b *strings.Builder) {
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if !Is(c, "script") {
			text(c, b)
		}
	}
}

// collapse strips and collapses ASCII white space (Infra).
func collapse(s string) string {
	return strings.Join(strings.FieldsFunc(s, isSpace), " ")
}

func isSpace(r rune) bool {
	return r == ' ' || r == '\t' || r == '\n' || r == '\f' || r == '\r'
}

func trim(s string) string { return strings.TrimFunc(s, isSpace) }
