package browser

import (
	"context"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// hover moves the mouse over an element, and leaves it there. Errors: those of a ref, not_actionable also where the
// pointer has not come over it.
func hover(o protocol.Hover) actionFunc {
	return func(ctx context.Context, a *action) error {
		el, err := a.locate(ctx, o.Ref, script.Lookup{Want: []string{wantVisible, wantStable, wantHit}})
		if err != nil {
			return err
		}
		defer el.endHitTest()
		if err := a.waitInput(ctx, a.tab.pointer.MoveAtOnce(el.point())); err != nil {
			return a.setHit(el, err)
		}
		if got := el.recordHit(el.hitTestNow(ctx, true)); !got.Seen && (!got.Hit || got.By != nil) {
			return el.missError()
		}
		return a.setHit(el, nil)
	}
}
