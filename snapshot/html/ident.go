package html

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var stableAttrs = strings.Fields("type name href for role placeholder alt action src data-testid data-test " +
	"data-id data-key data-value data-action value")

var generatedID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d|^:|--|__`) })

// ident returns a digest of the element's tag and its stable attributes, which survive a new
// rendering of the same element. The live page's script computes the same.
func ident(n *html.Node) string {
	h := fnv(0x811c9dc5, strings.ToLower(n.Data))
	if len(n.Attr) > 0 {
		if id := attr(n, "id"); id != "" && !generatedID().MatchString(id) { // others are generatedID by a machine
			h = fnv(h, "#"+id)
		}
		for _, a := range stableAttrs {
			v, ok := lookup(n, a)
			if !ok {
				continue
			}
			if a == "value" {
				switch attr(n, "type") {
				case "radio", "checkbox", "submit", "button":
				default:
					continue
				}
			}
			h = fnv(h, "\x00"+a+"="+units(v, 500))
		}
	}
	return strconv.FormatUint(uint64(h), 36)
}

// fnv is FNV-1a over UTF-16 code units.
func fnv(h uint32, s string) uint32 {
	for _, r := range s {
		if r > 0xFFFF {
			a, b := utf16.EncodeRune(r)
			h = (h ^ uint32(a)) * 0x01000193
			r = b
		}
		h = (h ^ uint32(r)) * 0x01000193
	}
	return h
}

var (
	rowTags    = words("li tr article dd dt option")
	rowRoles   = words("row listitem article option treeitem")
	noTextTags = words("script style template select textarea datalist svg iframe video audio canvas")
)

const contextMax = 120 // characters

// row is the list item, row or article around an element, or one of a series of similar
// siblings.
type row struct {
	node   *html.Node
	series bool
	text   string
}

// context returns the text of the row around n, "" for none.
func (k *textResolver) context(n *html.Node) string {
	r := k.rowOf(n)
	if r == nil {
		return ""
	}
	return k.rowText(r)
}

func (k *textResolver) rowOf(n *html.Node) *html.Node {
	for {
		p := k.d.flat.parent(n)
		if p == nil {
			return nil
		}
		r, ok := k.rows[p]
		if !ok {
			r = k.rowAround(p)
			k.rows[p] = r
		}
		if r == nil {
			return nil
		}
		if !r.series || r.text != units(fold(k.someText(n, contextMax)), contextMax) {
			return r.node
		}
		n = r.node
	}
}

// rowAround returns the row that is p or around it, nil for none.
func (k *textResolver) rowAround(p *html.Node) *row {
	var series *html.Node
	for up := 0; p != nil && up < 40; p, up = k.d.flat.parent(p), up+1 {
		if p.Data == "body" || p.Data == "html" {
			break
		}
		if rowTags[p.Data] || rowRoles[attr(p, "role")] {
			return &row{node: p}
		}
		if series == nil && inSeries(p) {
			series = p
		}
	}
	if series == nil {
		return nil
	}
	return &row{node: series, series: true, text: k.rowText(series)}
}

// inSeries reports whether the next or previous sibling of p has the same tag and classes.
func inSeries(p *html.Node) bool {
	class, ok := lookup(p, "class")
	for _, s := range []*html.Node{nextElement(p), previousElement(p)} {
		if s == nil || s.Data != p.Data {
			continue
		}
		if c, has := lookup(s, "class"); c == class && has == ok {
			return true
		}
	}
	return false
}

func (k *textResolver) rowText(r *html.Node) string {
	s, ok := k.rowTexts[r]
	if !ok {
		s = units(fold(k.someText(r, contextMax)), contextMax)
		k.rowTexts[r] = s
	}
	return s
}

// someText returns the text of n, at least max characters of it if n has that many. It visits
// no more nodes than needed, and ignores styles.
func (k *textResolver) someText(n *html.Node, max int) string { return k.textOf(n, max, false) }

// writtenText is someText without spaces between inline elements.
func (k *textResolver) writtenText(n *html.Node, max int) string { return k.textOf(n, max, true) }

func (k *textResolver) textOf(n *html.Node, max int, tight bool) string {
	if c := n.FirstChild; c != nil && c.Type == html.TextNode && c.NextSibling == nil {
		return units(c.Data, 2*max+200)
	}
	var b strings.Builder
	seen := 0
	k.gather(&b, n, max, tight, &seen)
	return b.String()
}

func (k *textResolver) gather(b *strings.Builder, n *html.Node, max int, tight bool, seen *int) {
	add := func(c *html.Node) bool {
		if *seen++; b.Len() >= max && length(b.String()) >= max || *seen > 400 {
			return false
		}
		apart := !tight || isElement(c) && (is(c, atom.Br) || !k.style(c).inlined())
		if apart {
			b.WriteByte(' ')
		}
		switch {
		case c.Type == html.TextNode && !blank(c.Data):
			b.WriteString(squeeze(units(c.Data, max+50)))
		case c.Type == html.TextNode && tight:
			b.WriteByte(' ')
		case isElement(c) && !noTextTags[c.Data]:
			k.gather(b, c, max, tight, seen)
		}
		if apart {
			b.WriteByte(' ')
		}
		return true
	}
	if list, ok := k.d.flat.children(n); ok {
		for _, c := range list {
			if !add(c) {
				return
			}
		}
		return
	}
	for c := n.FirstChild; c != nil && add(c); c = c.NextSibling {
	}
}

// squeeze replaces each run of white space by one space, at the ends too.
func squeeze(s string) string {
	if s == "" {
		return s
	}
	f := fold(s)
	first, last := rune(s[0]), s[len(s)-1]
	if isSpace(first) {
		f = " " + f
	}
	if asciiSpace(last) {
		f += " "
	}
	return f
}
