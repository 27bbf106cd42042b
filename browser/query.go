package browser

import (
	"context"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// foundDefault is how many nodes Find returns at most where no limit is given.
const foundDefault = 20

// Find returns the nodes that fit all of q, in document order through frames
// and shadow trees, at most q.Limit: those of a role, those whose name holds a
// string, and those that show a text, the innermost ones. Errors:
// invalid_params where q asks for nothing.
func (c *Context) Find(ctx context.Context, refs *snapshot.Refs, q protocol.Query) ([]snapshot.Node, error) {
	if q.Text == "" && q.Role == "" && q.Name == "" {
		return nil, protocol.Errorf(protocol.InvalidParams, "find takes at least one of text, role and name").With("parameter", "text")
	}
	if q.Limit <= 0 {
		q.Limit = foundDefault
	}
	var nodes []snapshot.Node
	err := c.look(ctx, func(ctx context.Context, t *tab) error {
		t.owners(ctx, t.live())
		nodes = []snapshot.Node{}
		return t.find(ctx, t.main, q, &nodes, new(int))
	})
	return nodes, err
}

// find adds what is found in a frame and in those within it.
func (t *tab) find(ctx context.Context, f *frame, q protocol.Query, nodes *[]snapshot.Node, frames *int) error {
	d, err := f.document()
	if err != nil {
		return err
	}
	got, err := evaluateWithListeners(ctx, d, script.Find, script.Query{
		Text: q.Text, Role: q.Role, Name: q.Name, Limit: q.Limit - len(*nodes), Attrs: snapshot.DefaultOptions().Attrs,
	})
	if err != nil {
		return err
	}
	for _, one := range got {
		if len(*nodes) >= q.Limit {
			return nil
		}
		if one.Frame != 0 {
			child := t.frameIn(snapshot.Key{Doc: d.doc, Node: one.Frame})
			if child == nil || *frames >= maxFrames {
				continue
			}
			*frames++
			// A frame that cannot be looked through costs its own nodes alone.
			if err := t.find(ctx, child, q, nodes, frames); err != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue
		}
		n, err := walk.DecodeNode(d.doc, one.Line)
		if err != nil {
			return err
		}
		n.Depth, n.Context = 0, one.Context
		*nodes = append(*nodes, n)
	}
	return nil
}
