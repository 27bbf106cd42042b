package pagetools

import (
	"encoding/json"
	"strings"

	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserd/browserd/protocol"
)

// call is one call of a tool, from before Chromium has given it an id.
type call struct {
	id      string
	invoked map[string]bool // invocations that began before the id was known
	early   map[string]answer
	bytes   int  // of early
	begun   bool // the tool has been invoked; of a form: it is filled in next
	over    bool // the answer has come, or was too large
	answer  answer
}

// What is kept of other invocations until the id is known: a page can invoke its own
// tools without end.
const (
	maxEarly      = 64
	maxEarlyBytes = 20 << 20
)

// answer is what browserd needs of WebMCP.toolInvoked and toolResponded.
type answer struct {
	InvocationID string          `json:"invocationId"`
	Status       string          `json:"status"`
	Output       json.RawMessage `json:"output"`
	ErrorText    string          `json:"errorText"`
	Exception    *struct {
		Description string          `json:"description"`
		Value       json.RawMessage `json:"value"`
	} `json:"exception"`
	tooLarge bool
}

// begin notes that a tool is about to be called, and forgets the call before.
func (l *List) begin() *call {
	l.call = &call{invoked: map[string]bool{}, early: map[string]answer{}}
	return l.call
}

// identify gives the call the id that Chromium has given it.
func (c *call) identify(id string) {
	c.id, c.begun = id, c.invoked[id]
	if a, ok := c.early[id]; ok {
		c.answer, c.over = a, true
	}
	c.invoked, c.early = nil, nil
}

// Invoked takes the event WebMCP.toolInvoked, and reports whether it is of the call.
func (l *List) Invoked(params []byte, _ func(cdproto.FrameID) int) bool {
	var e answer
	c := l.call
	switch {
	case c == nil || json.Unmarshal(params, &e) != nil:
	case c.id == "" && len(c.invoked) < maxEarly:
		c.invoked[e.InvocationID] = true
	case c.id == e.InvocationID:
		c.begun = true
		return true
	}
	return false
}

// Responded takes the event WebMCP.toolResponded, and reports whether it is of the call.
func (l *List) Responded(params []byte, _ func(cdproto.FrameID) int) bool {
	var e answer
	c := l.call
	switch {
	case c == nil || c.over || c.id == "" && c.bytes+len(params) > maxEarlyBytes:
	case json.Unmarshal(params, &e) != nil:
	case c.id == "" && len(c.early) < maxEarly:
		c.early[e.InvocationID] = e
		c.bytes += len(params)
	case c.id == e.InvocationID:
		c.answer, c.over = e, true
		return true
	}
	return false
}

// TooLarge takes it that what some tool returned was too large for Chromium's connection:
// the call's, if one is under way.
func (l *List) TooLarge() bool {
	c := l.call
	if c == nil || c.over {
		return false
	}
	c.over, c.answer.tooLarge = true, true
	return true
}

// value returns what the tool returned. Errors: tool_failed, too_large.
func (c *call) value(name string) (json.RawMessage, error) {
	a := c.answer
	if a.tooLarge {
		return nil, protocol.Errorf(protocol.TooLarge, "what the page's tool %q returned is too large", protocol.Cut(name, 128)).Then("ask the tool for less, and take a snapshot: it has run")
	}
	if a.Status == "Completed" {
		if len(a.Output) == 0 {
			return json.RawMessage("null"), nil
		}
		return a.Output, nil
	}
	said := a.ErrorText
	if e := a.Exception; e != nil {
		if said, _, _ = strings.Cut(e.Description, "\n    at "); len(e.Value) > 0 {
			said = string(e.Value)
		}
	}
	if said == "" {
		said = "the page cancelled it"
	}
	said = protocol.Cut(said, 1000)
	return nil, protocol.Errorf(protocol.ToolFailed, "the page's tool %q failed: %s", protocol.Cut(name, 128), protocol.Cut(said, 300)).
		With("tool", name).With("error", said)
}
