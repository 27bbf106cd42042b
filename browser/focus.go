package browser

import (
	"context"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// focus gives an element the focus, as the Tab key would. Errors: those of a
// ref, not_actionable where it does not take it.
func focus(o protocol.Focus) actionFunc {
	return func(ctx context.Context, a *action) error {
		el, _, _, err := a.focusOn(ctx, o.Ref, false)
		return a.setHit(el, err)
	}
}

// focusOn returns the element that has got the focus, and the frame that it is, if any.
// keys: the keyboard is for it alone from then on, which guarded says.
func (a *action) focusOn(ctx context.Context, ref string, keys bool) (_ *element, _ *frame, guarded bool, _ error) {
	el, err := a.locate(ctx, ref, script.Lookup{Want: []string{wantEnabled, wantAttached}, ElementCall: script.FocusOn.With(script.FocusArgs{Keys: keys})})
	if err != nil {
		return nil, nil, false, err
	}
	got, err := script.FocusOn.Result(el.Then)
	if err != nil {
		return nil, nil, false, err
	}
	if !got.Focused {
		who, err := failure.Describe(a.refs, ref)
		if err != nil {
			return nil, nil, false, err
		}
		return nil, nil, false, failure.NoFocus(who)
	}
	var into *frame
	if got.Framed {
		t := el.frame.tab
		t.frames.findOwners(ctx, t.frames.live())
		if into = t.frameIn(el.key); into != nil {
			if _, err = evaluate(ctx, into, script.FocusEdited, script.None{}); err != nil {
				return nil, nil, false, err
			}
		}
	}
	return el, into, got.Guarded, nil
}
