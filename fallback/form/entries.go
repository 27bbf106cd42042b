package form

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/protocol"
)

// entry is one entry of an entry list: a value, or a file.
type entry struct {
	name, value string
	file        *protocol.File
}

// entries constructs the entry list of a form (HTML 4.10.22.4). submitter is nil for none.
// charset is the name of the encoding.
func (c *Controls) entries(form, submitter *html.Node, at Point, charset string) []entry {
	var list []entry
	add := func(name, value string) { list = append(list, entry{name: name, value: value}) }
	for _, n := range c.of(form) {
		if Disabled(n) { // and not those in a datalist: Chromium submits them, against the standard
			continue
		}
		kind, name := Type(n), attr(n, "name")
		if kind == "image" && n == submitter {
			prefix := ""
			if name != "" {
				prefix = name + "."
			}
			add(prefix+"x", fmt.Sprint(at.X))
			add(prefix+"y", fmt.Sprint(at.Y))
			continue
		}
		if name == "" || !sent(n, kind, submitter, c.checked[n]) {
			continue
		}
		switch {
		case kind == "select":
			for _, o := range Options(n) {
				if c.chosen[o] && !Disabled(o) {
					add(name, OptionValue(o))
				}
			}
		case kind == "checkbox" || kind == "radio":
			v, ok := Attr(n, "value")
			if !ok {
				v = "on"
			}
			add(name, v)
		case kind == "file":
			files := c.files[n]
			if len(files) == 0 {
				files = []protocol.File{{}}
			}
			for i := range files {
				list = append(list, entry{name: name, file: &files[i]})
			}
		case kind == "hidden" && strings.EqualFold(name, "_charset_"):
			add(name, charset)
		case IsText(n):
			add(name, wrapped(n, c.values[n]))
		case Is(n, "input") && kind == "submit" && !has(n, "value"):
			add(name, "Submit") // the button's own label: Chromium sends it
		default:
			add(name, attr(n, "value"))
		}
		// Chromium sends an entry without a name where the attribute is empty.
		if dirname, ok := Attr(n, "dirname"); ok && takesDirname(n, kind) {
			add(dirname, c.direction(n))
		}
	}
	return list
}

// sent reports whether a control with a name contributes an entry.
func sent(n *html.Node, kind string, submitter *html.Node, checked bool) bool {
	switch {
	case !Is(n, "button", "input", "select", "textarea"):
		return false // object, output and fieldset contribute nothing
	case kind == "checkbox" || kind == "radio":
		return checked
	case kind == "submit":
		return n == submitter
	case kind == "image" || kind == "button" || kind == "reset":
		return false
	}
	return true
}

// takesDirname returns the auto-directionality form-associated elements (HTML 3.2.6.4).
func takesDirname(n *html.Node, kind string) bool {
	if Is(n, "textarea") {
		return true
	}
	if !Is(n, "input") {
		return false
	}
	switch kind {
	case "hidden", "text", "search", "tel", "url", "email", "password", "submit", "reset", "button":
		return true
	}
	return false
}

// direction returns the directionality of a control: its own or an ancestor's dir, and with
// dir=auto that of the first strong character of its value.
func (c *Controls) direction(n *html.Node) string {
	for p := n; p != nil; p = p.Parent {
		switch strings.ToLower(attr(p, "dir")) {
		case "ltr":
			return "ltr"
		case "rtl":
			return "rtl"
		case "auto":
			s := Text(p)
			if p == n {
				if s = c.values[n]; s == "" {
					s = attr(n, "value")
				}
			}
			return strong(s)
		}
		if p == n && Type(n) == "tel" && Is(n, "input") {
			return "ltr"
		}
	}
	return "ltr"
}

func strong(s string) string {
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam, unicode.Samaritan, unicode.Mandaic):
			return "rtl"
		case unicode.IsLetter(r):
			return "ltr"
		}
	}
	return "ltr"
}
