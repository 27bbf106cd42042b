package pagetools

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/webmcp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Tab is the tab whose tools are listed and called, as package browser knows it.
type Tab struct {
	List *List
	Mu   sync.Locker // guards List
	// Wait waits for an answer while the tab lives, Until until holds, which is asked with Mu
	// held whenever something of the tab has changed.
	Wait  func(ctx context.Context, p *cdp.Pending, result any) error
	Until func(ctx context.Context, holds func() bool) error
	// Place returns the tool with its origin and frame; an error if its document was left.
	Place func(ctx context.Context, t Tool) (protocol.PageTool, error)
}

// All returns the tools that there are, and how many more there are that are not kept.
func (t *Tab) All(ctx context.Context) ([]protocol.PageTool, int, error) {
	t.Mu.Lock()
	list, left := t.List.All()
	t.Mu.Unlock()
	tools := []protocol.PageTool{}
	for _, tool := range list {
		placed, err := t.Place(ctx, tool)
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if err == nil {
			tools = append(tools, placed)
		}
	}
	return tools, left, nil
}

// Find returns the one tool that is named, in that frame where it is not empty, and waits at
// most patience until there is one. Errors: not_actionable with reason missing,
// ambiguous_target.
func (t *Tab) Find(ctx context.Context, name protocol.ToolName, within cdproto.FrameID, patience time.Duration) (Tool, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		t.Mu.Lock()
		list, names, seen := t.List.Named(name.Name), t.List.Names(), t.List.changes
		t.Mu.Unlock()
		var fit []Tool
		var shown []any
		for _, tool := range list {
			if within != "" && tool.FrameID != within {
				continue
			}
			placed, err := t.Place(ctx, tool)
			if ctx.Err() != nil {
				return tool, context.Cause(ctx)
			}
			if err == nil && (name.Origin == "" || name.Origin == placed.Origin) {
				tool.PageTool = placed
				fit = append(fit, tool)
				shown = append(shown, map[string]any{"name": placed.Name, "origin": placed.Origin, "frame": placed.Frame})
			}
		}
		switch {
		case len(fit) == 1:
			return fit[0], nil
		case len(fit) > 1:
			return fit[0], protocol.Errorf(protocol.AmbiguousTarget, "%d frames have a tool %q", len(fit), protocol.Cut(name.Name, 128)).
				With("candidates", shown).Then("name the frame or the origin of the one that you mean, from details.candidates")
		}
		if err := t.Until(limited, func() bool { return t.List.changes != seen }); err == nil {
			continue
		} else if limited.Err() == nil || ctx.Err() != nil {
			return Tool{}, err
		}
		return Tool{}, protocol.Errorf(protocol.NotActionable, "no page has registered a tool %q there", protocol.Cut(name.Name, 128)).
			With("reason", "missing").With("tools", names[:min(len(names), snapshot.MaxCandidates)]).Then("page_tools lists the tools that there are")
	}
}

// resultWait is how long Chromium may take to hand on what a tool left behind in the document
// that it led to.
const resultWait = 500 * time.Millisecond

// Call calls a tool and waits until it has returned, left, asked with Mu held, reports that its
// document was left, or, of a form that is not sent by itself, the form is filled in. sent is
// false if the page was not asked. later, if not nil, returns what the tool returned after its
// document was left: call it when the page has settled. Errors: tool_failed, too_large, and
// not_actionable if the page has just removed the tool.
func (t *Tab) Call(ctx context.Context, s *cdp.Session, tool Tool, arguments json.RawMessage, left func() bool) (called protocol.Called, sent bool, later func(context.Context) json.RawMessage, err error) {
	t.Mu.Lock()
	c := t.List.begin()
	t.Mu.Unlock()
	defer func() {
		if later == nil {
			t.end()
		}
	}()
	called.State = protocol.ToolDialog // if one ends the waiting
	var got webmcp.InvokeToolResult
	p := s.Send(webmcp.InvokeTool.Method, webmcp.InvokeToolParams{FrameID: tool.FrameID, ToolName: tool.Name, Input: jsonv2.Value(arguments)})
	if err := t.Wait(ctx, p, &got); err != nil {
		if cdp.Refusal(err) == "Tool not found" {
			err = protocol.Errorf(protocol.NotActionable, "the page has just removed the tool %q", tool.Name).With("reason", "missing").Then("page_tools lists the tools that there are")
		}
		return called, false, nil, err
	}
	t.Mu.Lock()
	c.identify(got.InvocationID)
	t.List.last = got.InvocationID
	t.Mu.Unlock()
	if err := t.Until(ctx, func() bool { return c.over || left() || tool.waits() && c.begun }); err != nil {
		return called, true, nil, err
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	switch {
	case left():
		called.State = protocol.ToolNavigated
		return called, true, func(ctx context.Context) json.RawMessage { return t.leftBehind(ctx, c) }, nil
	case !c.over:
		called.State = protocol.ToolFilled
	default:
		called.State = protocol.ToolDone
		called.Value, err = c.value(tool.Name)
	}
	return called, true, nil, err
}

// Cancel tells the page that nobody waits for its tool any more.
func (t *Tab) Cancel(s *cdp.Session) {
	t.Mu.Lock()
	id := t.List.last
	t.Mu.Unlock()
	s.Send(webmcp.CancelInvocation.Method, webmcp.CancelInvocationParams{InvocationID: id})
}

func (t *Tab) end() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.List.call = nil
}

// leftBehind returns what a tool whose document was left has returned all the same, nil for
// nothing.
func (t *Tab) leftBehind(ctx context.Context, c *call) json.RawMessage {
	defer t.end()
	soon, cancel := context.WithTimeout(ctx, resultWait)
	defer cancel()
	if t.Until(soon, func() bool { return c.over }) != nil {
		return nil
	}
	value, _ := c.value("") // over: nobody writes it any more
	return value
}
