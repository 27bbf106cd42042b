package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// cellRole returns the role of a part of a table.
func (k *roleResolver) cellRole(n *html.Node) string {
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

// headerRole returns columnheader or rowheader as Blink does: by scope, else by the cells
// beside it.
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

// layoutTable reports whether a table is only for layout, by the rules of Blink
// (AXNodeObject::IsDataTable) that need no boxes: a data table is marked up as one, has
// cells with borders, or twenty rows.
func (k *roleResolver) layoutTable(t *html.Node) bool {
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

const dataRows = 20

func (k *roleResolver) looksData(t *html.Node) bool {
	rows, cells := 0, 0
	ruled := has(t, "rules") || attr(t, "border") != "0" && has(t, "border")
	for c := firstElement(t); c != nil; c = nextElement(c) {
		r := c
		if c.Data == "tbody" {
			r = firstElement(c)
		}
		for ; r != nil; r = nextElement(r) {
			if r.Data == "tr" {
				rows++
				for d := firstElement(r); d != nil; d = nextElement(d) {
					cells++
					if has(d, "headers") || has(d, "abbr") || has(d, "axis") || has(d, "scope") {
						return true
					}
				}
			}
			if r == c {
				break
			}
			if rows >= dataRows {
				return true
			}
		}
	}
	return rows >= dataRows || ruled && cells > 1
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
