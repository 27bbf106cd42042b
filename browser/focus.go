package browser

import (
	"context"
	"encoding/json"

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
	el, err := c.locate(ctx, refs, ref, lookup{Want: []string{wantEnabled, wantAttached}, Then: "focusOn"})
	if err != nil {
		return nil, err
	}
	var got struct {
		Focused bool `json:"focused"`
		Framed  bool `json:"framed"`
	}
	if err := json.Unmarshal(el.Then, &got); err != nil {
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
		t.owners(ctx, t.live())
		if f := t.frameIn(el.key); f != nil {
			err = f.call(ctx, "focusEdited", nil, nil)
		}
	}
	return el, err
}
