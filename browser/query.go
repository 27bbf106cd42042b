package browser

import (
	"cmp"
	"context"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Find returns the nodes that fit all of q, in document order through frames
// and shadow trees, at most q.Limit: those of a role, those whose name holds a
// string, and those that show a text, the innermost ones; 20 without q.Limit. Errors:
// invalid_params where q asks for nothing.
func (c *Context) Find(ctx context.Context, refs *snapshot.Refs, q protocol.Query) ([]snapshot.Node, error) {
	if q.Text == "" && q.Role == "" && q.Name == "" && q.Locator == nil && len(q.Chain) == 0 {
		return nil, protocol.Errorf(protocol.InvalidParams, "at least one of text, role and name is needed").With("parameter", "text")
	}
	var nodes []snapshot.Node
	err := inspect(ctx, c, func(ctx context.Context, t *tab) (err error) {
		nodes, err = t.find(ctx, q)
		return err
	})
	return nodes, err
}

// find searches the tab's frames.
func (t *tab) find(ctx context.Context, q protocol.Query) ([]snapshot.Node, error) {
	q.Limit = cmp.Or(q.Limit, 20)
	for searched := 0; ; {
		there := func() bool { return t.frames.main.doc != 0 && t.frames.main.doc != searched }
		if err := t.until(ctx, there); err != nil {
			return nil, err
		}
		t.c.mu.Lock()
		searched = t.frames.main.doc
		t.c.mu.Unlock()
		t.frames.findOwners(ctx, t.frames.live())
		f := finder{tab: t, query: q, nodes: []snapshot.Node{}}
		err := f.find(ctx, t.frames.main)
		// No ref of the client's has gone with the document that was left: the
		// next one is searched.
		if protocol.CodeOf(err) != protocol.StaleRef || ctx.Err() != nil {
			return f.nodes, err
		}
	}
}

// finder is one search of a tab, through its frames.
type finder struct {
	tab    *tab
	query  protocol.Query
	nodes  []snapshot.Node // found so far, up to query.Limit
	frames int             // searched so far, the first one apart; up to maxFrames
}

// find adds what is found in a frame and in those within it.
func (f *finder) find(ctx context.Context, in *frame) error {
	d, err := in.document()
	if err != nil {
		return err
	}
	q := f.query
	got, err := evaluateWithListeners(ctx, d, script.Find, script.QueryOf(q, q.Limit-len(f.nodes), snapshot.DefaultOptions().Attrs))
	if err != nil {
		return err
	}
	for _, one := range got {
		if one.Count != nil && q.Got != nil {
			q.Got.Count = *one.Count
			continue
		}
		if one.Bad {
			return failure.Selector(f.query)
		}
		if len(f.nodes) >= f.query.Limit {
			return nil
		}
		if one.Frame != 0 {
			child := f.tab.frameIn(snapshot.Key{Doc: d.doc, Node: one.Frame})
			if child == nil || f.frames >= maxFrames {
				continue
			}
			if f.frames++; one.Rest != nil {
				f.query.Chain = one.Rest
			}
			// A frame that cannot be searched costs its own nodes alone.
			if err := f.find(ctx, child); err != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue
		}
		n, err := walk.DecodeNode(d.doc, one.Line)
		if err != nil {
			return err
		}
		n.Depth, n.Context, n.Says = 0, one.Context, one.Says
		if f.nodes = append(f.nodes, n); q.Got != nil {
			q.Got.Read = append(q.Got.Read, one.Read)
		}
	}
	return nil
}
