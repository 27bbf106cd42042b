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
		moved := a.tab.pointer.Move(el.point())
		el.endHitTest()
		return a.hits(el, a.tab.wait(ctx, moved, nil))
	}
}
