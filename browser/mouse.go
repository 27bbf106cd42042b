package browser

import (
	"context"

	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// mouse does one thing with the mouse at a point of the viewport, in CSS
// pixels, and says what was hit there before: for canvases, maps and whatever
// has no ref. A button that went down stays down until it goes up. Errors:
// invalid_params where the point is outside of the viewport.
func (c *Context) mouse(ctx context.Context, refs *snapshot.Refs, o protocol.Mouse, h how) (*protocol.Hit, protocol.Effect, error) {
	p, err := pressOf(protocol.Click{Button: o.Button, Count: o.Count})
	if err != nil {
		return nil, protocol.Effect{}, err
	}
	var hit *protocol.Hit
	effect, err := c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		t, err := c.tab(ctx)
		if err != nil {
			return snapshot.Key{}, err
		}
		t.frames.main.start(script.BeginSettle.Call(0))
		at, doc, err := t.hitAt(ctx, o.X, o.Y)
		if err != nil {
			return snapshot.Key{}, err
		}
		if at != nil {
			hit = &protocol.Hit{Ref: snapshot.RefOf(refs.Number(at.In(doc))), Role: at.Role, Name: at.Name, Tag: at.Tag}
		}
		if d := t.frames.byDoc(doc); d != nil && d.frame != t.frames.main {
			if _, err := evaluate(ctx, d, script.BeginSettle, 0); err != nil {
				return snapshot.Key{}, err
			}
			t.actsIn(d)
		}
		for _, pending := range t.mouseDo(o, p) {
			if err := t.wait(ctx, pending, nil); err != nil {
				return snapshot.Key{}, err
			}
		}
		if at == nil {
			return snapshot.Key{}, nil
		}
		return snapshot.Key{Doc: doc, Node: at.Node}, nil
	})
	return hit, effect, err
}

// mouseDo writes the events of o, without waiting for them.
func (t *tab) mouseDo(o protocol.Mouse, p press) []*cdp.Pending {
	c := t.c
	moved := func() *cdp.Pending {
		if c.holding != "" {
			return t.mouse(input.DispatchMouseEventTypeMouseMoved, o.X, o.Y, press{button: c.holding}, 0, true)
		}
		return t.mouse(input.DispatchMouseEventTypeMouseMoved, o.X, o.Y, press{}, 0, false)
	}
	pending := []*cdp.Pending{moved()}
	switch o.Action {
	case "click":
		for n := 1; n <= p.count; n++ {
			pending = append(pending,
				t.mouse(input.DispatchMouseEventTypeMousePressed, o.X, o.Y, p, n, true),
				t.mouse(input.DispatchMouseEventTypeMouseReleased, o.X, o.Y, p, n, false))
		}
		c.holding = ""
	case "down":
		pending = append(pending, t.mouse(input.DispatchMouseEventTypeMousePressed, o.X, o.Y, p, 1, true))
		c.holding = p.button
	case "up":
		pending = append(pending, t.mouse(input.DispatchMouseEventTypeMouseReleased, o.X, o.Y, p, 1, false))
		c.holding = ""
	case "wheel":
		pending = append(pending, t.cdp.Send(input.DispatchMouseEvent.Method, map[string]any{
			"type": "mouseWheel", "x": o.X, "y": o.Y, "deltaX": o.DX, "deltaY": o.DY,
		}))
	}
	return pending
}

// hitAt is what is hit at a point of the tab's viewport, through frames, and
// the document that it is in; nil where nothing is.
func (t *tab) hitAt(ctx context.Context, x, y float64) (*script.Element, int, error) {
	for f := t.frames.main; ; {
		d, err := f.document()
		if err != nil {
			return nil, 0, err
		}
		at, err := evaluate(ctx, d, script.HitAtPoint, script.Point{X: x, Y: y})
		if err != nil {
			return nil, 0, err
		}
		if at.Outside && f == t.frames.main {
			return nil, 0, protocol.Errorf(protocol.InvalidParams, "x, y: %g, %g lies outside of the viewport, which has %d by %d pixels", x, y, at.Width, at.Height).
				With("parameter", "x").With("width", at.Width).With("height", at.Height).Then("scroll there first")
		}
		if at.Frame == nil || at.Hit == nil {
			return at.Hit, d.doc, nil
		}
		t.frames.findOwners(ctx, t.frames.live())
		child := t.frameIn(snapshot.Key{Doc: d.doc, Node: at.Hit.Node})
		if child == nil {
			return at.Hit, d.doc, nil
		}
		x, y, f = (x-at.Frame.X)/at.Frame.SX, (y-at.Frame.Y)/at.Frame.SY, child
	}
}
