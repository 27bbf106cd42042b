package browser

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/browserd/browserd/snapshot"
)

// Reading a frame is one round trip: evaluate `__bd.walk(OPTIONS)` in its isolated
// world, with OPTIONS the JSON of walkOptions, and give the string that comes
// back to decodeWalk. Each document is walked in a world of its own, same-origin
// frames too; walked.Frames says where their lines belong (js/walk.js has the
// other end of this wire).

// walkOptions are the options of one walk of one document. The budgets are what
// is left of the snapshot's.
type walkOptions struct {
	Interactive bool     `json:"interactive"`
	MaxChars    int      `json:"max_chars"`
	MaxNodes    int      `json:"max_nodes"`
	MaxDepth    int      `json:"max_depth"`
	MaxText     int      `json:"max_text"`
	Attrs       []string `json:"attrs"`
	DedupeText  bool     `json:"dedupe_text"`

	// Scope is the node to which the walk is limited, Selector the CSS selector of
	// that node; 0 and empty: the whole document.
	Scope    int    `json:"scope,omitempty"`
	Selector string `json:"selector,omitempty"`
	// After is the node behind which the walk goes on, 0 for the start. Where it is
	// the owner of a frame, the answer begins with the place of that frame's lines.
	After int `json:"after,omitempty"`
	// BaseDepth is the depth of the first line.
	BaseDepth int `json:"base_depth,omitempty"`
	// Computed asks Chromium itself for names (ComputedAccessibilityInfo) where the
	// feature is on. It needs Accessibility.enable on the target: without it each
	// name rebuilds the accessibility tree.
	Computed bool `json:"computed"`
}

// newWalkOptions returns the options of a walk of a whole document for a snapshot
// with options o. Scope and after are the caller's to set: they name nodes of one
// document.
func newWalkOptions(o snapshot.Options) walkOptions {
	attrs := o.Attrs
	if attrs == nil {
		attrs = []string{}
	}
	return walkOptions{
		Interactive: o.InteractiveOnly, MaxChars: o.MaxChars, MaxNodes: o.MaxNodes, MaxDepth: o.MaxDepth,
		MaxText: o.MaxText, Attrs: attrs, DedupeText: o.DedupeText, Computed: true,
	}
}

// walked is what one walk read of one document.
type walked struct {
	URL, Title string
	Nodes      []snapshot.Node
	// Frames are the places of child documents, in the order of Nodes.
	Frames []walkedFrame
	// Visited is how many elements were looked at, Elements how many there are.
	Visited, Elements int
	// Rest is how many nodes are left at least, 0 where the walk reached the end.
	Rest    int
	Reasons []string
	// Modal tells that an open modal dialog makes the rest of the document inert.
	Modal bool
	// Scope tells why there is nothing; empty where the walk was made.
	Scope scopeFailure
}

// walkedFrame is the place of a child document's lines: before Nodes[Index] (or at
// the end), at Depth and deeper. Owner is the number of the element that holds it.
type walkedFrame struct {
	Index, Depth, Owner int
}

// scopeFailure is why a scope could not be walked, or not from where it should.
type scopeFailure string

const (
	scopeGone     scopeFailure = "gone"     // its node has left the document
	scopeNone     scopeFailure = "none"     // nothing matches the selector
	scopeSelector scopeFailure = "selector" // it is not a CSS selector
	scopeAfter    scopeFailure = "after"    // the node to go on after has left it
)

// walkWire is the answer of __bd.walk.
type walkWire struct {
	URL      string       `json:"u"`
	Title    string       `json:"t"`
	Visited  int          `json:"v"`
	Elements int          `json:"n"`
	Rest     int          `json:"r"`
	Reasons  []string     `json:"rs"`
	Modal    int          `json:"m"`
	Scope    scopeFailure `json:"e"`
	Contexts []string     `json:"x"`
	Lines    []walkLine   `json:"l"`
	Frames   [][3]int     `json:"f"`
}

// walkLine is a line as it comes: id, depth, role, name, tag, attributes, states,
// value, ident, context (text: 0, depth, text; a fold: -count, depth, word).
type walkLine struct {
	id, depth, context                    int
	role, name, tag, states, value, ident string
	attrs                                 []json.RawMessage
}

func (l *walkLine) UnmarshalJSON(b []byte) error {
	fields := [...]any{&l.id, &l.depth, &l.role, &l.name, &l.tag, &l.attrs, &l.states, &l.value, &l.ident, &l.context}
	list := fields[:]
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) < 3 {
		return fmt.Errorf("a line of %d fields", len(list))
	}
	return nil
}

// decodeWalk reads the answer of __bd.walk for the document with that number. The
// script runs beside the page, so nothing in the answer is taken on trust but
// its strings, which are the page's own.
func decodeWalk(doc int, raw []byte) (walked, error) {
	var in walkWire
	if err := json.Unmarshal(raw, &in); err != nil {
		return walked{}, fmt.Errorf("decoding a walk: %w", err)
	}
	out := walked{
		URL: in.URL, Title: in.Title, Visited: max(in.Visited, 0), Elements: max(in.Elements, 0), Rest: max(in.Rest, 0),
		Reasons: in.Reasons, Modal: in.Modal != 0, Scope: in.Scope,
		Nodes: make([]snapshot.Node, len(in.Lines)),
	}
	for i := range in.Lines {
		if err := in.Lines[i].node(doc, in.Contexts, &out.Nodes[i]); err != nil {
			return walked{}, fmt.Errorf("decoding line %d of a walk: %w", i, err)
		}
	}
	for _, f := range in.Frames {
		if f[0] < 0 || f[0] > len(out.Nodes) || f[1] < 0 || f[2] < 1 {
			return walked{}, fmt.Errorf("decoding a walk: frame %v among %d lines", f, len(out.Nodes))
		}
		out.Frames = append(out.Frames, walkedFrame{Index: f[0], Depth: f[1], Owner: f[2]})
	}
	return out, nil
}

// node fills n from the line.
func (l *walkLine) node(doc int, contexts []string, n *snapshot.Node) error {
	n.Depth = max(l.depth, 0)
	switch {
	case l.id == 0:
		n.Role, n.Name = snapshot.RoleText, l.role
		return nil
	case l.id < 0:
		n.More, n.Name = -l.id, l.role
		return nil
	}
	n.Key = snapshot.Key{Doc: doc, Node: l.id}
	n.Role, n.Name, n.Tag, n.Value, n.Ident = l.role, l.name, l.tag, l.value, l.ident
	if l.states != "" {
		n.States = strings.Fields(l.states)
	}
	if l.context > 0 && l.context <= len(contexts) {
		n.Context = contexts[l.context-1]
	}
	if len(l.attrs)%2 != 0 {
		return fmt.Errorf("an attribute without a value")
	}
	for i := 0; i < len(l.attrs); i += 2 {
		a, err := walkAttr(l.attrs[i], l.attrs[i+1])
		if err != nil {
			return err
		}
		n.Attrs = append(n.Attrs, a)
	}
	return nil
}

// walkAttr reads one attribute: a number stands for a bare value.
func walkAttr(key, value json.RawMessage) (snapshot.Attr, error) {
	var a snapshot.Attr
	if err := json.Unmarshal(key, &a.Key); err != nil {
		return a, err
	}
	if len(value) > 0 && value[0] == '"' {
		return a, json.Unmarshal(value, &a.Value)
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return a, fmt.Errorf("attribute %q: %w", a.Key, err)
	}
	a.Value, a.Bare = strconv.FormatFloat(f, 'f', -1, 64), true
	return a, nil
}
