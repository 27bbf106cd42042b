package static

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The flat tree (CSS Scoping): what a declared shadow root (<template
// shadowrootmode>) shows stands in the place of its host's children, and these
// where its slots are.

// shadowOf returns the template that is n's shadow root, nil for none.
func (d *Document) shadowOf(n *html.Node) *html.Node {
	if !d.shadows {
		return nil
	}
	for c := firstElement(n); c != nil; c = nextElement(c) {
		if is(c, atom.Template) && has(c, "shadowrootmode") {
			return c
		}
	}
	return nil
}

// children returns the children of n as they are laid out where they are not
// simply its own; ok is false where they are.
func (d *Document) children(n *html.Node) (list []*html.Node, ok bool) {
	if !d.shadows {
		return nil, false
	}
	if root := d.shadowOf(n); root != nil {
		return siblings(root.FirstChild), true
	}
	if is(n, atom.Slot) {
		if host := d.hostOf(n); host != nil {
			for _, c := range siblings(host.FirstChild) {
				if d.slotName(c) == attr(n, "name") && !(is(c, atom.Template) && has(c, "shadowrootmode")) {
					list = append(list, c)
				}
			}
			return list, len(list) > 0
		}
	}
	return nil, false
}

func (d *Document) slotName(n *html.Node) string {
	if isElement(n) {
		return attr(n, "slot")
	}
	return ""
}

// hostOf returns the host of the shadow tree that n stands in.
func (d *Document) hostOf(n *html.Node) *html.Node {
	for p := n.Parent; p != nil; p = p.Parent {
		if is(p, atom.Template) && has(p, "shadowrootmode") {
			return parent(p)
		}
	}
	return nil
}

// around returns the element around n as it is laid out, nil at the root.
func (d *Document) around(n *html.Node) *html.Node {
	p := parent(n)
	if p == nil || !d.shadows {
		return p
	}
	if is(p, atom.Template) && has(p, "shadowrootmode") {
		return parent(p)
	}
	if root := d.shadowOf(p); root != nil {
		for c := after(root, root); c != nil; c = after(c, root) {
			if is(c, atom.Slot) && attr(c, "name") == d.slotName(n) {
				return c
			}
		}
		return nil
	}
	return p
}

// flat returns the children of n as they are laid out.
func (d *Document) flat(n *html.Node) []*html.Node {
	if list, ok := d.children(n); ok {
		return list
	}
	return siblings(n.FirstChild)
}

func siblings(n *html.Node) (list []*html.Node) {
	for ; n != nil; n = n.NextSibling {
		list = append(list, n)
	}
	return list
}
