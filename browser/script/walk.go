package script

import "encoding/json"

// WalkOptions are the options of one walk of one document. The budgets are what
// is left of the snapshot's.
type WalkOptions struct {
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
	// Fold lets the walk fold long runs of like siblings where its budget ends.
	Fold bool `json:"fold,omitempty"`
	// Capture is the number of the capture: OffScope goes on from there. It is one of a
	// few, since what V8 has compiled before it need not compile again, which takes a
	// sixth of a small walk.
	Capture int `json:"capture,omitempty"`
}

// WalkHead is the first line of Walk's answer, in JSON.
type WalkHead struct {
	URL      string `json:"u"`
	Title    string `json:"t"`
	Visited  int    `json:"v"` // elements that were looked at,
	Elements int    `json:"n"` // and that there are
	// Rest counts the nodes that are left out, RestTexts the texts; where AtLeast is 1, there are
	// more. RestFrames are those frames whose lines are left out, by the ids of their owners.
	Rest       int   `json:"r"`
	RestTexts  int   `json:"rt"`
	AtLeast    int   `json:"rl,omitempty"`
	RestFrames []int `json:"rf,omitempty"`

	Reasons  []string     `json:"rs"`
	Modal    int          `json:"m,omitempty"` // 1: a modal dialog makes the rest inert
	Hidden   int          `json:"h,omitempty"` // changes that have nothing to show; OffScope's
	Scope    ScopeFailure `json:"e,omitempty"`
	Contexts []string     `json:"x"`
	Frames   [][3]int     `json:"f"` // index of a line, depth, the owner's id
	// Departed are the numbers of nodes that have left the document since the capture
	// before, Last the highest number that it gave out; left out where none has.
	Departed []int `json:"d,omitempty"`
	Last     int   `json:"l,omitempty"`
}

// ScopeFailure is why a scope could not be walked, or not from where it should.
type ScopeFailure string

const (
	ScopeGone     ScopeFailure = "gone"     // its node has left the document
	ScopeNone     ScopeFailure = "none"     // nothing matches the selector
	ScopeSelector ScopeFailure = "selector" // it is not a CSS selector
	ScopePast     ScopeFailure = "past"     // the node to go on after has left the document
	ScopeAfter    ScopeFailure = "after"    // that node stands outside of the scope
)

// OffScopeOptions say which part of a document the client is shown. Scope, Selector and
// After are the walk's.
type OffScopeOptions struct {
	WalkOptions
	None bool `json:"none,omitempty"` // of this document nothing
	Last int  `json:"last,omitempty"` // the last node shown; 0: the part goes on to the end
}

// WarmUpArgs are a page to walk, in HTML.
type WarmUpArgs struct {
	HTML    string      `json:"html"`
	Options WalkOptions `json:"options"`
}

// ReadArgs say what to read. Kind is one of text, markdown, article, html, value and attrs, or drawn.
type ReadArgs struct {
	Node int    `json:"node"` // 0: the document
	Kind string `json:"kind"`
	Attr string `json:"attr,omitempty"` // of kind attrs; empty: all
}

// Content is what was read.
type Content struct {
	Pieces []Piece `json:"pieces,omitempty"`
	Gone   bool    `json:"gone,omitempty"` // the node has left the document
	None   bool    `json:"none,omitempty"` // it has no such value or attribute
}

// Piece is text, or the place of a frame's content.
type Piece struct {
	Text  string `json:"text,omitempty"`
	Frame int    `json:"frame,omitempty"` // the element that holds it
}

// Query says what to find.
type Query struct {
	Text string `json:"text"`
	Role string `json:"role"`
	Name string `json:"name"`
	// Whole: Text and Name are the whole text and name. Label, a field's whole label, TestID and
	// CSS stand alone; with Unrendered they find what is not rendered as well.
	Whole      bool     `json:"whole,omitempty"`
	Label      string   `json:"label,omitempty"`
	TestID     string   `json:"testid,omitempty"`
	CSS        string   `json:"css,omitempty"`
	Unrendered bool     `json:"unrendered,omitempty"`
	Limit      int      `json:"limit"`
	Attrs      []string `json:"attrs"`
	// Chain is a JSON array of steps in place of Text, Role and Name; Read is what to read of
	// each element.
	Chain json.RawMessage `json:"chain,omitempty"`
	Read  []string        `json:"read,omitempty"`
}

// Found is an element as a line of a walk, or a frame to look into. Bad says instead that the
// query's CSS is no selector, or that of a step of its chain.
type Found struct {
	Bad     bool   `json:"bad,omitempty"`
	Frame   int    `json:"frame,omitempty"`
	Line    string `json:"line,omitempty"`
	Context string `json:"context,omitempty"`
	Says    string `json:"says,omitempty"` // the text that was found, where the name does not say it
	// Read is what was read of the element, an object; Count, of a chain, is how many
	// there are, in an entry of its own.
	Read  json.RawMessage `json:"read,omitempty"`
	Count *int            `json:"count,omitempty"`
	// Rest, of a chain, is what of it is for the frame.
	Rest json.RawMessage `json:"rest,omitempty"`
}

// RefStatus is whether a ref's element is in the document, and can be seen.
type RefStatus struct {
	Attached bool `json:"attached"`
	Visible  bool `json:"visible"`
}
