// Package pagetools keeps what the documents of a tab offer as tools (WebMCP), and what
// comes of a call of one. All of it is written by the page: what is kept is limited in
// number, size and depth.
//
// A List has no lock of its own. Its methods do not wait and call nothing.
package pagetools

import (
	"encoding/json"
	"slices"

	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// The limits of what is kept of one tab's tools.
const (
	maxTools       = 100
	maxEvent       = 2 << 20 // bytes of an event, which has one tool, or all that there are
	maxDescription = 1000    // characters
	maxSchema      = 16 << 10
	maxDepth       = 16 // of a schema
)

// Tool is one tool of a document.
type Tool struct {
	protocol.PageTool
	Doc     int // the document that registered it
	FrameID cdproto.FrameID
}

// waits reports whether Chromium fills the tool's form in and leaves it to the client to
// send it.
func (t Tool) waits() bool {
	return slices.Contains(t.Hints, form) && !slices.Contains(t.Hints, autosubmit)
}

const form, autosubmit = "form", "autosubmit"

// List is the tools of the documents of one tab, in the order in which they came. The zero
// List is empty.
type List struct {
	tools []Tool
	left  map[int]int // by document, 0 for an unknown one: tools that are not kept
	call  *call       // the one that is under way; nil: none

	last    string // the id of the last call
	changes int    // how often tools came or went
}

// registered is what browserd needs of WebMCP.toolsAdded and toolsRemoved.
type registered struct {
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations struct {
			ReadOnly         bool `json:"readOnly"`
			Consequential    bool `json:"consequential"`
			UntrustedContent bool `json:"untrustedContent"`
			Debugging        bool `json:"debugging"`
			Autosubmit       bool `json:"autosubmit"`
		} `json:"annotations"`
		FrameID       cdproto.FrameID       `json:"frameId"`
		BackendNodeID cdproto.BackendNodeID `json:"backendNodeId"`
	} `json:"tools"`
}

// Added takes the event WebMCP.toolsAdded. docOf returns the document that a frame has now, 0
// for none.
func (l *List) Added(params []byte, docOf func(cdproto.FrameID) int) (changed bool) {
	var e registered
	if len(params) > maxEvent || json.Unmarshal(params, &e) != nil {
		l.Overflow(0)
		return false
	}
	for _, t := range e.Tools {
		doc := docOf(t.FrameID)
		if doc == 0 {
			continue // left meanwhile
		}
		l.remove(doc, t.Name)
		if len(l.tools) >= maxTools {
			l.Overflow(doc)
			continue
		}
		tool := Tool{Doc: doc, FrameID: t.FrameID, PageTool: protocol.PageTool{
			Name: t.Name, Description: snapshot.Cut(t.Description, maxDescription),
		}}
		for _, h := range []struct {
			set  bool
			word string
		}{
			{t.BackendNodeID != 0, form}, {t.Annotations.ReadOnly, "read_only"}, {t.Annotations.Consequential, "consequential"},
			{t.Annotations.UntrustedContent, "untrusted_content"}, {t.Annotations.Debugging, "debugging"},
			{t.Annotations.Autosubmit, autosubmit},
		} {
			if h.set {
				tool.Hints = append(tool.Hints, h.word)
			}
		}
		switch {
		case len(t.InputSchema) > maxSchema:
			tool.SchemaLeftOut = "too long"
		case depth(t.InputSchema) > maxDepth:
			tool.SchemaLeftOut = "too deep"
		case len(t.InputSchema) > 0:
			tool.InputSchema = slices.Clone(t.InputSchema)
		}
		l.tools = append(l.tools, tool)
		changed = true
		l.changes++
	}
	return changed
}

// Overflow notes that a tool of the document, or of one in it, is not kept; 0: of some document.
func (l *List) Overflow(doc int) {
	if l.left == nil {
		l.left = map[int]int{}
	}
	l.left[doc]++
}

// Removed takes the event WebMCP.toolsRemoved.
func (l *List) Removed(params []byte, docOf func(cdproto.FrameID) int) (changed bool) {
	var e registered
	if len(params) > maxEvent || json.Unmarshal(params, &e) != nil {
		return false
	}
	for _, t := range e.Tools {
		l.remove(docOf(t.FrameID), t.Name)
		l.changes++
	}
	return len(e.Tools) > 0
}

func (l *List) remove(doc int, name string) {
	l.tools = slices.DeleteFunc(l.tools, func(t Tool) bool { return t.Doc == doc && t.Name == name })
}

// Forget drops the tools of a document that was left.
func (l *List) Forget(doc int) {
	l.tools = slices.DeleteFunc(l.tools, func(t Tool) bool { return t.Doc == doc })
	delete(l.left, doc)
	delete(l.left, 0)
}

// All returns the tools, and how many more there are that are not kept.
func (l *List) All() (tools []Tool, left int) {
	for _, n := range l.left {
		left += n
	}
	return slices.Clone(l.tools), left
}

// Names returns the tools' names.
func (l *List) Names() []string {
	names := make([]string, len(l.tools))
	for i, t := range l.tools {
		names[i] = t.Name
	}
	return names
}

// Named returns the tools of that name.
func (l *List) Named(name string) (tools []Tool) {
	for _, t := range l.tools {
		if t.Name == name {
			tools = append(tools, t)
		}
	}
	return tools
}

// depth returns how deep arrays and objects are nested in a JSON text.
func depth(text []byte) (deepest int) {
	now, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			now++
			deepest = max(deepest, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return deepest
}
