package browser

import (
	"context"

	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// pressKey presses a key, with modifiers: "Enter", "Control+a", "Shift+Tab", a character. With a ref the element is
// focused first. Errors: those of a ref, not_actionable, invalid_params, which names the keys that come nearest,
// unsupported.
func pressKey(o protocol.Press) (actionFunc, error) {
	pressed, err := input.ParseChord(o.Key)
	pressed = pressed.Only(o.Action)
	return func(ctx context.Context, a *action) error {
		pressed, err := a.tab.pointer.Hold(pressed)
		if err != nil {
			return err
		}
		if o.Ref != "" {
			el, into, guarded, err := a.focusOn(ctx, o.Ref, true)
			if err != nil {
				return err
			}
			in, node := el.in, el.Target
			if into != nil {
				if in, err = into.focused(ctx, script.BeginSettle); err != nil {
					return err
				}
				node = -1
			}
			return a.setHit(el, el.pressKeys(ctx, in, node, pressed, guarded))
		}
		if err := a.beginAtFocus(ctx); err != nil && protocol.CodeOf(err) != protocol.StaleRef {
			return err
		}
		if o.Origin != "" {
			if err := a.tab.frames.main.requireFocusedOrigin(ctx, o.Origin); err != nil {
				return err
			}
		}
		return a.waitKeys(ctx, input.NewKeyboard(a.tab.cdp).Press(pressed))
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
		a.addFrameDoc(d)
		if f = nil; holds != 0 {
			t.frames.findOwners(ctx, t.frames.live())
			f = t.frameIn(snapshot.Key{Doc: d.doc, Node: holds})
		}
	}
	return nil
}

// focused returns the document that has the focus, in the frame or in those below it. holding is
// asked in each for the frame's element in it that has the focus.
func (f *frame) focused(ctx context.Context, holding script.Func[int, int]) (*document, error) {
	for t := f.tab; ; {
		d, err := f.document()
		holds := 0
		if err == nil {
			holds, err = evaluate(ctx, d, holding, 0)
		}
		if err != nil || holds == 0 {
			return d, err
		}
		t.frames.findOwners(ctx, t.frames.live())
		if f = t.frameIn(snapshot.Key{Doc: d.doc, Node: holds}); f == nil {
			return d, nil
		}
	}
}
