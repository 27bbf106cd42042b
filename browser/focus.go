package browser

import (
	"context"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// focus gives an element the focus, as the Tab key would. Errors: those of a
// ref, not_actionable where it does not take it.
func (c *Context) focus(ctx context.Context, refs *snapshot.Refs, o protocol.Focus, h how) (protocol.Effect, error) {
	return c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		el, err := c.focusOn(ctx, refs, o.Ref)
		if err != nil {
			return snapshot.Key{}, err
		}
		return el.key, nil
	})
}

func (c *Context) focusOn(ctx context.Context, refs *snapshot.Refs, ref string) (*element, error) {
	el, err := c.locate(ctx, refs, ref, script.Lookup{Want: []string{wantEnabled, wantAttached}, ElementCall: script.FocusOn.With(script.None{})})
	if err != nil {
		return nil, err
	}
	got, err := script.FocusOn.Result(el.Then)
	if err != nil {
		return nil, err
	}
	if !got.Focused {
		e, err := refs.Lookup(ref)
		if err != nil {
			return nil, err
		}
		return nil, protocol.Errorf(protocol.NotActionable, "%s %s does not take the focus", e.Ref(), spoken(e.Role, e.Name)).
			With("reason", "disabled").With("because", "not focusable").Then("click it, or focus a control in it")
	}
	if got.Framed {
		t := el.frame.tab
		t.frames.findOwners(ctx, t.frames.live())
		if f := t.frameIn(el.key); f != nil {
			_, err = evaluate(ctx, f, script.FocusEdited, script.None{})
		}
	}
	return el, err
}
