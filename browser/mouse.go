package browser

import (
	"context"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// mouse does one thing with the mouse at a point of the viewport, in CSS
// pixels, and says what was hit there before: for canvases, maps and whatever
// has no ref. A button that went down stays down until it goes up. Errors:
// invalid_params where the point is outside of the viewport.
func mouse(o protocol.Mouse) (step, error) {
	p, err := input.ParsePress(o.Button, o.Count, nil)
	return func(ctx context.Context, a *action) error {
		t := a.tab
		t.frames.main.start(script.BeginSettle.Call(0))
		at, doc, err := hitAt(ctx, t, o.X, o.Y)
		if err != nil {
			return err
		}
		if at != nil {
			a.outcome.Under = &protocol.Hit{Ref: snapshot.RefOf(a.refs.Number(at.In(doc))), Role: at.Role, Name: at.Name, Tag: at.Tag}
		}
		if d := t.frames.byDoc(doc); d != nil && d.frame != t.frames.main {
			if _, err := evaluate(ctx, d, script.BeginSettle, 0); err != nil {
				return err
			}
			a.actsIn(d)
		}
		if err := a.waitInput(ctx, writeMouse(t, o, p)); err != nil {
			return err
		}
		if at != nil {
			a.hit = snapshot.Key{Doc: doc, Node: at.Node}
		}
		return nil
	}, err
}

// writeMouse writes the events of o, without waiting for them.
func writeMouse(t *tab, o protocol.Mouse, p input.Press) []*cdp.Pending {
	at := t.point(o.X, o.Y)
	pending := []*cdp.Pending{t.pointer.MoveHolding(at)}
	switch o.Action {
	case "click":
		pending = append(pending, t.pointer.Click(at, p)...)
	case "down":
		pending = append(pending, t.pointer.Down(at, p))
	case "up":
		pending = append(pending, t.pointer.Up(at, p))
	case "wheel":
		pending = append(pending, t.pointer.Wheel(at, o.DX, o.DY))
	}
	return pending
}

// hitAt is what is hit at a point of the tab's viewport, through frames, and
// the document that it is in; nil where nothing is.
func hitAt(ctx context.Context, t *tab, x, y float64) (*script.Element, int, error) {
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
