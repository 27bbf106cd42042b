package form

import (
	"context"

	"golang.org/x/net/html"

	snaphtml "github.com/browserd/browserd/snapshot/html"
)

// listed are the listed elements (HTML 4.10.2).
var listed = []string{"button", "fieldset", "input", "object", "output", "select", "textarea"}

// index records the forms and listed elements of the document, and the form owner of each.
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

// adopted reports whether n belongs to a form between the rows of a table. The parser inserts
// such a form without content, and it becomes the owner of the controls that follow in the
// table (HTML 13.2.6.4.9, the form element pointer).
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

// Owner returns the form owner of n, nil for none.
func (c *Controls) Owner(n *html.Node) *html.Node { return c.owners[n] }

// ByID returns the first element with the id, nil for none.
func (c *Controls) ByID(id string) *html.Node { return c.ids[id] }

// of returns the listed elements of a form in tree order.
func (c *Controls) of(form *html.Node) []*html.Node {
	var list []*html.Node
	for _, n := range c.list {
		if c.owners[n] == form {
			list = append(list, n)
		}
	}
	return list
}

// Disabled reports whether a control is disabled: by its own attribute, or by a fieldset around
// it unless it is in that fieldset's first legend (HTML 4.10.19.5); an option also by its
// optgroup.
func Disabled(n *html.Node) bool { return snaphtml.Disabled(n) }

// Labelled returns the labeled control of a label (HTML 4.10.4): the one that its for names,
// else the first labelable element in it; nil for none.
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
