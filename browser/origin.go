package browser

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Origin returns the origin of the document that is meant, "null" for an opaque one. Errors:
// those of a ref, invalid_params for a point outside of the viewport.
func (c *Context) Origin(ctx context.Context, refs *snapshot.Refs, at protocol.Spot) (string, error) {
	if at.Ref != "" {
		_, d, err := c.resolve(refs, at.Ref)
		if err != nil {
			return "", err
		}
		return d.origin(ctx)
	}
	t, err := c.tab(ctx)
	if err != nil {
		return "", err
	}
	if at.Dialog {
		c.mu.Lock()
		defer c.mu.Unlock()
		return t.dialogs.origin, nil
	}
	d, err := t.frames.main.document()
	switch {
	case err != nil:
	case at.Tool.Name != "":
		_, d, err = t.tool(ctx, refs, at.Tool)
	case at.Focus:
		d, err = t.frames.main.focused(ctx, script.FocusedFrame)
	case at.Point:
		var doc int
		if _, doc, err = hitAt(ctx, t, at.X, at.Y); err == nil && doc != d.doc {
			d = cmp.Or(t.c.document(doc), d)
		}
	}
	if err != nil {
		return "", err
	}
	return d.origin(ctx)
}

// origin asks the document itself, in the isolated world, where the page has no say:
// a frame of about:blank or srcdoc has its parent's origin, a sandboxed one none, and
// no URL tells.
func (d *document) origin(ctx context.Context) (string, error) {
	var got evaluated
	p := d.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: "origin", UniqueContextID: d.isolatedWorld, ReturnByValue: ptr(true)})
	if err := d.frame.tab.wait(ctx, p, &got); err != nil {
		return "", failure.Gone(err)
	}
	var origin string
	err := json.Unmarshal(got.Result.Value, &origin)
	return origin, err
}

// requireOrigin refuses a document of another origin than the one that was confirmed, and none; empty: any will do.
func (d *document) requireOrigin(ctx context.Context, confirmed string) error {
	if confirmed == "" {
		return nil
	}
	origin, err := "another document", error(nil)
	if d != nil {
		origin, err = d.origin(ctx)
	}
	if err == nil && origin != confirmed {
		err = failure.MovedSinceConfirmed(confirmed, origin)
	}
	return err
}

// checkOrigin returns what check says of the document's origin; a nil one accepts every origin.
func (d *document) checkOrigin(ctx context.Context, check func(origin string) error) error {
	if check == nil {
		return nil
	}
	origin, err := d.origin(ctx)
	if err != nil {
		return err
	}
	return check(origin)
}

// requireFocusedOrigin is requireOrigin for the document that has the focus.
func (f *frame) requireFocusedOrigin(ctx context.Context, confirmed string) error {
	d, err := f.focused(ctx, script.FocusedFrame)
	return cmp.Or(err, d.requireOrigin(ctx, confirmed))
}

// awaitDocument returns the document that the frame has, or has next if it is between two. What is evaluated by the
// uniqueId of its mainWorld runs in no later document.
func (f *frame) awaitDocument(ctx context.Context) (*document, error) {
	err := f.tab.until(ctx, func() bool { return f.doc != 0 })
	d, gone := f.document()
	return d, cmp.Or(err, gone)
}
