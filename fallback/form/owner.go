package form

import (
	"context"

	"golang.org/x/net/html"

	snaphtml "github.com/browserd/browserd/snapshot/html"
)

// listed are the elements that a form lists (HTML 4.10.2).
var listed = []string{"button", "fieldset", "input", "object", "output", "select", "textarea"}

// index looks through the document once: its forms, its listed elements, and
// which belongs to which.
func (c *Controls) index(ctx context.Context, root *html.Node) {
	c.ids = map[string]*html.Node{}
	c.owners = map[*html.Node]*html.Node{}
	var table *html.Node // a form that the parser closed at once, see adopted
	Elements(root, func(n *html.Node) bool {
		if id := attr(n, "id"); id != "" && c.ids[id] == nil {
			c.ids[id] = n
		}
		if Is(n, "form") {
			c.forms = append(c.forms, n)
			table = nil
			if n.FirstChild == nil && Is(n.Parent, "table", "thead", "tbody", "tfoot", "tr") {
				table = n
			}
		}
		if Is(n, listed...) {
			c.list = append(c.list, n)
			if f := Closest(n, "form"); f != nil {
				c.owners[n] = f
			} else if adopted(table, n) {
				c.owners[n] = table
			}
		}
		return ctx.Err() == nil
	})
	// form= names any form of the document, also one that comes later.
	for _, n := range c.list {
		if id, ok := Attr(n, "form"); ok {
			delete(c.owners, n)
			if f := c.ids[id]; Is(f, "form") {
				c.owners[n] = f
			}
		}
	}
}

// adopted says whether n belongs to a form that stands between the rows of a
// table: the parser puts it there empty, and gives it the controls that follow
// in the table (HTML 13.2.6.4.9, the form element pointer).
func adopted(form, n *html.Node) bool {
	if form == nil {
		return false
	}
	table := Closest(form, "table")
	for p := n.Parent; p != nil; p = p.Parent {
		if p == table {
			return true
		}
	}
	return false
}

// Owner is the form that n belongs to, nil where it belongs to none.
func (c *Controls) Owner(n *html.Node) *html.Node { return c.owners[n] }

// ByID is the first element with the id, nil where there is none.
func (c *Controls) ByID(id string) *html.Node { return c.ids[id] }

// of lists the listed elements of a form in tree order.
func (c *Controls) of(form *html.Node) []*html.Node {
	var list []*html.Node
	for _, n := range c.list {
		if c.owners[n] == form {
			list = append(list, n)
		}
	}
	return list
}

// Disabled says whether a control is disabled: by its own attribute or by a
// fieldset around it, unless it stands in that fieldset's first legend (HTML
// 4.10.19.5); an option also by its group.
func Disabled(n *html.Node) bool { return snaphtml.Disabled(n) }

// Labelled is the control that a label is for: the one that its for names, or
// the first labelable element in it (HTML 4.10.4); nil where there is none.
func (c *Controls) Labelled(label *html.Node) *html.Node {
	if id, ok := Attr(label, "for"); ok {
		if n := c.ids[id]; labelable(n) {
			return n
		}
		return nil
	}
	var found *html.Node
	Elements(label, func(n *html.Node) bool {
		if labelable(n) {
			found = n
		}
		return found == nil
	})
	return found
}

func labelable(n *html.Node) bool {
	return Is(n, "button", "meter", "output", "progress", "select", "textarea") || Is(n, "input") && Type(n) != "hidden"
}
