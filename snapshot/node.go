package snapshot

// Key names one node of one document within a session: Doc is the number that
// the source gave the document (one frame, one loader; never used twice in a
// session), Node the number that it gave the node, from 1. The zero Key is no node.
type Key struct {
	Doc  int
	Node int
}

// Attr is one key="value" of a line. Bare values (level=1, options=195) are
// written without quotes and hold only ASCII letters, digits, '.' and '-'.
type Attr struct {
	Key   string
	Value string
	Bare  bool
}

// RoleText is the role of a text line.
const RoleText = "text"

// Node is one line of a document before it is written: an element that gets a
// ref, or a run of text. Strings are the page's own, not yet escaped or cut.
type Node struct {
	Key   Key // zero for text and for More
	Depth int // from 0, in the tree of shown nodes; written up to 512
	Role  string
	Name  string // the accessible name; for text, the text
	Tag   string // the element's tag, lower case
	Attrs []Attr // in the order of the line
	// States are words of PROTOCOL.md section 5, in its order.
	States []string
	// Value is a control's value as it may be shown: already masked. It is
	// written as value="…", in place of an attribute of that name.
	Value string
	// Ident is a digest of the tag and the stable attributes; Context of the
	// text of the row, list item or article that the node stands in. The source
	// that made them compares them when a ref's node has gone; nobody else reads them.
	Ident   string
	Context string
	// More is above 0 where the line is a [more] line for that many like nodes
	// that were folded away here; Name then says how to go on. It is written
	// as a literal, so it may quote the page: [more] 183 nodes not shown here: "…".
	More int
}

// Capture is what a source read of a document for one snapshot, in the order
// in which it is shown.
type Capture struct {
	URL   string
	Title string
	Nodes []Node
	// Input is how many elements the document has, as far as they were counted;
	// Visited how many were looked at.
	Input   int
	Visited int
	// Rest is how many further nodes would have been shown, at least, where the
	// source stopped at a budget; 0 where it reached the end.
	Rest int
	// Reasons are the budgets at which the source stopped or cut: max_nodes,
	// max_chars, max_depth, max_text. A source that hands on at least MaxText+1
	// characters of a longer string leaves max_text to Render, which then counts
	// the cuts.
	Reasons []string
}

// Options are the parameters of a snapshot (PROTOCOL.md section 5), with their
// defaults filled in.
type Options struct {
	Scope           string   // a ref or a CSS selector; empty: the whole page
	InteractiveOnly bool     // controls, headings, landmarks and a digest of the text
	MaxChars        int      // of the text, header and [more] line included
	MaxNodes        int      // nodes with a ref
	MaxDepth        int      // deeper nodes are counted, not shown
	MaxText         int      // characters of one name, text or value
	Attrs           []string // attributes shown
	DedupeText      bool     // text that a name already says is not said again
	After           string   // continue after this ref
	JSON            bool     // format json: fill Snapshot.Nodes as well
}

// DefaultOptions are the options of a snapshot for which none were given.
func DefaultOptions() Options {
	return Options{
		InteractiveOnly: true,
		MaxChars:        12000,
		MaxNodes:        200,
		MaxDepth:        12,
		MaxText:         200,
		Attrs:           []string{"href", "name", "type", "value", "placeholder", "aria-label", "role"},
		DedupeText:      true,
	}
}

// Stats are the figures of a snapshot.
type Stats struct {
	InputNodes   int      `json:"input_nodes"`
	NodesVisited int      `json:"nodes_visited"`
	NodesEmitted int      `json:"nodes_emitted"`
	Chars        int      `json:"chars"`
	Truncated    bool     `json:"truncated"`
	Reasons      []string `json:"reasons"`
	// After is the ref to continue after; empty where nothing is left.
	After string `json:"after"`
}

// NodeJSON is one node of a snapshot in format json, in the text's order.
type NodeJSON struct {
	Ref    string            `json:"ref,omitempty"`
	Role   string            `json:"role"`
	Name   string            `json:"name"`
	Tag    string            `json:"tag,omitempty"`
	Depth  int               `json:"depth"`
	States []string          `json:"states,omitempty"`
	Value  string            `json:"value,omitempty"`
	Attrs  map[string]string `json:"attrs,omitempty"`
}

// Snapshot is the answer to a snapshot: the field snapshot of a result.
type Snapshot struct {
	Text  string     `json:"text"`
	Stats Stats      `json:"stats"`
	Nodes []NodeJSON `json:"nodes,omitempty"`
}

// Delta is what changed since the client's last snapshot: the field delta of a
// result. Its text is lines that begin with "+ ", "~ " or "- " and, where cut, a
// last [more]; it is empty where nothing changed.
type Delta struct {
	Text  string `json:"text"`
	Stats Stats  `json:"stats"`
	// Changes is how many lines were added, changed or removed, shown or not.
	Changes int  `json:"-"`
	cut     bool // MaxChars ended it
}
