package browser

import (
	"context"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// focus gives an element the focus, as the Tab key would. Errors: those of a
// ref, not_actionable where it does not take it.
func focus(o protocol.Focus) step {
	return func(ctx context.Context, a *action) error {
		return a.hits(a.focusOn(ctx, o.Ref))
	}
}

func (a *action) focusOn(ctx context.Context, ref string) (*element, error) {
	el, err := a.locate(ctx, ref, script.Lookup{Want: []string{wantEnabled, wantAttached}, ElementCall: script.FocusOn.With(script.None{})})
	if err != nil {
		return nil, err
	}
	got, err := script.FocusOn.Result(el.Then)
	if err != nil {
		return nil, err
	}
	if !got.Focused {
		who, err := failure.Describe(a.refs, ref)
		if err != nil {
			return nil, err
		}
		return nil, protocol.Errorf(protocol.NotActionable, "%s does not take the focus", who).
			With("reason", "disabled").With("because", "not focusable").Then("click it, or focus a control in it")
	}
	if got.Framed {
		t := el.frame.tab
		t.frames.findOwners(ctx, t.frames.live())
		if f := t.frameIn(el.key); f != nil {
			if _, err = evaluate(ctx, f, script.FocusEdited, script.None{}); err != nil {
				return nil, err
			}
		}
	}
	return el, nil
}
