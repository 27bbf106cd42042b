package html

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const nameMax = 2000 // UTF-16 code units of a name, as in the live page's script

func words(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

func lookup(n *html.Node, key string) (string, bool) {
	for i := range n.Attr {
		if a := &n.Attr[i]; a.Key == key && a.Namespace == "" {
			return a.Val, true
		}
	}
	return "", false
}

func attr(n *html.Node, key string) string { v, _ := lookup(n, key); return v }
func has(n *html.Node, key string) bool    { _, ok := lookup(n, key); return ok }

func isHTML(n *html.Node) bool    { return n.Namespace == "" }
func isElement(n *html.Node) bool { return n.Type == html.ElementNode }

// is reports whether n is the HTML element with that tag.
func is(n *html.Node, a atom.Atom) bool {
	return n.Type == html.ElementNode && n.DataAtom == a && n.Namespace == ""
}

// parent returns the parent element of n, nil at the root.
func parent(n *html.Node) *html.Node {
	if p := n.Parent; p != nil && p.Type == html.ElementNode {
		return p
	}
	return nil
}

func firstElement(n *html.Node) *html.Node {
	c := n.FirstChild
	for c != nil && c.Type != html.ElementNode {
		c = c.NextSibling
	}
	return c
}

func nextElement(n *html.Node) *html.Node {
	c := n.NextSibling
	for c != nil && c.Type != html.ElementNode {
		c = c.NextSibling
	}
	return c
}

func previousElement(n *html.Node) *html.Node {
	c := n.PrevSibling
	for c != nil && c.Type != html.ElementNode {
		c = c.PrevSibling
	}
	return c
}

// closest returns n or its nearest ancestor that fits, nil for none.
func closest(n *html.Node, fits func(*html.Node) bool) *html.Node {
	for ; n != nil; n = parent(n) {
		if fits(n) {
			return n
		}
	}
	return nil
}

func contains(outer, n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == outer {
			return true
		}
	}
	return false
}

// textContent returns the text of n, about max bytes at most.
func textContent(n *html.Node, max int) string {
	if c := n.FirstChild; c != nil && c.Type == html.TextNode && c.NextSibling == nil {
		return head(c.Data, max)
	}
	var b strings.Builder
	for c := after(n, n); c != nil && b.Len() < max; c = after(c, n) {
		if c.Type == html.TextNode {
			b.WriteString(head(c.Data, max))
		}
	}
	return b.String()
}

// head returns at most max bytes of s, cut between two characters.
func head(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// cutName cuts a name at nameMax.
func cutName(s string) string {
	if len(s) <= nameMax {
		return s
	}
	return units(s, nameMax)
}

// units returns at most max UTF-16 code units of s, cut between two characters. The live
// page's script counts them too.
func units(s string, max int) string {
	n := 0
	for i, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
		if n > max {
			return s[:i]
		}
	}
	return s
}

// length counts s in UTF-16 code units.
func length(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}

// isSpace reports whether ECMAScript's \s matches r.
func isSpace(r rune) bool {
	switch {
	case r <= ' ':
		return r == ' ' || '\t' <= r && r <= '\r'
	case r < 0x1680:
		return r == 0xA0
	}
	return r == 0x1680 || 0x2000 <= r && r <= 0x200A || r == 0x2028 || r == 0x2029 || r == 0x202F || r == 0x205F || r == 0x3000 || r == 0xFEFF
}

func trim(s string) string { return strings.TrimFunc(s, isSpace) }

func blank(s string) bool {
	for _, r := range s {
		if !isSpace(r) {
			return false
		}
	}
	return true
}

// glyph reports whether r has a meaning only in a font (Unicode's private use areas), as the
// pictures of icon fonts.
func glyph(r rune) bool {
	return r >= 0xE000 && r <= 0xF8FF || r >= 0xF0000 && r <= 0x10FFFD
}

// withoutGlyphs returns s, whose white space is folded, without the glyphs of icon fonts.
func withoutGlyphs(s string) string {
	if strings.IndexFunc(s, glyph) < 0 {
		return s
	}
	return fold(strings.Map(func(r rune) rune {
		if glyph(r) {
			return -1
		}
		return r
	}, s))
}

// fold folds white space as HTML shows it; a no-break space counts as one.
func fold(s string) string {
	s = trim(s)
	if folded(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		if isSpace(r) {
			space = true
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

func folded(s string) bool {
	space := false
	for _, r := range s {
		if isSpace(r) {
			if space || r != ' ' {
				return false
			}
			space = true
		} else {
			space = false
		}
	}
	return true
}
