package html

import (
	"encoding/json"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Text returns the visible text of n, an element or the document node, in lines as innerText
// (HTML, 3.2.7), secrets masked.
func (d *Document) Text(n *html.Node, v Values) string {
	k := d.resolver(v)
	if isHTML(n) && (n.Data == "input" || n.Data == "textarea" || n.Data == "select") {
		return k.value(n, k.role(n))
	}
	o := &textWriter{}
	k.read(o, n, false)
	return strings.TrimRight(o.b.String(), " \t\n")
}

// Attributes returns n's attributes as a JSON object, secrets masked.
func (d *Document) Attributes(n *html.Node) string {
	all := map[string]string{}
	for _, a := range n.Attr {
		key := a.Key
		if a.Namespace != "" {
			key = a.Namespace + ":" + key
		}
		if a.Key == "value" {
			a.Val = mask(d, n, a.Val)
		}
		all[key] = a.Val
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// HTML returns n's markup, secrets masked.
func (d *Document) HTML(n *html.Node) string {
	defer maskTree(d, n)()
	var b strings.Builder
	if err := html.Render(&b, n); err != nil {
		return ""
	}
	return b.String()
}

// maskTree masks the secrets in n's tree. The caller calls undo before anything else.
func maskTree(d *Document, n *html.Node) (undo func()) {
	type was struct {
		attr *html.Attribute
		text *html.Node
		old  string
	}
	var all []was
	for e := n; e != nil; e = after(e, n) {
		if !isElement(e) || !d.Secret(e) {
			continue
		}
		for i := range e.Attr {
			if a := &e.Attr[i]; a.Key == "value" && a.Val != "" {
				all = append(all, was{attr: a, old: a.Val})
				a.Val = Mask
			}
		}
		if c := e.FirstChild; is(e, atom.Textarea) && c != nil {
			all = append(all, was{text: c, old: c.Data})
			c.Data = Mask
		}
	}
	return func() {
		for _, w := range all {
			if w.attr != nil {
				w.attr.Val = w.old
			} else {
				w.text.Data = w.old
			}
		}
	}
}

// textWriter collects text. Like innerText it writes, between two texts, the largest number
// of line breaks asked for.
type textWriter struct {
	b      strings.Builder
	breaks int
	space  bool
}

func (o *textWriter) add(s string) {
	if s == "" {
		return
	}
	if o.b.Len() > 0 {
		if o.breaks > 0 {
			o.b.WriteString(strings.Repeat("\n", o.breaks))
		} else if o.space {
			o.b.WriteByte(' ')
		}
	}
	o.breaks, o.space = 0, false
	o.b.WriteString(s)
}

func (o *textWriter) br(n int) { o.breaks = max(o.breaks, n) }

var gapTags = words("p h1 h2 h3 h4 h5 h6 pre blockquote ul ol table")

func (k *resolver) read(o *textWriter, n *html.Node, pre bool) {
	if n.Type == html.TextNode {
		s := n.Data
		if p := parent(n); p != nil && !blank(s) && k.style(p).textUnseen() {
			s = " "
		}
		switch {
		case pre:
			o.add(s)
		case blank(s):
			o.space = true
		default:
			first := rune(s[0])
			o.space = o.space || isSpace(first)
			o.add(fold(s))
			o.space = asciiSpace(s[len(s)-1])
		}
		return
	}
	if n.Type == html.DocumentNode {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			k.read(o, c, pre)
		}
		return
	}
	if !isElement(n) || isHTML(n) && textlessTags[n.Data] {
		return
	}
	s := k.style(n)
	if s.noBox || s.transparent {
		return
	}
	if s.hidden { // its descendants may be visible
		for _, c := range k.d.flat.list(n) {
			if isElement(c) {
				k.read(o, c, pre)
			}
		}
		return
	}
	switch {
	case is(n, atom.Br):
		o.br(min(2, o.breaks+1))
		return
	case is(n, atom.Select):
		o.add(k.value(n, "combobox"))
		return
	case is(n, atom.Input), is(n, atom.Textarea), is(n, atom.Img), is(n, atom.Iframe), is(n, atom.Video), is(n, atom.Audio):
		return
	}
	gap := 1
	if gapTags[n.Data] {
		gap = 2
	}
	if s.display == tableCell && previousElement(n) != nil {
		o.add("\t")
	}
	if s.display == block {
		o.br(gap)
	}
	for _, c := range k.d.flat.list(n) {
		k.read(o, c, pre || n.Data == "pre")
	}
	if s.display == block {
		o.br(gap)
	}
}
