package browser

import (
	"context"
	"encoding/json"
	"time"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

type rawJSON = json.RawMessage

// click clicks an element as a person would: it waits until the element is
// attached, visible, stable, enabled and what is hit at its point, scrolling
// there, then moves the mouse, presses and releases (Input.dispatchMouseEvent).
// Nothing else ever receives the press. An option of a closed select is
// selected. Errors: those of a ref, not_actionable, invalid_params.
func (c *Context) click(ctx context.Context, refs *snapshot.Refs, o protocol.Click, h how) (protocol.Effect, error) {
	p, err := pressOf(o)
	if err != nil {
		return protocol.Effect{}, err
	}
	return c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		el, err := c.clickOn(ctx, refs, o.Ref, p, script.Lookup{Want: clickable})
		if el == nil {
			return snapshot.Key{}, err
		}
		return el.key, err
	})
}

var clickable = []string{wantVisible, wantStable, wantEnabled, wantHit}

// clickOn locates an element and clicks it, again while there is time where the
// click was kept from something else that had come between: a menu that opens
// under the pointer, a layout that jumps.
func (c *Context) clickOn(ctx context.Context, refs *snapshot.Refs, ref string, p press, q script.Lookup) (*element, error) {
	q.Ups, q.Until = p.count, time.Now().Add(waiting(ctx))
	for ; ; q.Again = true {
		el, err := c.locate(ctx, refs, ref, q)
		if err != nil {
			return nil, err
		}
		if el.Option != nil {
			return el, el.choose(ctx)
		}
		got, err := el.click(ctx, p, script.ElementCall{})
		if err != nil && !el.reached() {
			return nil, err
		}
		if err != nil || got.Hit {
			return el, err
		}
		if q.Over() {
			return nil, missed(refs, el, got)
		}
	}
}

// choose selects the option that the element is, of a closed select.
func (el *element) choose(ctx context.Context) error {
	_, err := evaluate(ctx, el.in, script.ChooseOption, el.Target)
	return err
}
