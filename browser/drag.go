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
func drag(o protocol.Drag) step {
	return func(ctx context.Context, a *action) error {
		return a.hits(a.dragTo(ctx, o.Ref, o.To))
	}
}

// dragTo returns the element that was dragged to.
func (a *action) dragTo(ctx context.Context, from, to string) (*element, error) {
	// The second element is found first, so that finding it cannot scroll the
	// first one away afterwards; where both cannot be in view the first is.
	target, err := a.locate(ctx, to, script.Lookup{Want: []string{wantVisible, wantStable, wantHit}})
	if err != nil {
		return nil, snapshot.ForParameter("to", err)
	}
	target.endHitTest()
	el, err := a.locate(ctx, from, script.Lookup{Want: clickable, Ups: 1})
	if err != nil {
		return nil, err
	}
	dragged, err := a.tab.pointer.StartDrag(ctx, a.tab.wait)
	if err != nil {
		return nil, err
	}
	defer dragged.Stop()
	if err := dragged.Press(ctx, el.point()); err != nil {
		el.endHitTest()
		return nil, err
	}
	// Where the target is now that both have been brought into view; the page
	// may also have changed when the mouse went down.
	x, y, err := target.whereNow(ctx, el)
	if err != nil {
		dragged.Release()
		el.endHitTest()
		return nil, err
	}
	if err := dragged.MoveTo(ctx, x, y); err != nil {
		return nil, err
	}
	if dragged.HasData() {
		el.endHitTest()
		return target, target.dropOn(ctx, dragged)
	}
	return target, el.release(ctx, dragged)
}

// dropOn drops the data of HTML's drag and drop on the element. No document but its own,
// or that of the frame that it is, gets the drop.
func (el *element) dropOn(ctx context.Context, dragged *input.Drag) error {
	el.guardOthers(ctx)
	err := dragged.Drop(ctx)
	if got := el.unguard(ctx); err == nil && got.By != nil {
		err = el.missed(got)
	}
	return err
}

// whereNow is the element's point in the tab after scrolling: its middle, although
// what is being dragged lies over it.
func (el *element) whereNow(ctx context.Context, dragged *element) (x, y float64, err error) {
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

// release lets the mouse go at the end of a drag, and collects what the hit test saw.
func (el *element) release(ctx context.Context, dragged *input.Drag) error {
	got, err := el.collect(ctx, []*cdp.Pending{dragged.Release()}, script.HitResultArgs{Settle: true})
	if err != nil || got.Hit {
		return err
	}
	return el.missed(got)
}
