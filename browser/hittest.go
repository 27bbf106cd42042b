package browser

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

func (t *tab) bindingCalled(s *cdp.Session, e runtime.EventBindingCalled) (changed bool) {
	switch e.Name {
	case script.Asks:
		t.c.people.Asked(t.cdp, s, e.ExecutionContextID, e.Payload)
	case script.Reached:
		t.inputsReceived++
	case script.Late:
		var late script.LateReport
		if json.Unmarshal([]byte(e.Payload), &late) != nil {
			break
		}
		to := t.c.reports()
		if late.Before {
			to = &t.c.betweenActions // of what was before the action that is under way
		}
		to.Announce(late.Announced...)
		// What an action changes its own watch says.
		t.c.betweenActions.Changed = t.c.betweenActions.Changed || late.Changed && t == t.c.selected
	}
	return false
}

// inputCounts returns how often input has reached its element in the tab, and how many dialogs
// the session has opened in this action.
func (t *tab) inputCounts() (inputs, dialogs int) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return t.inputsReceived, t.c.dialogs
}

// point returns a point of the tab's viewport, as its main document shows it now.
func (t *tab) point(x, y float64) input.Point {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return input.Point{X: x, Y: y, Document: t.frames.main.doc}
}

// point returns the element's point in the tab's viewport.
func (el *element) point() input.Point { return el.frame.tab.point(el.x, el.y) }

// click moves the mouse to the element, presses and releases it, and says what was hit: all of it is written at
// once, and waited for together. In a tab of several documents the move is waited for first, and nothing is
// pressed where something else is there then. The script calls then with the element afterwards.
func (el *element) click(ctx context.Context, p input.Press, then script.ElementCall) (script.Hit, error) {
	if len(el.guarded) > 0 {
		if got, err := el.movePointerTo(ctx); err != nil || !got.Hit {
			el.endHitTest()
			return el.recordHit(got), err
		}
	}
	pending := el.frame.tab.pointer.MoveAndClick(el.point(), p)
	got, err := el.collect(ctx, pending, script.HitResultArgs{ElementCall: then, To: el.Target, Settle: then.Then == ""})
	if err == nil && got.Hit && got.Presses < p.Count {
		el.frame.tab.pointer.Forget()
		err = failure.PressedFewer(el.action.refs, el.ref, got.Presses, p.Count)
	}
	return got, err
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

// waitKeys is waitInput for keys, which may close their tab. If the tab has gone, the keys count as received.
func (a *action) waitKeys(ctx context.Context, pending []*cdp.Pending) error {
	err := a.waitInput(ctx, pending)
	if protocol.CodeOf(context.Cause(a.tab.life)) == protocol.StaleRef {
		return nil
	}
	return err
}

// releaseWait is how long the hit test may wait for a release that Chromium has answered for: longer than a frame.
const releaseWait = 100 * time.Millisecond

// collect waits for input that was written and for what the hit test saw of it, which ends it. A document that the
// input has left, or that a dialog holds, cannot answer: what the hit test reported when the input came, before the
// page heard of it, says whether the element has received it. Errors: stale_ref and dialog_open where it has not.
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
	if err = el.action.waitInput(ctx, pending); err == nil {
		// Chromium has handled the input; where the release did not come to the hit test (a control that its own mousedown
		// disabled gets none) nobody else ends the waiting. Sent after this action, that would end the next one's.
		if !seen.AnsweredWithin(ctx, releaseWait) {
			el.in.start(script.ReleaseHitTest.Call(script.None{}))
		}
		got, err = await(ctx, seen, script.HitResult)
	} else if protocol.CodeOf(err) != protocol.StaleRef {
		return got, el.asUndelivered(ctx, err)
	}
	if protocol.CodeOf(err) == protocol.StaleRef && el.inputReceived() {
		got.Hit, got.Presses = true, el.presses // as far as anybody knows
		return got, nil
	}
	got = got.In(el.in.doc)
	if err == nil && (!got.Hit || got.Part) {
		alone := len(el.guarded) == 0
		other := endGuard(ctx, el.guarded)
		el.guarded = nil
		got.Part = got.Part && !other.Hit
		got.Add(other)
		if el.Frame != 0 && !got.Hit && el.inputReceived() {
			got.Hit, got.Presses = true, el.presses // the document in the frame has been left
		}
		if !got.Seen && !got.Hit && !el.inputReceived() {
			t.pointer.Forget()
			// While a dialog is open Chromium drops input: where the one document there is has
			// not seen the press, nobody has, and it can be tried again.
			if _, dialogs := t.inputCounts(); alone && dialogs != el.dialogsBefore {
				return got, nil
			}
			return got, failure.Unaccounted(el.action.refs, el.ref)
		}
	}
	if !got.Hit {
		t.pointer.Forget() // tried again from the beginning
	}
	if got.Settled != nil {
		t.setSettleResult(el.frame, *got.Settled)
	}
	if err == nil && got.Hit && got.By != nil {
		t.pointer.Forget()
		err = failure.PressOf(el.action.refs, el.ref, got)
	}
	return el.recordHit(got), el.asUndelivered(ctx, err)
}

// recordHit returns got, and keeps what intercepted the input for missError.
func (el *element) recordHit(got script.Hit) script.Hit {
	if got.By != nil {
		el.action.interceptedBy = got
	}
	return got
}

// inputReceived reports whether input has reached the element since it was located.
func (el *element) inputReceived() bool {
	inputs, _ := el.frame.tab.inputCounts()
	return inputs != el.inputsBefore
}

// asUndelivered returns err unchanged if the input reached the element; otherwise tab.asUndelivered(err).
func (el *element) asUndelivered(ctx context.Context, err error) error {
	if err == nil || el.inputReceived() {
		return err
	}
	return el.frame.tab.asUndelivered(ctx, err)
}

// missError returns the error of input that did not reach its element, after any retries.
// It names what intercepted it last.
func (el *element) missError() error {
	return failure.Missed(el.action.refs, el.ref, el.key.Doc, el.action.interceptedBy)
}
