package browser

import (
	"context"
	"encoding/json"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// scroll brings an element into view, in every scroller that it stands in; or
// scrolls what scrolls around it, or without a ref the page, by pixels or to an
// end. It returns where that scroller is then. Errors: those of a ref,
// invalid_params.
func (c *Context) scroll(ctx context.Context, refs *snapshot.Refs, o protocol.Scroll, h how) (protocol.Position, protocol.Effect, error) {
	var at protocol.Position
	switch {
	case o.Direction != "" && o.Direction != "up" && o.Direction != "down" && o.Direction != "left" && o.Direction != "right":
		return at, protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "direction %q: takes up, down, left or right", o.Direction).With("parameter", "direction")
	case o.To != "" && o.To != "top" && o.To != "bottom":
		return at, protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "to %q: takes top or bottom", o.To).With("parameter", "to")
	case o.To != "" && (o.Direction != "" || o.Pixels != 0):
		return at, protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "to and direction: only one of them").With("parameter", "to")
	case o.Pixels < 0:
		return at, protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "pixels %d: takes a number above 0; direction says where to", o.Pixels).With("parameter", "pixels")
	case o.Ref == "" && o.Direction == "" && o.To == "":
		o.Direction = "down"
	}
	if o.Pixels != 0 && o.Direction == "" {
		o.Direction = "down"
	}
	with := map[string]any{"direction": o.Direction, "pixels": o.Pixels, "to": o.To}
	effect, err := c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		if o.Ref == "" {
			t, err := c.tab(ctx)
			if err != nil {
				return snapshot.Key{}, err
			}
			return snapshot.Key{}, t.main.call(ctx, "scrollPage", with, &at)
		}
		el, err := c.locate(ctx, refs, o.Ref, lookup{Want: []string{wantAttached}, Then: "scrollFrom", With: with})
		if err != nil {
			return snapshot.Key{}, err
		}
		if err := json.Unmarshal(el.Then, &at); err != nil {
			return el.key, err
		}
		if o.Direction == "" && o.To == "" {
			// A frame's element stands in scrollers of the documents above as well.
			return el.key, el.frame.intoView(ctx)
		}
		return el.key, nil
	})
	if err == nil {
		if t, tabErr := c.tab(ctx); tabErr == nil && effect.Navigated == "" && effect.Dialog == nil {
			// What listens to scrolling runs with the next frame.
			t.main.call(ctx, "afterScroll", nil, nil)
		}
	}
	return at, effect, err
}

// intoView brings the frame itself into view in the documents around it.
func (f *frame) intoView(ctx context.Context) error {
	for f != f.tab.main {
		owner, parent := f.tab.ownerAt(ctx, f)
		if parent == nil {
			return errDocumentGone()
		}
		if err := parent.call(ctx, "intoView", owner.Node, nil); err != nil {
			return err
		}
		f = parent.frame
	}
	return nil
}
