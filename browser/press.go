package browser

import (
	"context"

	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// pressKey presses a key, with modifiers: "Enter", "Control+a", "Shift+Tab", a
// character. With a ref the element is focused first. Errors: those of a ref,
// not_actionable, invalid_params, which names the keys that come nearest.
func pressKey(o protocol.Press) (step, error) {
	pressed, err := input.ParseChord(o.Key)
	return func(ctx context.Context, a *action) error {
		t := a.tab
		var el *element
		if o.Ref != "" {
			var err error
			if el, err = a.focusOn(ctx, o.Ref); err != nil {
				return err
			}
		} else if err := a.beginAtFocus(ctx); err != nil && protocol.CodeOf(err) != protocol.StaleRef {
			return err
		}
		return a.hits(el, a.waitInput(ctx, input.NewKeyboard(t.cdp).Press(pressed)))
	}, err
}

// beginAtFocus has the script watch the document of the tab and those of the frames
// that have the focus.
func (a *action) beginAtFocus(ctx context.Context) error {
	t := a.tab
	for f := t.frames.main; f != nil; {
		d, err := f.document()
		if err != nil {
			return err
		}
		holds, err := evaluate(ctx, d, script.BeginSettle, 0) // the frame's element that has the focus
		if err != nil {
			return err
		}
		a.actsIn(d)
		if f = nil; holds != 0 {
			t.frames.findOwners(ctx, t.frames.live())
			f = t.frameIn(snapshot.Key{Doc: d.doc, Node: holds})
		}
	}
	return nil
}
