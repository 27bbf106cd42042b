package browser

import (
	"context"
	"encoding/json"
	"time"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

func (t *tab) bindingCalled(_ *cdp.Session, e struct {
	Name    string `json:"name"`
	Payload string `json:"payload"`
}) (changed bool) {
	switch e.Name {
	case script.Reached:
		t.inputsReceived++
	case script.Late:
		var late script.LateReport
		if json.Unmarshal([]byte(e.Payload), &late) != nil {
			break
		}
		to := t.c.reports()
		if late.Before {
			to = &t.c.late // of what was before the action that is under way
		}
		to.Announce(late.Announced...)
		// What an action changes its own watch says.
		t.c.late.Changed = t.c.late.Changed || late.Changed && t == t.c.selected
	}
	return false
}

// inputCount is how often input has reached its element in the tab.
func (t *tab) inputCount() int {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return t.inputsReceived
}

// point is a point of the tab's viewport, as its main document shows it now.
func (t *tab) point(x, y float64) input.Point {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return input.Point{X: x, Y: y, Document: t.frames.main.doc}
}

// point is the element's point in the tab's viewport.
func (el *element) point() input.Point { return el.frame.tab.point(el.x, el.y) }

// click moves the mouse to the element, presses and releases it, and says what was hit:
// all of it is written at once, and waited for together. In a tab of several documents the
// move is waited for first, and nothing is pressed where something else is there then. The
// script calls then with the element afterwards.
func (el *element) click(ctx context.Context, p input.Press, then script.ElementCall) (script.Hit, error) {
	if len(el.guarded) > 0 {
		if there, err := el.arrive(ctx); err != nil || !there {
			el.endHitTest()
			return script.Hit{}, err
		}
	}
	pending := el.frame.tab.pointer.MoveAndClick(el.point(), p)
	return el.collect(ctx, pending, script.HitResultArgs{ElementCall: then, Settle: then.Then == ""})
}

// waitInput waits until Chromium has handled all of the input.
func (a *action) waitInput(ctx context.Context, pending []*cdp.Pending) error {
	for _, p := range pending {
		if err := a.tab.wait(ctx, p, nil); err != nil {
			return err
		}
	}
	return nil
}

// releaseWait is how long the hit test may wait for a release that Chromium has
// answered for: longer than a frame, which the page may be given in between.
const releaseWait = 100 * time.Millisecond

// collect waits for input that was written and for what the hit test saw of it, which
// ends it. A document that the input has left, or that a dialog holds, cannot answer:
// what the hit test reported when the input came, before the page heard of it, says
// whether the element has received it. Errors: stale_ref and dialog_open where it has not.
func (el *element) collect(ctx context.Context, pending []*cdp.Pending, q script.HitResultArgs) (script.Hit, error) {
	t := el.frame.tab
	var got script.Hit
	q.Shown = !el.action.how.unshown
	seen, err := el.in.start(script.HitResult.Call(q))
	defer func() {
		for _, d := range el.guarded {
			d.start(script.EndHitTest.Call(script.None{}))
		}
	}()
	if err != nil {
		return got, err
	}
	for _, p := range pending {
		if err := t.wait(ctx, p, nil); err != nil {
			return got, el.unlessReached(ctx, err)
		}
	}
	// Chromium has answered for the input, so it has been handled; where the
	// release did not come to the hit test (a control that its own mousedown
	// disabled gets none) nobody else ends the waiting.
	release := time.AfterFunc(releaseWait, func() { el.in.start(script.ReleaseHitTest.Call(script.None{})) })
	defer release.Stop()
	got, err = await(ctx, seen, script.HitResult)
	if protocol.CodeOf(err) == protocol.StaleRef && el.reached() {
		got.Hit = true
		return got, nil
	}
	if err == nil && !got.Hit {
		other := el.unguard(ctx)
		el.guarded = nil
		got.Hit, got.Seen = other.Hit, got.Seen || other.Seen
		if other.By != nil {
			got.By = other.By
		}
		if !got.Seen && !got.Hit && !el.reached() {
			t.pointer.Forget()
			return got, failure.Unaccounted(el.action.refs, el.ref)
		}
	}
	if !got.Hit {
		t.pointer.Forget() // tried again from the beginning
	}
	if got.Settled != nil {
		t.settledWith(el.frame, *got.Settled)
	}
	return got, el.unlessReached(ctx, err)
}

// reached says whether input has reached the element since it was located.
func (el *element) reached() bool { return el.frame.tab.inputCount() != el.inputsBefore }

// unlessReached is unsent where the input has not reached the element.
func (el *element) unlessReached(ctx context.Context, err error) error {
	if err == nil || el.reached() {
		return err
	}
	return el.frame.tab.unsent(ctx, err)
}

// missed is the error of input that did not reach its element although it was
// tried again.
func (el *element) missed(got script.Hit) error {
	refs := el.action.refs
	e, err := refs.Lookup(el.ref)
	if err != nil {
		return err
	}
	why := script.Located{Reason: "moving"}
	if got.By != nil {
		why = script.Located{Reason: "covered", By: got.By}
	}
	doc := el.key.Doc
	if el.missedIn != 0 && got.By != nil {
		doc = el.missedIn
	}
	return failure.NotActionable(refs, e, doc, why)
}
