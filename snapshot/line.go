package snapshot

import (
	"slices"
	"strconv"
)

// maxIndent is the largest indentation. Deeper nodes are written at this depth.
const maxIndent = 512

type lineKind int

const (
	noLine lineKind = iota
	elementLine
	textLine
	moreLine
	toolsLine
)

// kindOf returns how a node is written. An element without a key cannot have a ref:
// its name is written as text. An empty text is not written.
func kindOf(n *Node) lineKind {
	switch {
	case n.More > 0:
		return moreLine
	case n.Role == roleTools && n.Key == Key{}:
		return toolsLine
	case n.Role != RoleText && n.Key != Key{}:
		return elementLine
	case n.Name != "":
		return textLine
	}
	return noLine
}

// line is one node as it is written: words checked, strings cut, attributes in the
// order of the grammar. A writer fills one line again for each node, so that a
// snapshot of many lines allocates little.
type line struct {
	kind   lineKind
	depth  int
	ref    int
	role   string
	name   string
	value  string
	quoted []Attr
	states []string
	bare   []Attr
	more   int
	run    bool // of like siblings, of which name and last are the first and the last one,
	least  bool // of which there are more,
	last   string
	after  int // and which come after this ref, 0 for none
	cuts   int // strings that were cut
}

// fill sets l to n, with strings of at most maxText characters.
func (l *line) fill(n *Node, ref, maxText int) {
	*l = line{kind: kindOf(n), depth: min(max(n.Depth, 0), maxIndent), ref: ref, more: n.More,
		quoted: l.quoted[:0], states: l.states[:0], bare: l.bare[:0]}
	if l.kind == toolsLine {
		l.name = n.Name // it has limits of its own
		return
	}
	if n.More > 0 && n.Role == RoleSiblings {
		l.run, l.least = true, n.AtLeast
		l.name, l.last = Cut(n.Name, maxFoldName), Cut(n.Value, maxFoldName)
		return
	}
	l.name = l.cut(n.Name, maxText)
	if l.kind != elementLine {
		return
	}
	l.role = roleWord(n.Role)
	value := n.Value
	for i, a := range n.Attrs {
		switch {
		case !IsWord(a.Key) || slices.ContainsFunc(n.Attrs[:i], func(b Attr) bool { return b.Key == a.Key }):
		case a.Key == "value":
			if value == "" {
				value = a.Value
			}
		case a.Bare && isBare(a.Value):
			l.bare = append(l.bare, a)
		default:
			l.quoted = append(l.quoted, Attr{Key: a.Key, Value: l.cut(a.Value, maxText)})
		}
	}
	for i, s := range n.States {
		if IsWord(s) && !slices.Contains(n.States[:i], s) {
			l.states = append(l.states, s)
		}
	}
	l.value = l.cut(value, maxText)
}

func (l *line) cut(s string, maxText int) string {
	s, was := cut(s, maxText)
	if was {
		l.cuts++
	}
	return s
}

// roleWord returns role if it may be written bare, else generic.
func roleWord(role string) string {
	if IsWord(role) {
		return role
	}
	return "generic"
}

// append appends the text of the line to dst.
func (l *line) append(dst []byte) []byte {
	for range l.depth {
		dst = append(dst, ' ', ' ')
	}
	switch l.kind {
	case textLine:
		dst = append(dst, "text "...)
		return appendQuoted(dst, l.name)
	case toolsLine:
		return append(append(dst, "[tools] "...), l.name...)
	case moreLine:
		return l.appendMore(append(dst, moreStart...))
	}
	dst = append(dst, "@e"...)
	dst = strconv.AppendInt(dst, int64(l.ref), 10)
	dst = append(dst, " ["...)
	dst = append(dst, l.role...)
	for _, a := range l.quoted {
		dst = appendKey(dst, a.Key)
		dst = appendQuoted(dst, a.Value)
	}
	for _, s := range l.states {
		dst = append(dst, ' ')
		dst = append(dst, s...)
	}
	for _, a := range l.bare {
		dst = appendKey(dst, a.Key)
		dst = append(dst, a.Value...)
	}
	if l.value != "" {
		dst = appendKey(dst, "value")
		dst = appendQuoted(dst, l.value)
	}
	dst = append(dst, ']')
	if l.name != "" {
		dst = append(dst, ' ')
		dst = appendQuoted(dst, l.name)
	}
	return dst
}

// maxFoldName is how many characters of a name stand in the line of like siblings. Page
// script and parser reckon with it.
const maxFoldName = 80

// appendMore appends the text of a [more] line behind its first word.
func (l *line) appendMore(dst []byte) []byte {
	if l.least {
		dst = append(dst, moreLeast...)
	}
	dst = strconv.AppendInt(dst, int64(l.more), 10)
	if !l.run {
		dst = append(dst, moreFolded...)
		if l.name != "" {
			dst = appendQuoted(append(dst, ": "...), l.name)
		}
		return dst
	}
	dst = append(dst, moreSiblings...)
	if l.name != "" {
		dst = appendQuoted(append(dst, ": "...), l.name)
		if l.last != "" {
			dst = appendQuoted(append(dst, " to "...), l.last)
		}
	}
	if l.after != 0 {
		dst = strconv.AppendInt(append(dst, "; "+moreBehind...), int64(l.after), 10)
	}
	return dst
}

func appendKey(dst []byte, key string) []byte {
	dst = append(dst, ' ')
	dst = append(dst, key...)
	return append(dst, '=')
}
