package static

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// cellRole returns the role of a part of a table.
func (k *look) cellRole(n *html.Node) string {
	t := closest(n, func(p *html.Node) bool {
		switch attr(p, "role") {
		case "table", "grid", "treegrid":
			return true
		}
		return is(p, atom.Table)
	})
	if t == nil || is(t, atom.Table) && k.layoutTable(t) {
		return ""
	}
	switch n.Data {
	case "tr":
		return "row"
	case "td":
		if r := attr(t, "role"); r == "grid" || r == "treegrid" {
			return "gridcell"
		}
		return "cell"
	case "th":
		return headerRole(n)
	}
	return "rowgroup"
}

// headerRole decides between column and row header as Blink does: by scope, else
// by the cells beside it.
func headerRole(th *html.Node) string {
	switch strings.ToLower(attr(th, "scope")) {
	case "row", "rowgroup":
		return "rowheader"
	case "col", "colgroup":
		return "columnheader"
	}
	next, before := nextElement(th), previousElement(th)
	if next != nil && next.Data == "th" || before != nil && before.Data == "th" {
		return "columnheader"
	}
	if next != nil && next.Data == "td" || before != nil && before.Data == "td" {
		return "rowheader"
	}
	return "columnheader"
}

// layoutTable tells whether a table only places things: it is one of data where
// it is marked up as such, or has two rows and two columns and no table within.
func (k *look) layoutTable(t *html.Node) bool {
	if has(t, "role") {
		if r := k.authorRole(t); r != "" && r != "none" {
			return false
		}
	}
	if v, ok := k.layouts[t]; ok {
		return v
	}
	v := !marksData(t) && !k.looksData(t)
	k.layouts[t] = v
	return v
}

func marksData(t *html.Node) bool {
	if authorNamed(t) || has(t, "summary") {
		return true
	}
	for c := firstElement(t); c != nil; c = nextElement(c) {
		var row *html.Node
		switch c.Data {
		case "caption", "thead", "tfoot", "colgroup":
			return true
		case "tbody":
			row = firstElement(c)
		case "tr":
			row = c
		}
		if row == nil {
			continue
		}
		for d := firstElement(row); d != nil; d = nextElement(d) {
			if d.Data == "th" {
				return true
			}
		}
	}
	return false
}

func (k *look) looksData(t *html.Node) bool {
	rows := 0
	for c := firstElement(t); c != nil && rows < 2; c = nextElement(c) {
		r := c
		if c.Data == "tbody" {
			r = firstElement(c)
		}
		for ; r != nil && rows < 2; r = nextElement(r) {
			if r.Data == "tr" {
				if cellCount(r, 2) < 2 {
					return false
				}
				rows++
			}
			if r == c {
				break
			}
		}
	}
	if rows < 2 {
		return false
	}
	for c := after(t, t); c != nil && k.steps < maxSteps; c = after(c, t) {
		k.steps++
		if is(c, atom.Table) {
			return false
		}
	}
	return true
}

func cellCount(row *html.Node, enough int) (n int) {
	for c := firstElement(row); c != nil && n < enough; c = nextElement(c) {
		if c.Data == "td" || c.Data == "th" {
			n++
		}
	}
	return n
}

// captionOf returns the caption of a table, nil for none.
func captionOf(t *html.Node) *html.Node {
	for c := firstElement(t); c != nil; c = nextElement(c) {
		if is(c, atom.Caption) {
			return c
		}
	}
	return nil
}
