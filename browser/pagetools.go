package browser

import (
	"context"
	"errors"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/pagetools"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// toolEvent has the tab's tools take an event of the domain WebMCP, as it came.
func toolEvent(handle func(l *pagetools.List, params []byte, docOf func(cdproto.FrameID) int) (changed bool)) func(*tab, *cdp.Session, jsonv2.Value) {
	return func(t *tab, _ *cdp.Session, params jsonv2.Value) {
		t.c.mu.Lock()
		defer t.c.mu.Unlock()
		docOf := func(id cdproto.FrameID) int {
			if f := t.frames.byID[id]; f != nil {
				return f.doc
			}
			return 0
		}
		if handle(&t.frames.tools, params, docOf) {
			t.wake()
		}
	}
}

// withTools puts the names of the tools that the tab's documents have registered before the
// lines of a capture of all of it.
func (t *tab) withTools(got snapshot.Capture, o snapshot.Options) snapshot.Capture {
	t.c.mu.Lock()
	names := t.frames.tools.Names()
	t.c.mu.Unlock()
	if len(names) > 0 && o.Scope == "" && o.After == "" {
		got.Nodes = append([]snapshot.Node{snapshot.Tools(names)}, got.Nodes...)
	}
	return got
}

// tools are the tab's tools, with refs for their frames.
func (t *tab) tools(refs *snapshot.Refs) *pagetools.Tab {
	return &pagetools.Tab{List: &t.frames.tools, Mu: &t.c.mu, Wait: t.wait, Until: t.until, Place: func(ctx context.Context, tool pagetools.Tool) (at protocol.PageTool, err error) {
		at = tool.PageTool
		d := t.c.document(tool.Doc)
		if d == nil {
			return at, failure.DocumentGone()
		}
		if at.Origin, err = d.origin(ctx); err == nil {
			at.Frame, err = t.refOf(ctx, refs, d.frame)
		}
		return at, err
	}}
}

// refOf returns the ref of the element that holds a frame, protocol.FrameMain for the tab's.
func (t *tab) refOf(ctx context.Context, refs *snapshot.Refs, f *frame) (string, error) {
	if f == t.frames.main {
		return protocol.FrameMain, nil
	}
	owner, parent := t.ownerAt(ctx, f)
	if parent == nil {
		return "", failure.DocumentGone()
	}
	if n, ok := refs.Seen(owner); ok {
		return snapshot.RefOf(n), nil
	}
	got, err := evaluate(ctx, parent, script.FindAgain, script.Lookup{ID: owner.Node, Any: true})
	if err == nil && got.Stale {
		err = failure.DocumentGone()
	}
	if err != nil {
		return "", err
	}
	return snapshot.RefOf(refs.Number(got.Record.In(owner.Doc))), nil
}

// PageTools returns the tools of the selected tab's documents, and how many more there are.
func (c *Context) PageTools(ctx context.Context, refs *snapshot.Refs) (tools []protocol.PageTool, left int, err error) {
	err = inspect(ctx, c, func(ctx context.Context, t *tab) (err error) {
		tools, left, err = t.tools(refs).All(ctx)
		return err
	})
	return tools, left, err
}

// tool returns the one tool that is named, and its document; it waits until there is one, as
// an action waits for its element. Errors: those of a ref and of pagetools.Tab.Find.
func (t *tab) tool(ctx context.Context, refs *snapshot.Refs, name protocol.ToolName) (tool pagetools.Tool, d *document, err error) {
	within := cdproto.FrameID("") // any
	if name.Frame == protocol.FrameMain {
		within = t.frames.main.id
	} else if name.Frame != "" {
		t.frames.findOwners(ctx, t.frames.live())
		e, _, err := t.c.resolve(refs, name.Frame)
		if err != nil {
			return tool, nil, snapshot.ForParameter("frame", err)
		}
		f := t.frameIn(e.Key)
		if f == nil {
			return tool, nil, failure.NoFrame(e.Ref())
		}
		within = f.id
	}
	if tool, err = t.tools(refs).Find(ctx, name, within, locateTimeoutFor(ctx)); err != nil {
		return tool, nil, err
	}
	if d = t.c.document(tool.Doc); d == nil {
		err = failure.DocumentGone()
	}
	return tool, d, err
}

// callTool calls a tool of a page. Whatever the page says of it, it may do anything that the
// page can. Errors: those of tool and of pagetools.Tab.Call, invalid_params,
// confirmation_denied.
func callTool(o protocol.CallTool) actionFunc {
	return func(ctx context.Context, a *action) error {
		t := a.tab
		tool, d, err := t.tool(ctx, a.refs, o.ToolName)
		if err == nil {
			err = pagetools.Check(tool, o.Arguments)
		}
		if err == nil {
			err = d.requireOrigin(ctx, o.Confirmed)
		}
		if err == nil && d.frame != t.frames.main {
			a.addFrameDoc(d)
			_, err = evaluate(ctx, d, script.BeginSettle, 0)
		}
		if err != nil {
			return t.asUndelivered(ctx, err)
		}
		t.frames.main.start(script.BeginSettle.Call(0))
		tools := t.tools(a.refs)
		called, sent, later, err := tools.Call(ctx, d.cdp, tool, o.Arguments, func() bool { return d.frame.doc != d.doc })
		a.outcome.Called = called
		switch {
		case !sent:
			return t.asUndelivered(ctx, failure.Gone(err))
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errDialog):
			tools.Cancel(d.cdp)
		case later != nil:
			a.then = func(ctx context.Context) { a.outcome.Called.Value = later(ctx) }
		}
		return err
	}
}
