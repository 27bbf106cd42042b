package browser

import (
	"context"

	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/screenshot"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Screenshot takes a screenshot of the viewport, an element, or the whole page
// (Page.captureScreenshot). Errors: those of a ref, too_large.
func (c *Context) Screenshot(ctx context.Context, refs *snapshot.Refs, o protocol.Screenshot) (protocol.Picture, error) {
	t, err := c.ready(ctx, "")
	if err != nil {
		return protocol.Picture{}, err
	}
	pic, err := takeScreenshot(ctx, t, refs, o)
	if err != nil {
		t.recovery.Notice(ctx, err)
	}
	return pic, err
}

func takeScreenshot(ctx context.Context, t *tab, refs *snapshot.Refs, o protocol.Screenshot) (protocol.Picture, error) {
	var none protocol.Picture
	shot, err := screenshot.New(o, t.c.overrides.InForce())
	if err != nil {
		return none, err
	}
	if shot.NeedsLayout() {
		var element *box
		if o.Ref != "" {
			b, err := boxOf(ctx, t.c, refs, o.Ref)
			if err != nil {
				return none, err
			}
			element = &b
		}
		// The element was scrolled into view: where the page is now counts.
		var layout screenshot.Layout
		if err := t.wait(ctx, t.cdp.Send("Page.getLayoutMetrics", struct{}{}), &layout); err != nil {
			return none, err
		}
		if err := shot.SetLayout(layout, element); err != nil {
			return none, err
		}
	}
	var boxes map[string]box
	if shot.Annotated() {
		if boxes, err = seenAt(ctx, t, refs, o.Annotate, shot.ViewportOnly()); err != nil {
			return none, err
		}
	}
	var got struct {
		Data string `json:"data"`
	}
	if err := t.wait(ctx, t.cdp.Send(page.CaptureScreenshot.Method, shot.Params), &got); err != nil {
		return none, failure.Refused(err)
	}
	return shot.Picture(got.Data, boxes)
}

// boxOf brings a ref's element into view and returns its box in the tab's
// viewport: x, y, width, height in CSS pixels.
func boxOf(ctx context.Context, c *Context, refs *snapshot.Refs, ref string) (box, error) {
	var none box
	e, d, err := c.resolve(refs, ref)
	if err != nil {
		return none, err
	}
	object, err := d.objectID(ctx, e.Key.Node)
	if err != nil {
		return none, err
	}
	defer d.cdp.Release(object)
	d.cdp.Send("DOM.scrollIntoViewIfNeeded", map[string]any{"objectId": object})
	var quads struct {
		Quads [][8]float64 `json:"quads"`
	}
	if err := d.frame.tab.wait(ctx, d.cdp.Send("DOM.getContentQuads", map[string]any{"objectId": object}), &quads); err != nil || len(quads.Quads) == 0 {
		return none, protocol.Errorf(protocol.NotActionable, "%s has no box on the page", e.Ref()).With("reason", "hidden")
	}
	x0, y0, x1, y1 := quads.Quads[0][0], quads.Quads[0][1], quads.Quads[0][0], quads.Quads[0][1]
	for _, q := range quads.Quads {
		for i := 0; i < 8; i += 2 {
			x0, x1, y0, y1 = min(x0, q[i]), max(x1, q[i]), min(y0, q[i+1]), max(y1, q[i+1])
		}
	}
	dx, dy, err := cornerOf(ctx, d.frame)
	if err != nil {
		return none, err
	}
	x0, x1, y0, y1 = x0+dx, x1+dx, y0+dy, y1+dy
	return box{x0, y0, max(x1-x0, 1), max(y1-y0, 1)}, nil
}

// cornerOf is where the corner of the target that a frame lives in stands in
// the tab's viewport: an out-of-process frame counts from its own.
func cornerOf(ctx context.Context, f *frame) (x, y float64, err error) {
	t := f.tab
	for f.cdp.ID() != t.cdp.ID() {
		owner, parent := t.ownerAt(ctx, f)
		if parent == nil {
			return 0, 0, failure.DocumentGone()
		}
		if parent.cdp.ID() != f.cdp.ID() {
			object, err := parent.objectID(ctx, owner.Node)
			if err != nil {
				return 0, 0, err
			}
			defer parent.cdp.Release(object)
			var box struct {
				Model struct {
					Content [8]float64 `json:"content"`
				} `json:"model"`
			}
			if err := t.wait(ctx, parent.cdp.Send("DOM.getBoxModel", map[string]any{"objectId": object}), &box); err != nil {
				return 0, 0, err
			}
			x, y = x+box.Model.Content[0], y+box.Model.Content[1]
		}
		f = parent.frame
	}
	return x, y, nil
}
