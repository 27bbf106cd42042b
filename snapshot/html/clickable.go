package html

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var handlers = []string{"onclick", "ondblclick", "onmousedown", "onmouseup", "onpointerdown", "onpointerup", "ontouchstart"}

var lists = words("ul ol dl menu table thead tbody tfoot")

// listens reports whether the markup of n has an event handler for clicks. Listeners that a
// script would add do not exist here.
func listens(n *html.Node) bool {
	for i := range n.Attr {
		if a := n.Attr[i].Key; len(a) > 6 && a[0] == 'o' && a[1] == 'n' {
			for _, h := range handlers {
				if a == h {
					return true
				}
			}
		}
	}
	return false
}

var operableRoles = words("button link tab menuitem option checkbox switch radio")

// operableTag reports whether n is operable by its markup alone.
func operableTag(n *html.Node) bool {
	if isHTML(n) {
		switch n.DataAtom {
		case atom.A:
			if has(n, "href") {
				return true
			}
		case atom.Button, atom.Select, atom.Textarea, atom.Summary:
			return true
		case atom.Input:
			return InputType(n) != "hidden"
		}
	}
	for i := range n.Attr {
		switch a := &n.Attr[i]; a.Key {
		case "role":
			if operableRoles[a.Val] {
				return true
			}
		case "tabindex":
			if a.Val != "-1" {
				return true
			}
		case "onclick", "contenteditable":
			return true
		}
	}
	return false
}

func isField(n *html.Node) bool {
	switch n.Data {
	case "input", "select", "textarea", "button":
		return true
	}
	return false
}

// clickContext is what the ancestors of an element tell of whether it is clickable.
type clickContext struct {
	pointer bool       // the parent has the cursor of something to click
	control *html.Node // the nearest control around it, nil for none
}

func (k *resolver) clickContextOf(n *html.Node) clickContext {
	p := k.d.flat.parent(n)
	s := clickContext{}
	if p != nil {
		s.pointer = !lists[p.Data] && k.style(p).pointer
	}
	for ; p != nil; p = k.d.flat.parent(p) {
		if r := k.role(p); r != "heading" && atoms[r] {
			s.control = p
			break
		}
	}
	return s
}

// clickable reports whether n, which is not a control by its role, can be clicked: by its
// handlers, a cursor that begins at it, tabindex or draggable.
func (k *resolver) clickable(n *html.Node, f clickContext) bool {
	if is(n, atom.Body) || is(n, atom.Html) {
		return false
	}
	own := listens(n)
	if f.control != nil {
		linked := n.Data == "a" && k.style(n).pointer && !controls[k.role(f.control)]
		says := fold(k.someText(n, 200))
		return (own || linked) && says != fold(k.someText(f.control, 200)) && (says != "" || n.Data != "a")
	}
	begins := !f.pointer && k.style(n).pointer
	index, ok := tabIndex(n)
	tab := ok && index >= 0 && n.Namespace != "math"
	drag := attr(n, "draggable") == "true" && n.Data != "a"
	if is(n, atom.Label) && !own {
		if c := k.d.Control(n); c != nil {
			return !k.rendered(c)
		}
		if k.besideChoice(n) {
			return true
		}
	}
	if !own && !begins && !tab && !drag {
		return is(n, atom.Li) && k.listensForItems(k.d.flat.parent(n))
	}
	if begins && !own && lists[n.Data] {
		return false // its items are what is clicked
	}
	if own && !tab && k.listensForItems(n) {
		return false // or dragged
	}
	if !k.operablesIn(n) {
		return !own || begins || tab || !k.wide(n) && !k.listensFor(n)
	}
	if begins || drag {
		return !k.wide(n)
	}
	return own && !k.wide(n) && (seriesListens(n) && !k.aroundOne(n) || ownText(n))
}

// aroundOne reports whether n is around one control, which says all that n says: a click on
// it reaches the handler of n too.
func (k *resolver) aroundOne(n *html.Node) bool {
	var one *html.Node
	for c, i := after(n, n), 0; c != nil && i < maxInside; c, i = after(c, n), i+1 {
		k.steps++
		if !isElement(c) || !operableTag(c) && !listens(c) {
			continue
		}
		if one != nil {
			return false
		}
		one = c
	}
	return one != nil && k.rendered(one) && fold(k.someText(one, 200)) == fold(k.someText(n, 200))
}

// besideChoice reports whether the label n, which has no control, is right beside a checkbox or
// a radio button without a name: it is what is read in its place.
func (k *resolver) besideChoice(n *html.Node) bool {
	for _, e := range []*html.Node{previousElement(n), nextElement(n)} {
		if e != nil && is(e, atom.Input) && (InputType(e) == "checkbox" || InputType(e) == "radio") && !has(e, "aria-label") && len(k.d.Labels(e)) == 0 {
			return ownText(n)
		}
	}
	return false
}

// listensForItems reports whether n is a list whose handler is for its items: there are
// several, without controls in them.
func (k *resolver) listensForItems(n *html.Node) bool {
	if n == nil || !is(n, atom.Ul) && !is(n, atom.Ol) && !is(n, atom.Menu) || !listens(n) {
		return false
	}
	items := 0
	for c := n.FirstChild; c != nil && items < 2; c = c.NextSibling {
		if !isElement(c) {
			continue
		}
		if items++; items == 1 && (!is(c, atom.Li) || k.operablesIn(c) || listens(c)) {
			return false
		}
	}
	return items > 1
}

const maxInside = 5000 // nodes visited within one element

func (k *resolver) operablesIn(n *html.Node) bool {
	tried := 0
	for c, i := after(n, n), 0; c != nil && i < maxInside && tried < 20; c, i = after(c, n), i+1 {
		k.steps++
		if isElement(c) && (operableTag(c) || listens(c)) {
			tried++
			if k.rendered(c) || listens(c) {
				return true
			}
		}
	}
	return false
}

// listensFor reports whether the handler of n is for its descendants: the cursor of something
// to click, or a tabindex, begins at one of them.
func (k *resolver) listensFor(n *html.Node) bool {
	if k.style(n).pointer {
		return false
	}
	seen := 0
	for c := after(n, n); c != nil && seen < 60; c = after(c, n) {
		if !isElement(c) {
			continue
		}
		seen++
		if (has(c, "tabindex") || k.style(c).pointer) && k.rendered(c) {
			return true
		}
	}
	return false
}

// wide reports whether n has so much text that it probably fills half of the viewport.
func (k *resolver) wide(n *html.Node) bool { return length(k.someText(n, 1001)) > 1000 }

func seriesListens(n *html.Node) bool {
	class := attr(n, "class")
	if class == "" && isHTML(n) && n.DataAtom == atom.Div {
		return false
	}
	for _, s := range []*html.Node{nextElement(n), previousElement(n)} {
		if s != nil && listens(s) && s.Data == n.Data && attr(s, "class") == class {
			return true
		}
	}
	return false
}

func ownText(n *html.Node) bool {
	for c, i := n.FirstChild, 0; c != nil && i < 20; c, i = c.NextSibling, i+1 {
		if c.Type == html.TextNode && !blank(c.Data) {
			return true
		}
	}
	return false
}
