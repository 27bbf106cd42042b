package browser

import (
	"context"

	"github.com/browserd/browserd/browser/script"
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
	with := script.ScrollArgs{Direction: o.Direction, Pixels: o.Pixels, To: o.To}
	effect, err := c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		if o.Ref == "" {
			t, err := c.tab(ctx)
			if err != nil {
				return snapshot.Key{}, err
			}
			at, err = evaluate(ctx, t.frames.main, script.ScrollPage, with)
			return snapshot.Key{}, err
		}
		el, err := c.locate(ctx, refs, o.Ref, script.Lookup{Want: []string{wantAttached}, ElementCall: script.ScrollFrom.With(with)})
		if err != nil {
			return snapshot.Key{}, err
		}
		if at, err = script.ScrollFrom.Result(el.Then); err != nil {
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
			evaluate(ctx, t.frames.main, script.AfterScroll, script.None{})
		}
	}
	return at, effect, err
}

// intoView brings the frame itself into view in the documents around it.
func (f *frame) intoView(ctx context.Context) error {
	for f != f.tab.frames.main {
		owner, parent := f.tab.ownerAt(ctx, f)
		if parent == nil {
			return errDocumentGone()
		}
		if _, err := evaluate(ctx, parent, script.ScrollIntoView, owner.Node); err != nil {
			return err
		}
		f = parent.frame
	}
	return nil
}
