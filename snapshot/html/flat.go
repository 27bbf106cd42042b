package html

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// flatTree is the flat tree (CSS Scoping 1, 2.2), where it differs from the document tree: the
// content of a declarative shadow root (<template shadowrootmode>) replaces the children of
// its host, which appear in its slots. It has each node at most once.
type flatTree struct {
	up    map[*html.Node]*html.Node   // the parent of each node
	lists map[*html.Node][]*html.Node // the children of hosts and of slots with assigned nodes
	roots map[*html.Node]*html.Node   // by host: the template that is its shadow root
}

func compose(root *html.Node) *flatTree {
	t := &flatTree{up: map[*html.Node]*html.Node{}, lists: map[*html.Node][]*html.Node{}, roots: map[*html.Node]*html.Node{}}
	for c := root.FirstChild; c != nil; c = c.NextSibling {
		t.visit(c)
	}
	return t
}

func (t *flatTree) visit(n *html.Node) {
	if !isElement(n) || is(n, atom.Template) {
		return
	}
	if root := declaredRoot(n); root != nil {
		t.attach(n, root)
	}
	list, ok := t.lists[n]
	if !ok {
		list = siblings(n.FirstChild)
	}
	for _, c := range list {
		if _, there := t.up[c]; !there {
			t.up[c] = n
			t.visit(c)
		}
	}
}

// attach assigns the children of host to the slots of its shadow root, the first of each name
// (DOM, 4.2.2.3).
func (t *flatTree) attach(host, root *html.Node) {
	t.roots[host] = root
	t.lists[host] = siblings(root.FirstChild)
	slots := map[string]*html.Node{}
	for c := root.FirstChild; c != nil; {
		if is(c, atom.Slot) && slots[attr(c, "name")] == nil {
			slots[attr(c, "name")] = c
		}
		if is(c, atom.Template) { // a scope of its own
			c = afterSubtree(c, root)
		} else {
			c = after(c, root)
		}
	}
	for c := host.FirstChild; c != nil; c = c.NextSibling {
		name := ""
		if isElement(c) {
			name = attr(c, "slot")
		}
		if slot := slots[name]; slot != nil && !is(c, atom.Template) {
			t.lists[slot] = append(t.lists[slot], c)
		}
	}
}

// declaredRoot returns the first template in n that declares n's shadow root.
func declaredRoot(n *html.Node) *html.Node {
	if is(n, atom.Slot) {
		return nil
	}
	for c := firstElement(n); c != nil; c = nextElement(c) {
		if is(c, atom.Template) && has(c, "shadowrootmode") {
			return c
		}
	}
	return nil
}

// hosts reports whether n has a shadow root.
func (t *flatTree) hosts(n *html.Node) bool { return t != nil && t.roots[n] != nil }

// children returns the children of n in the flat tree. ok is false if they are the same as in
// the document tree.
func (t *flatTree) children(n *html.Node) (list []*html.Node, ok bool) {
	if t == nil {
		return nil, false
	}
	list, ok = t.lists[n]
	return list, ok
}

// parent returns the parent of n in the flat tree, nil at the root and for an element that
// is not slotted.
func (t *flatTree) parent(n *html.Node) *html.Node {
	if t == nil {
		return parent(n)
	}
	return t.up[n]
}

// list returns the children of n in the flat tree.
func (t *flatTree) list(n *html.Node) []*html.Node {
	if list, ok := t.children(n); ok {
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
