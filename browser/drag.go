package browser

import (
	"context"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// drag presses the mouse on one element, moves it to another and releases it
// there. An element of HTML's drag and drop (draggable) is dragged and dropped
// with its data (Input.setInterceptDrags). Errors: those of a ref,
// not_actionable.
func drag(o protocol.Drag) actionFunc {
	return func(ctx context.Context, a *action) error {
		el, got, err := a.dragTo(ctx, o.Ref, o.To)
		return a.setReceiver(el, got, err)
	}
}

// setReceiver notes what received the input that was for the element: that, another that
// got names, or, where nothing has been seen to, none.
func (a *action) setReceiver(el *element, got script.Hit, err error) error {
	switch {
	case got.To != nil:
		n := got.To.In(got.ToDoc)
		a.refs.Number(n)
		a.hit = n.Key
	case got.Hit && !got.Part:
		a.hit = el.key
	}
	return err
}

// dragTo returns the element that was dragged to, and what received the end of the drag.
func (a *action) dragTo(ctx context.Context, from, to string) (target *element, got script.Hit, err error) {
	// The second element is found first, so that finding it cannot scroll the
	// first one away afterwards; where both cannot be in view the first is.
	target, err = a.locate(ctx, to, script.Lookup{Want: []string{wantVisible, wantStable, wantHit}})
	if err != nil {
		return nil, got, snapshot.ForParameter("to", err)
	}
	target.endHitTest()
	el, err := a.locate(ctx, from, script.Lookup{Want: clickable, Presses: 1})
	if err != nil {
		return nil, got, err
	}
	dragged, err := a.tab.pointer.StartDrag(ctx, a.tab.wait)
	if err != nil {
		return nil, got, err
	}
	defer dragged.Stop()
	if err := dragged.Press(ctx, el.point()); err != nil {
		return nil, got, err
	}
	// Where the target is now that both have been brought into view; the page
	// may also have changed when the mouse went down.
	x, y, err := target.scrollToPoint(ctx, el)
	if err != nil {
		return nil, got, err
	}
	release := target.Target
	if el.pressReceived(ctx) { // else the mouse is released where it is
		if target.in.doc != el.in.doc { // which then may have the release
			release = -1
			target.guard(ctx, el.frame.tab.otherDocuments(el.in), script.GuardPressArgs{Node: target.Target}, nil)
		}
		if err := dragged.MoveTo(ctx, x, y); err != nil {
			return nil, got, err
		}
		if dragged.HasData() {
			el.endHitTest()
			got, err = target.dropOn(ctx, dragged)
			return target, got, err
		}
	}
	got, err = el.collect(ctx, []*cdp.Pending{dragged.Release()}, script.HitResultArgs{Settle: true, To: release})
	if err == nil && !got.Hit {
		err = el.missError()
	}
	return target, got, err
}

// pressReceived reports whether the press has come to the element, in its own document or in
// one that it frames. Those in other processes than the target's are asked, since what they
// reported of the press may be on its way.
func (el *element) pressReceived(ctx context.Context) bool {
	if !el.inputReceived() {
		el.hitTestNow(ctx, true)
	}
	return el.inputReceived()
}

// dropOn drops the data of HTML's drag and drop on the element, and returns what received it.
// No document but its own, or that of the frame that it is, gets the drop.
func (el *element) dropOn(ctx context.Context, dragged *input.Drag) (script.Hit, error) {
	el.guarded = el.frame.tab.otherDocuments(nil)
	el.guard(ctx, el.guarded, script.GuardPressArgs{Node: el.Target, Any: true}, nil)
	err := dragged.Drop(ctx)
	got := el.recordHit(endGuard(ctx, el.guarded))
	if err == nil && got.By != nil {
		err = el.missError()
	}
	return got, err
}

// scrollToPoint returns the element's point in the tab after scrolling: its middle, although
// what is being dragged lies over it.
func (el *element) scrollToPoint(ctx context.Context, dragged *element) (x, y float64, err error) {
	over := 0
	if dragged.frame == el.frame {
		over = dragged.Target
	}
	at, err := evaluate(ctx, el.in, script.Middle, script.MiddleArgs{Node: el.Target, Over: over})
	if err != nil {
		return 0, 0, err
	}
	if at.Gone {
		return 0, 0, protocol.Errorf(protocol.NotActionable, "%s has gone while something was dragged to it", el.ref).With("reason", "detached")
	}
	return el.frame.toTab(ctx, at.X, at.Y)
}
