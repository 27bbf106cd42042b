package browser

import (
	"context"
	"time"

	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// click clicks an element as a person would: it waits until the element is
// attached, visible, stable, enabled and what is hit at its point, scrolling
// there, then moves the mouse, presses and releases (Input.dispatchMouseEvent).
// Nothing else ever receives the press. An option of a closed select is
// selected. Errors: those of a ref, not_actionable, invalid_params.
func click(o protocol.Click) (actionFunc, error) {
	p, err := input.ParsePress(o.Button, o.Count, o.Modifiers)
	return func(ctx context.Context, a *action) error {
		return a.setHit(a.clickOn(ctx, o.Ref, p))
	}, err
}

var clickable = []string{wantVisible, wantStable, wantEnabled, wantHit}

// clickOn locates an element and clicks it, again while there is time where the
// click was kept from something else that had come between: a menu that opens
// under the pointer, a layout that jumps.
func (a *action) clickOn(ctx context.Context, ref string, p input.Press) (*element, error) {
	q := script.Lookup{Want: clickable, Presses: p.Count, Until: time.Now().Add(locateTimeoutFor(ctx))}
	for ; ; q.Again = true {
		el, err := a.locate(ctx, ref, q)
		if err != nil {
			return nil, err
		}
		if el.Option != nil {
			return el, el.chooseOption(ctx)
		}
		got, err := el.click(ctx, p, script.ElementCall{})
		if err != nil && !el.inputReceived() {
			return nil, err
		}
		if err != nil || got.Hit {
			return el, err
		}
		if q.Over() {
			return nil, el.missError()
		}
	}
}

// chooseOption selects the option that the element is, of a closed select.
func (el *element) chooseOption(ctx context.Context) error {
	_, err := evaluate(ctx, el.in, script.ChooseOption, el.Target)
	return err
}
