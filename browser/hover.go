package browser

import (
	"context"

	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// hover moves the mouse over an element, and leaves it there. Errors: those of
// a ref, not_actionable.
func (c *Context) hover(ctx context.Context, refs *snapshot.Refs, o protocol.Hover, h how) (protocol.Effect, error) {
	return c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		el, err := c.locate(ctx, refs, o.Ref, script.Lookup{Want: []string{wantVisible, wantStable, wantHit}})
		if err != nil {
			return snapshot.Key{}, err
		}
		t := el.frame.tab
		moved := t.mouse(input.DispatchMouseEventTypeMouseMoved, el.x, el.y, press{}, 0, false)
		el.disarm()
		return el.key, t.wait(ctx, moved, nil)
	})
}
