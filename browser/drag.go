package browser

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// dragSteps is over how many moves the mouse is dragged: pages that sort by
// mousemove look at each.
const dragSteps = 8

// drag presses the mouse on one element, moves it to another and releases it
// there. An element of HTML's drag and drop (draggable) is dragged and dropped
// with its data (Input.setInterceptDrags). Errors: those of a ref,
// not_actionable.
func (c *Context) drag(ctx context.Context, refs *snapshot.Refs, o protocol.Drag, h how) (protocol.Effect, error) {
	return c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		el, err := c.dragTo(ctx, refs, o.Ref, o.To)
		if el == nil {
			return snapshot.Key{}, err
		}
		return el.key, err
	})
}

// dragTo returns the element that was dragged to.
func (c *Context) dragTo(ctx context.Context, refs *snapshot.Refs, from, to string) (*element, error) {
	// The second element is found first, so that finding it cannot scroll the
	// first one away afterwards; where both cannot be in view the first is.
	target, err := c.locate(ctx, refs, to, script.Lookup{Want: []string{wantVisible, wantStable, wantHit}})
	if err != nil {
		return nil, snapshot.ForParameter("to", err)
	}
	target.disarm()
	el, err := c.locate(ctx, refs, from, script.Lookup{Want: clickable, Ups: 1})
	if err != nil {
		return nil, err
	}
	p := press{button: "left", count: 1}
	t := el.frame.tab

	if err := t.wait(ctx, t.cdp.Send(input.SetInterceptDrags.Method, input.SetInterceptDragsParams{Enabled: true}), nil); err != nil {
		return nil, err
	}
	defer t.cdp.Send(input.SetInterceptDrags.Method, input.SetInterceptDragsParams{Enabled: false})
	intercepted, stop := t.cdp.Subscribe("Input.dragIntercepted")
	defer stop()

	pending := []*cdp.Pending{
		t.mouse(input.DispatchMouseEventTypeMouseMoved, el.x, el.y, p, 0, false),
		t.mouse(input.DispatchMouseEventTypeMousePressed, el.x, el.y, p, 1, true),
	}
	if err := t.waitKeys(ctx, pending); err != nil {
		el.disarm()
		return nil, err
	}
	// Where the target is now that both have been brought into view; the page
	// may also have changed when the mouse went down.
	x, y, err := target.whereNow(ctx, el)
	if err != nil {
		t.mouse(input.DispatchMouseEventTypeMouseReleased, el.x, el.y, p, 1, false)
		el.disarm()
		return nil, err
	}
	x, y = past(el.x, x), past(el.y, y)
	data, err := t.dragMove(ctx, el, x, y, p, intercepted)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return target, el.release(ctx, refs, x, y, p)
	}
	return target, t.dropData(ctx, el, x, y, p, data)
}

// past is where a drag towards a middle ends: a little beyond it. Lists that
// sort by dragging change places only when the mouse has passed the middle of
// the item below or to the right.
func past(from, middle float64) float64 {
	switch d := middle - from; {
	case d > 8:
		return middle + 2
	case d < -8:
		return middle - 2
	}
	return middle
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

// dragMove moves the pressed mouse in steps, until it is there or Chromium
// says that HTML's drag and drop has begun, with its data.
func (t *tab) dragMove(ctx context.Context, el *element, x, y float64, p press, intercepted <-chan jsonv2.Value) (*input.DragData, error) {
	for i := 1; i <= dragSteps; i++ {
		part := float64(i) / dragSteps
		moved := t.mouse(input.DispatchMouseEventTypeMouseMoved, el.x+(x-el.x)*part, el.y+(y-el.y)*part, p, 0, true)
		if err := t.wait(ctx, moved, nil); err != nil {
			return nil, err
		}
		select {
		case raw := <-intercepted:
			var e struct {
				Data input.DragData `json:"data"`
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, err
			}
			return &e.Data, nil
		default:
		}
	}
	select {
	case raw := <-intercepted:
		var e struct {
			Data input.DragData `json:"data"`
		}
		err := json.Unmarshal(raw, &e)
		return &e.Data, err
	case <-time.After(10 * time.Millisecond):
		return nil, nil
	}
}

// release lets the mouse go at the end of a drag, and sees what the guard saw.
func (el *element) release(ctx context.Context, refs *snapshot.Refs, x, y float64, p press) error {
	t := el.frame.tab
	up := t.mouse(input.DispatchMouseEventTypeMouseReleased, x, y, p, 1, false)
	got, err := el.collect(ctx, []*cdp.Pending{up}, script.HitResultArgs{Settle: true})
	if err != nil || got.Hit {
		return err
	}
	return missed(refs, el, got)
}

// dropData carries HTML's drag and drop to its end (Input.dispatchDragEvent).
func (t *tab) dropData(ctx context.Context, el *element, x, y float64, p press, data *input.DragData) error {
	el.disarm()
	var pending []*cdp.Pending
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		pending = append(pending, t.cdp.Send(input.DispatchDragEvent.Method, input.DispatchDragEventParams{Type: kind, X: x, Y: y, Data: data}))
	}
	pending = append(pending, t.mouse(input.DispatchMouseEventTypeMouseReleased, x, y, p, 1, false))
	return t.waitKeys(ctx, pending)
}
