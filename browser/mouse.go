package browser

import (
	"context"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// mouse does one thing with the mouse at a point of the viewport, in CSS
// pixels, and says what received it, or, of what is no press, what was there: for canvases,
// maps and whatever has no ref. The press reaches the document that was hit, or none. A button
// that went down stays down until it goes up. Errors: invalid_params where the point is
// outside of the viewport, not_actionable where another document has come there.
func mouse(o protocol.Mouse) (actionFunc, error) {
	p, err := input.ParsePress(o.Button, o.Count, nil)
	return func(ctx context.Context, a *action) error {
		t, point := a.tab, a.tab.point(o.X, o.Y)
		t.frames.main.start(script.BeginSettle.Call(0))
		// What the page shows for the pointer is there before it is asked what is hit.
		if err := t.wait(ctx, t.pointer.MoveHolding(point), nil); err != nil {
			return t.asUndelivered(ctx, err)
		}
		at, doc, err := hitAt(ctx, t, o.X, o.Y)
		if err != nil {
			return err
		}
		d := t.c.document(doc)
		if err := d.requireOrigin(ctx, o.Origin); err != nil {
			return err
		}
		if d != nil && d.frame != t.frames.main {
			if _, err := evaluate(ctx, d, script.BeginSettle, 0); err != nil {
				return err
			}
			a.addFrameDoc(d)
		}
		var docs []*document // no other than the one that is hit gets the press
		presses := map[string]int{"click": p.Count, "down": 1}[o.Action]
		before, _ := t.inputCounts()
		if presses > 0 {
			docs = t.otherDocuments(nil)
		}
		evaluateAll(ctx, docs, script.GuardPress, func(d *document) script.GuardPressArgs {
			return script.GuardPressArgs{Any: d.doc == doc, Presses: presses}
		}, nil)
		err = a.waitInput(ctx, t.pointer.Do(point, o, p))
		got := endGuard(ctx, docs)
		now, _ := t.inputCounts()
		switch {
		case got.By != nil && err == nil:
			err = failure.PointNotPressed(a.refs, o.X, o.Y, got)
		case got.Hit && got.Presses < presses && err == nil:
			err = failure.PointPressedFewer(o.X, o.Y, got.Presses, presses)
		case got.To != nil:
			at, doc = got.To, got.ToDoc
		case presses > 0 && now == before: // no document has seen it
			at = nil
		}
		if at != nil {
			n := at.In(doc)
			a.outcome.Under = &protocol.Hit{Ref: snapshot.RefOf(a.refs.Number(n)), Role: at.Role, Name: at.Name, Tag: at.Tag}
			a.hit = n.Key
		}
		return err
	}, err
}

// hitAt returns what is hit at a point of the tab's viewport, through frames, and
// the document that it is in; nil if nothing is, and no document where a frame was
// there only for a moment.
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
			return nil, 0, failure.OutsideViewport(x, y, at.Width, at.Height)
		}
		if at.Hit == nil && f != t.frames.main {
			return nil, 0, nil // the frame was there for the document around it, and has gone since
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
