package browser

import (
	"context"

	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// hoveringKey marks the context of an action that may open something a while later.
type hoveringKey struct{}

// Hover moves the mouse over an element, and leaves it there. Errors: those of
// a ref, not_actionable.
func (c *Context) Hover(ctx context.Context, refs *snapshot.Refs, ref string) (protocol.Effect, error) {
	return c.act(context.WithValue(ctx, hoveringKey{}, true), refs, func(ctx context.Context) (snapshot.Key, error) {
		el, err := c.locate(ctx, refs, ref, lookup{Want: []string{wantVisible, wantStable, wantHit}})
		if err != nil {
			return snapshot.Key{}, err
		}
		t := el.frame.tab
		moved := t.mouse(input.DispatchMouseEventTypeMouseMoved, el.x, el.y, press{}, 0, false)
		el.disarm()
		return el.key, t.wait(ctx, moved, nil)
	})
}
