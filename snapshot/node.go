package snapshot

// Key identifies one node of one document within a session. The source of the
// nodes chooses the numbers. The zero Key is no node.
type Key struct {
	Doc  int // the document (one frame, one loader), never used twice in a session
	Node int // the node, from 1
}

// Attr is one key="value" of a line.
type Attr struct {
	Key   string
	Value string
	// Bare is set for a value written without quotes, as in level=1. Such a value
	// has only ASCII letters, digits, '.' and '-'; any other is written with quotes.
	Bare bool
}

// RoleText is the role of a text line.
const RoleText = "text"

// RoleSiblings is the role of a Node with More whose nodes are like siblings.
const RoleSiblings = "siblings"

// Node is one line of a document before it is written: an element that gets a ref,
// or a text. The strings are those of the page, neither escaped nor cut.
type Node struct {
	Key    Key      // zero for a text, for More and for Tools
	Depth  int      // from 0, in the tree of the nodes shown; written up to 512
	Role   string   // an ARIA role, or RoleText
	Name   string   // the accessible name; for a text, the text
	Tag    string   // the element's tag, in lower case
	Attrs  []Attr   // in the order of the line
	States []string // the words of PROTOCOL.md section 5, in its order
	// Value is a control's value as the client may see it: secrets are already
	// masked. It is written as value="…", in place of an attribute of that name.
	Value string
	// Ident is a digest of the tag and the stable attributes, Context one of the text
	// of the row, list item or article around the node. Only the source that set them
	// reads them: it compares them to find the element anew when a ref's node is gone.
	Ident   string
	Context string
	// Says is the text that a search found in the node, where its name does not say it.
	Says string
	// More, if above 0, makes the line a [more] line for that many like nodes that the
	// source folded here. Name then says how to continue. It is written as a literal,
	// so it may quote the page: [more] 183 nodes not shown here: "…".
	More int
	// With Role RoleSiblings the nodes folded are like siblings, of which Name and Value are
	// what the first and the last one are called; with AtLeast there are more.
	AtLeast bool
}

// Capture is what a source read of a document for one snapshot, in the order in
// which it is shown.
type Capture struct {
	URL     string
	Title   string
	Nodes   []Node
	Input   int // the document's elements, as far as the source counted them
	Visited int // the elements that the source looked at
	// Rest and RestTexts count the nodes and texts that the source left out because of a
	// budget. With AtLeast there are more.
	Rest, RestTexts int
	AtLeast         bool
	// Reasons are the budgets at which the source stopped or cut: max_nodes, max_chars,
	// max_depth, max_text. A source that returns at least MaxText+1 characters of a
	// longer string leaves max_text to Render, which then counts the cuts.
	Reasons []string
	// Departed are the nodes that are gone, of each document some left; nil if the
	// source does not know.
	Departed []Departed
}

// Options are the parameters of a snapshot (PROTOCOL.md section 5), with their
// defaults filled in.
type Options struct {
	Tab             string   // by its name; empty for the selected one
	Scope           string   // a ref or a CSS selector; empty for the whole page
	InteractiveOnly bool     // controls, headings, landmarks and a digest of the text
	MaxChars        int      // characters of the text, header and [more] line included
	MaxNodes        int      // lines with a ref
	MaxDepth        int      // deeper nodes are counted and not shown
	MaxText         int      // characters of one name, text or value
	Attrs           []string // the attributes shown
	DedupeText      bool     // leave out a text that a name already has
	After           string   // continue after this ref
	JSON            bool     // format json: fill Snapshot.Nodes as well
}

// DefaultOptions returns the options of a snapshot without parameters.
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

// Stats counts what a snapshot read and wrote.
type Stats struct {
	InputNodes   int      `json:"input_nodes"`   // Capture.Input
	NodesVisited int      `json:"nodes_visited"` // Capture.Visited
	NodesEmitted int      `json:"nodes_emitted"` // lines with a ref
	Chars        int      `json:"chars"`         // Unicode code points of the text
	Truncated    bool     `json:"truncated"`     // a budget ended or cut the text
	Reasons      []string `json:"reasons"`       // those budgets, never nil
	After        string   `json:"after"`         // the ref to continue after; empty if nothing is left
}

// Snapshot is the field snapshot of a result.
type Snapshot struct {
	Text  string     `json:"text"`
	Stats Stats      `json:"stats"`
	Nodes []NodeJSON `json:"nodes,omitzero"` // for format json, never nil there
}

// Delta is the field delta of a result: what changed since the client's last snapshot, in
// the form of PROTOCOL.md section 5. The text is empty if nothing changed.
type Delta struct {
	Text  string `json:"text"`
	Stats Stats  `json:"stats"`
	// Changes is how many lines were added, changed otherwise than by the focus, moved or
	// removed.
	Changes int `json:"-"`
}
