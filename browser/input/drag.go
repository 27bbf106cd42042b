package input

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/browser/cdp"
)

// dragSteps is over how many moves the mouse is dragged: pages that sort by mousemove
// handle each.
const dragSteps = 8

// Wait waits for the answer of a command, decodes it into result where that is not nil,
// and returns the error that the client is to see.
type Wait func(ctx context.Context, p *cdp.Pending, result any) error

// Drag is one drag with the left button: press, move, then drop or release. Where the
// page drags with HTML's drag and drop, Chromium hands its data out to the drag, which
// drops it itself (Input.setInterceptDrags). Call its methods in that order; Stop ends it.
type Drag struct {
	pointer     *Pointer
	wait        Wait
	intercepted <-chan jsonv2.Value
	unsubscribe func()
	at          Point
	data        *input.DragData // of HTML's drag and drop; nil: the page follows the mouse
	outside     bool            // it came from outside of the page: no button is down in it
	pressed     bool            // the button is down
}

// StartDrag gets ready to drag. Nothing has been pressed yet.
func (p *Pointer) StartDrag(ctx context.Context, wait Wait) (*Drag, error) {
	on := p.s.Send(input.SetInterceptDrags.Method, input.SetInterceptDragsParams{Enabled: true})
	if err := wait(ctx, on, nil); err != nil {
		p.s.Send(input.SetInterceptDrags.Method, input.SetInterceptDragsParams{Enabled: false})
		return nil, err
	}
	d := &Drag{pointer: p, wait: wait}
	d.intercepted, d.unsubscribe = p.s.Subscribe("Input.dragIntercepted")
	return d, nil
}

// Stop leaves HTML's drag and drop to Chromium again, and releases a button that is still down.
func (d *Drag) Stop() {
	if d.pressed {
		d.at = d.pointer.at // however far the moves came
		d.Release()
	}
	d.unsubscribe()
	d.pointer.s.Send(input.SetInterceptDrags.Method, input.SetInterceptDragsParams{Enabled: false})
}

// Press moves the mouse to the point where the drag begins and presses the button.
func (d *Drag) Press(ctx context.Context, at Point) error {
	d.at, d.pressed = at, true
	moved := d.pointer.Move(at)
	pressed := d.pointer.press(at, LeftClick, 1)
	if err := d.wait(ctx, moved, nil); err != nil {
		return err
	}
	return d.wait(ctx, pressed, nil)
}

// MoveTo moves the pressed mouse in steps to the middle of what it is dragged to, and a
// little beyond it, or until Chromium says that HTML's drag and drop has begun.
func (d *Drag) MoveTo(ctx context.Context, x, y float64) error {
	from := d.at
	d.at.X, d.at.Y = past(from.X, x), past(from.Y, y)
	for i := 1; i <= dragSteps; i++ {
		part := float64(i) / dragSteps
		step := Point{from.X + (d.at.X-from.X)*part, from.Y + (d.at.Y-from.Y)*part, from.Document}
		moved := d.pointer.send(input.DispatchMouseEventTypeMouseMoved, step, LeftClick, 0, true)
		if err := d.wait(ctx, moved, nil); err != nil {
			return err
		}
		select {
		case raw := <-d.intercepted:
			return d.take(raw)
		default:
		}
	}
	select {
	case raw := <-d.intercepted:
		return d.take(raw)
	case <-time.After(10 * time.Millisecond):
		return nil
	}
}

func (d *Drag) take(raw jsonv2.Value) error {
	var e struct {
		Data input.DragData `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	d.data = &e.Data
	return nil
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

// DragFiles returns the end of a drag of files from outside of the page: only Drop may be
// called on it.
func (p *Pointer) DragFiles(wait Wait, at Point, paths []string) *Drag {
	const copies = 1 // DragOperation: copy
	return &Drag{pointer: p, wait: wait, at: at, outside: true, data: &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: copies}}
}

// HasData reports whether HTML's drag and drop has begun: then Drop ends the drag, else Release.
func (d *Drag) HasData() bool { return d.data != nil }

// Release releases the button where the drag is.
func (d *Drag) Release() *cdp.Pending {
	d.pressed = false
	return d.pointer.release(d.at, LeftClick, 1)
}

// Drop drops the data of HTML's drag and drop (Input.dispatchDragEvent) and releases the
// button.
func (d *Drag) Drop(ctx context.Context) error {
	var pending []*cdp.Pending
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		pending = append(pending, d.pointer.s.Send(input.DispatchDragEvent.Method, input.DispatchDragEventParams{Type: kind, X: d.at.X, Y: d.at.Y, Data: d.data}))
	}
	if !d.outside {
		pending = append(pending, d.Release())
	}
	for _, p := range pending {
		if err := d.wait(ctx, p, nil); err != nil {
			return err
		}
	}
	return nil
}
