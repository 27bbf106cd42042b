package browser

import (
	"context"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// box is a rectangle in CSS pixels: x, y, width, height.
type box = script.Box

// seenAt returns the boxes of the refs' elements in the coordinates of the tab's viewport.
// With view, elements outside of the viewport are left out. Elements that are not visible,
// or have left the page, always are.
func seenAt(ctx context.Context, t *tab, refs *snapshot.Refs, list []string, view bool) (map[string]box, error) {
	at := map[string]box{}
	byDoc := map[int][]snapshot.Entry{}
	for _, ref := range list {
		if e, d, err := t.c.resolve(refs, ref); err == nil && d.frame.tab == t {
			byDoc[d.doc] = append(byDoc[d.doc], e)
		}
	}
	for doc, entries := range byDoc {
		d := t.c.document(doc)
		if d == nil {
			continue
		}
		nodes := make([]int, len(entries))
		for i, e := range entries {
			nodes[i] = e.Key.Node
		}
		got, err := evaluate(ctx, d, script.Boxes, script.BoxesArgs{Nodes: nodes, View: view && d.frame == t.frames.main})
		if err == nil && len(got) == len(entries) {
			err = toTabViewport(ctx, t, d.frame, got)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			continue // a frame that is gone has nothing to be seen
		}
		for i, b := range got {
			if b != nil {
				at[entries[i].Ref()] = *b
			}
		}
	}
	return at, nil
}

// toTabViewport converts boxes from a frame's viewport to the tab's, and sets those to nil
// that a frame between the two clips.
func toTabViewport(ctx context.Context, t *tab, f *frame, boxes []*box) error {
	for f != t.frames.main {
		owner, parent := t.ownerAt(ctx, f)
		if parent == nil {
			return failure.DocumentGone()
		}
		in, err := evaluate(ctx, parent, script.FrameBox, owner.Node)
		if err != nil {
			return err
		}
		for i, b := range boxes {
			boxes[i] = in.Outwards(b)
		}
		f = parent.frame
	}
	return nil
}

// boxJSON is where the element of a ref is seen, as JSON: x, y, width and height in
// CSS pixels of the tab's viewport. Errors: not_actionable where it is not seen.
func boxJSON(ctx context.Context, t *tab, refs *snapshot.Refs, ref string) (string, error) {
	e, _, err := t.c.resolve(refs, ref)
	if err != nil {
		return "", err
	}
	seen, err := seenAt(ctx, t, refs, []string{ref}, false)
	if err != nil {
		return "", err
	}
	b, ok := seen[e.Ref()]
	if !ok {
		return "", protocol.Errorf(protocol.NotActionable, "%s is not visible", e.Ref()).With("reason", "hidden").Then("take a snapshot")
	}
	return script.BoxJSON(b), nil
}
