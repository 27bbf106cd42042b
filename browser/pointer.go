package browser

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Bits of Input's modifiers.
const (
	altKey     = 1
	controlKey = 2
	metaKey    = 4
	shiftKey   = 8
)

// modifierBits are the names of modifier keys.
var modifierBits = map[string]int64{"Alt": altKey, "Control": controlKey, "Meta": metaKey, "Shift": shiftKey}

// buttons are the mouse buttons, and their bits in MouseEvent.buttons.
var buttons = map[string]int64{"left": 1, "right": 2, "middle": 4}

// press is how the mouse is pressed.
type press struct {
	button    string // left, middle, right
	count     int
	modifiers int64
}

func pressOf(o protocol.Click) (press, error) {
	p := press{button: o.Button, count: max(o.Count, 1)}
	if p.button == "" {
		p.button = "left"
	}
	if buttons[p.button] == 0 {
		return p, protocol.Errorf(protocol.InvalidParams, "button %q: takes left, middle or right", o.Button).With("parameter", "button")
	}
	if p.count > 3 {
		return p, protocol.Errorf(protocol.InvalidParams, "count %d: takes 1, 2 or 3", o.Count).With("parameter", "count")
	}
	for _, m := range o.Modifiers {
		bit, ok := modifierBits[m]
		if !ok {
			return p, protocol.Errorf(protocol.InvalidParams, "modifiers %q: takes Alt, Control, Meta and Shift", m).With("parameter", "modifiers")
		}
		p.modifiers |= bit
	}
	return p, nil
}

func (t *tab) bindingCalled(_ *cdp.Session, e struct {
	Name string `json:"name"`
}) (changed bool) {
	if e.Name == script.Reached {
		t.reached++
	}
	return false
}

// reaches is how often input has reached its element in the tab.
func (t *tab) reaches() int {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return t.reached
}

// mouse writes one mouse event (Input.dispatchMouseEvent). The page target's
// session takes it, wherever the frame lives.
func (t *tab) mouse(kind input.DispatchMouseEventType, x, y float64, p press, clicks int, held bool) *cdp.Pending {
	e := input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Modifiers: p.modifiers, ClickCount: int64(clicks), Button: "none"}
	if kind != input.DispatchMouseEventTypeMouseMoved || held {
		e.Button = input.MouseButton(p.button)
	}
	if held {
		e.Buttons = buttons[p.button]
	}
	t.pointer = t.pointerAt(x, y)
	return t.cdp.Send(input.DispatchMouseEvent.Method, e)
}

// pointer is where the mouse was last, in the viewport of which document.
type pointer struct {
	x, y float64
	doc  int // 0: nobody knows
}

func (t *tab) pointerAt(x, y float64) pointer {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return pointer{x, y, t.frames.main.doc}
}

// click moves the mouse to the element, unless it is there already, presses and
// releases it, and says what was hit: all of it written at once, and waited for
// together. then is called by the script with the element afterwards. A press
// without a move enters what has come under the mouse since (Pointer Events 3, 5.3).
func (el *element) click(ctx context.Context, p press, then script.ElementCall) (script.Hit, error) {
	t := el.frame.tab
	var pending []*cdp.Pending
	if at := t.pointerAt(el.x, el.y); at != t.pointer || at.doc == 0 {
		pending = append(pending, t.mouse(input.DispatchMouseEventTypeMouseMoved, el.x, el.y, p, 0, false))
	}
	for n := 1; n <= p.count; n++ {
		pending = append(pending,
			t.mouse(input.DispatchMouseEventTypeMousePressed, el.x, el.y, p, n, true),
			t.mouse(input.DispatchMouseEventTypeMouseReleased, el.x, el.y, p, n, false))
	}
	return el.collect(ctx, pending, script.HitResultArgs{ElementCall: then, Settle: then.Then == ""})
}

// releaseWait is how long the guard may wait for a release that Chromium has
// answered for: longer than a frame, which the page may be given in between.
const releaseWait = 100 * time.Millisecond

// collect waits for input that was written and for what the guard saw of it.
// A document that the input has left, or that a dialog holds, cannot say: what the
// guard told when the input came, before the page heard of it, says whether the
// element has received it. Errors: stale_ref and dialog_open where it has not.
func (el *element) collect(ctx context.Context, pending []*cdp.Pending, q script.HitResultArgs) (script.Hit, error) {
	t := el.frame.tab
	var got script.Hit
	q.Frame = !t.unshown()
	seen, err := el.in.start(script.HitResult.Call(q))
	for _, f := range el.frames {
		f.start(script.EndHitTest.Call(script.None{}))
	}
	if err != nil {
		return got, err
	}
	for _, p := range pending {
		if err := t.wait(ctx, p, nil); err != nil {
			return got, el.unlessReached(ctx, err)
		}
	}
	// Chromium has answered for the input, so it has been handled; where the
	// release did not come by the guard (a control that its own mousedown
	// disabled gets none) nobody else ends the waiting.
	release := time.AfterFunc(releaseWait, func() { el.in.start(script.ReleaseHitTest.Call(script.None{})) })
	defer release.Stop()
	got, err = await(ctx, seen, script.HitResult)
	if protocol.CodeOf(err) == protocol.StaleRef && el.reached() {
		got.Hit = true
		return got, nil
	}
	if !got.Hit {
		t.pointer = pointer{} // tried again from the beginning
	}
	if got.Settled != nil {
		t.settledWith(el.frame, *got.Settled)
	}
	return got, el.unlessReached(ctx, err)
}

// unshown says whether the client wants nothing shown after the action under way.
func (t *tab) unshown() (yes bool) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.happened(func(h *happenings) { yes = h.unshown })
	return yes
}

// reached says whether input has reached the element since it was located. What goes
// to the document of a frame the guard of the one around it cannot see.
func (el *element) reached() bool { return el.Framed || el.frame.tab.reaches() != el.reaches }

// unlessReached is unsent where the input has not reached the element.
func (el *element) unlessReached(ctx context.Context, err error) error {
	if err == nil || el.reached() {
		return err
	}
	return el.frame.tab.unsent(ctx, err)
}

// missed is the error of input that did not reach its element although it was
// tried again.
func missed(refs *snapshot.Refs, el *element, got script.Hit) error {
	e, err := refs.Lookup(el.ref)
	if err != nil {
		return err
	}
	why := script.Located{Reason: "moving"}
	if got.By != nil {
		why = script.Located{Reason: "covered", By: got.By}
	}
	return notActionable(refs, e, el.key.Doc, why)
}
