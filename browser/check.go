package browser

import (
	"context"
	"time"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// checkWithin is how many milliseconds a page may take to show the state that a click set.
const checkWithin = 500

// mixedClicks are how many clicks take a checkbox that is mixed to either state.
const mixedClicks = 3

// check clicks a checkbox, radio button or switch unless it has the wanted state already.
// If the element itself is hidden, its label or styled twin is clicked.
// Errors: those of a ref; not_actionable, also if the page kept the old state;
// invalid_params if the element cannot be checked.
func check(o protocol.Check) actionFunc {
	return func(ctx context.Context, a *action) error {
		return a.setHit(a.checkOn(ctx, o.Ref, o.Checked))
	}
}

func (a *action) checkOn(ctx context.Context, ref string, checked bool) (*element, error) {
	q := script.Lookup{Want: clickable, Control: "check", Presses: 1, ElementCall: script.Checked.With(script.None{}), Until: time.Now().Add(locateTimeoutFor(ctx))}
	for clicks := 0; ; q.Again = true {
		el, err := a.locate(ctx, ref, q)
		if err != nil {
			return nil, err
		}
		now, err := script.Checked.Result(el.Then)
		if err != nil {
			return nil, err
		}
		who, err := failure.Describe(a.refs, ref)
		if err != nil {
			return nil, err
		}
		switch {
		case now.State == nil:
			return nil, failure.NoCheckbox(who)
		case now.State == checked:
			el.endHitTest()
			return el, nil
		case now.Radio && !checked:
			return nil, failure.KeepsChecked(who)
		}
		got, err := el.click(ctx, input.LeftClick, script.Checked.With(script.None{}))
		if err != nil && !el.inputReceived() {
			return nil, err
		}
		if err != nil {
			return el, err
		}
		if !got.Hit {
			if q.Over() {
				return nil, el.missError()
			}
			continue
		}
		now, err = evaluate(ctx, el.in, script.CheckedNow, script.CheckedNowArgs{ID: el.Target, Wanted: checked, MS: checkWithin})
		if protocol.CodeOf(err) == protocol.StaleRef {
			return el, nil // it led to another document
		}
		if err != nil || !now.There || now.State == checked {
			return el, err
		}
		if clicks++; now.State == "mixed" && clicks < mixedClicks {
			continue // mixed goes to one of the two first
		}
		return nil, failure.KeptState(a.refs, who, checked, got)
	}
}
