package snapshot

// Departed are the nodes of one document that left it after the capture before.
type Departed struct {
	Doc   int
	Nodes []int // their numbers, as in Key.Node
	Last  int   // the highest number that the capture before has given out in that document
}

// likeness is what a re-created element has in common with the one before.
type likeness struct {
	doc                             int
	role, name, tag, ident, context string
}

// RebindRedrawn gives the nodes that the page has re-created the refs of those in whose place
// they came (PROTOCOL.md section 4), so that a delta says nothing of them. was is what the
// client has, c is the capture to be rendered next, and both are of the whole page.
//
// A ref passes on where its element has left the document, the new one came after the
// last capture, and each is the only one with its role, name, tag, stable attributes and
// context, then and now, below the same element. What has neither a name nor a context
// passes its ref on only if it is a part of the page's structure.
func (r *Refs) RebindRedrawn(c *Capture, was Baseline) {
	if len(c.Departed) == 0 || !was.whole() || !c.whole() {
		return
	}
	last, left := map[int]int{}, map[Key]bool{}
	for _, d := range c.Departed {
		last[d.Doc] = d.Last
		for _, n := range d.Nodes {
			left[Key{d.Doc, n}] = true
		}
	}
	before, any := r.departedLines(was, left)
	if !any {
		return
	}
	now := map[likeness]int{}
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Key != (Key{}) {
			now[likenessOf(n)]++
		}
	}
	var above []lineAbove
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if kindOf(n) != elementLine {
			continue
		}
		for len(above) > 0 && above[len(above)-1].depth >= n.Depth {
			above = above[:len(above)-1]
		}
		parent := 0
		if len(above) > 0 {
			parent = above[len(above)-1].ref
		}
		ref, known := r.Seen(n.Key)
		if !known {
			ref = -1 // a new one: nothing in it is below what was there before
			like := likenessOf(n)
			old, ok := before[like]
			if ok && old.count == 1 && now[like] == 1 && old.parent == parent && left[old.entry.Key] && n.Key.Node > last[n.Key.Doc] && recognisable(n) {
				r.rebind(old.entry, n.Key)
				ref = old.entry.N
			}
		}
		if n.Role != "generic" || n.Name != "" {
			above = append(above, lineAbove{ref, n.Depth})
		}
	}
}

// lineAbove is a line that others stand below: its ref, -1 for a new one.
type lineAbove struct{ ref, depth int }

// shownBefore is a line that the client has.
type shownBefore struct {
	entry  *entry
	parent int // the ref of the line above it in the tree, 0 for none
	count  int // lines like it
}

// departedLines returns the lines that the client has by what they are like, and whether
// the element of any of them has left.
func (r *Refs) departedLines(was Baseline, left map[Key]bool) (lines map[likeness]shownBefore, any bool) {
	for _, l := range was.lines {
		if e := r.entries[l.ref]; e != nil && left[e.Key] {
			any = true
			break
		}
	}
	if !any {
		return nil, false
	}
	lines = make(map[likeness]shownBefore, len(was.lines))
	var above []lineAbove
	for _, l := range was.lines {
		e := r.entries[l.ref]
		if l.ref == 0 || e == nil || e.gone || e.moved != 0 {
			continue
		}
		depth := l.depth()
		for len(above) > 0 && above[len(above)-1].depth >= depth {
			above = above[:len(above)-1]
		}
		like := likeness{e.Key.Doc, e.Role, e.Name, e.Tag, e.Ident, e.Context}
		b := shownBefore{entry: e, count: lines[like].count + 1}
		if len(above) > 0 {
			b.parent = above[len(above)-1].ref
		}
		lines[like] = b
		if e.Role != "generic" || e.Name != "" {
			above = append(above, lineAbove{l.ref, depth})
		}
	}
	return lines, true
}

func likenessOf(n *Node) likeness {
	return likeness{n.Key.Doc, n.Role, n.Name, n.Tag, n.Ident, n.Context}
}

// recognisable reports whether n may be told from others by what it is like.
func recognisable(n *Node) bool {
	if n.Name != "" || n.Context != "" {
		return true
	}
	switch n.Role {
	case "main", "navigation", "banner", "contentinfo", "complementary", "search", "form", "region",
		"list", "table", "grid", "tree", "tablist", "toolbar", "menubar", "status", "alert", "log":
		return true
	}
	return false
}

// rebind makes e's ref mean the node to, which has none.
func (r *Refs) rebind(e *entry, to Key) {
	d := r.docs[e.Key.Doc]
	delete(d.byNode, e.Key.Node)
	e.Key = to
	d.byNode[to.Node] = e
}

// whole reports whether the client has all lines of the page.
func (s Baseline) whole() bool {
	return !s.open && !s.part && !s.reasons.has(reasonDepth)
}

// whole reports whether c has all lines of the page.
func (c *Capture) whole() bool {
	if c.Rest > 0 || reasonsOf(c.Reasons...)&reasonsOf(reasonNodes, reasonChars, reasonDepth) != 0 {
		return false
	}
	for i := range c.Nodes {
		if c.Nodes[i].More > 0 {
			return false
		}
	}
	return true
}
