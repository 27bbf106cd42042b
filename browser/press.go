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
func (c *Context) pressKey(ctx context.Context, refs *snapshot.Refs, o protocol.Press, h how) (protocol.Effect, error) {
	pressed, err := input.ParseChord(o.Key)
	if err != nil {
		return protocol.Effect{}, err
	}
	return c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		t, err := c.tab(ctx)
		if err != nil {
			return snapshot.Key{}, err
		}
		var hit snapshot.Key
		if o.Ref != "" {
			el, err := c.focusOn(ctx, refs, o.Ref)
			if err != nil {
				return hit, err
			}
			hit = el.key
		} else if err := t.beginAtFocus(ctx); err != nil && protocol.CodeOf(err) != protocol.StaleRef {
			return hit, err
		}
		return hit, t.waitInput(ctx, input.NewKeyboard(t.cdp).Press(pressed))
	})
}

// beginAtFocus has the script watch the document of the tab and those of the frames
// that have the focus.
func (t *tab) beginAtFocus(ctx context.Context) error {
	for f := t.main; f != nil; {
		d, err := f.document()
		if err != nil {
			return err
		}
		holds, err := evaluate(ctx, d, script.BeginSettle, 0) // the frame's element that has the focus
		if err != nil {
			return err
		}
		t.actsIn(d)
		if f = nil; holds != 0 {
			t.owners(ctx, t.live())
			f = t.frameIn(snapshot.Key{Doc: d.doc, Node: holds})
		}
	}
	return nil
}
