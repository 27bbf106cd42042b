package browser

import (
	"context"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// hover moves the mouse over an element, and leaves it there. Errors: those of
// a ref, not_actionable.
func hover(o protocol.Hover) step {
	return func(ctx context.Context, a *action) error {
		el, err := a.locate(ctx, o.Ref, script.Lookup{Want: []string{wantVisible, wantStable, wantHit}})
		if err != nil {
			return err
		}
		defer el.endHitTest()
		if err := a.tab.wait(ctx, a.tab.pointer.Move(el.point()), nil); err != nil {
			return a.hits(el, err)
		}
		if over, err := evaluate(ctx, el.in, script.IsOver, script.None{}); err == nil && !over {
			return nil // something else has come under the pointer
		}
		return a.hits(el, nil)
	}
}
