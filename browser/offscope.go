package browser

import (
	"context"
	"sync"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/snapshot"
)

// OffScope reads what has changed outside of what the last Capture showed, as the
// window says: one round trip for every frame, all at the same time.
func (c *Context) OffScope(ctx context.Context, w snapshot.Window, o snapshot.Options, refs *snapshot.Refs) (snapshot.OffScope, error) {
	t, err := c.ready(ctx, "")
	if err != nil {
		return snapshot.OffScope{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer t.dialogs.onOpen(cancel)()
	frames := t.frames.live()
	walks := make([]walk.Result, len(frames))
	errs := make([]error, len(frames))
	var work sync.WaitGroup
	for i, p := range c.partsOf(t, frames, w, o, refs) {
		if p == nil || p.None && len(frames) > maxFrames { // many of which nothing is shown
			continue
		}
		f := frames[i]
		work.Go(func() {
			d, err := f.document()
			if err != nil {
				errs[i] = err
				return
			}
			var raw string
			if raw, errs[i] = evaluate(ctx, d, script.OffScope, *p); errs[i] == nil {
				walks[i], errs[i] = walk.Decode(d.doc, raw)
			}
		})
	}
	work.Wait()
	var out snapshot.OffScope
	for i, found := range walks {
		if errs[i] != nil && frames[i] == t.frames.main {
			return out, errs[i]
		}
		out.Nodes = append(out.Nodes, found.Nodes...)
		out.Left += found.Rest
		out.Hidden += found.Hidden
	}
	return out, nil
}

func (f *frame) documentNow() int {
	f.tab.c.mu.Lock()
	defer f.tab.c.mu.Unlock()
	return f.doc
}

// partsOf says of each frame what part of it the window shows; nil: all of it.
func (c *Context) partsOf(t *tab, frames []*frame, w snapshot.Window, o snapshot.Options, refs *snapshot.Refs) []*script.OffScopeOptions {
	root, scope, selector := t.frames.main, 0, ""
	if w.Scope != "" {
		if e, d, err := c.resolve(refs, w.Scope); err == nil {
			root, scope = d.frame, e.Key.Node
		} else {
			selector = w.Scope
		}
	}
	last := map[int]int{} // document → the last node of it that was shown
	end := 0              // the document in which the window ends
	for _, ref := range w.Refs {
		if e, err := refs.Lookup(ref); err == nil {
			last[e.Key.Doc], end = e.Key.Node, e.Key.Doc
		}
	}
	first := map[*frame]int{} // behind which the window begins
	if w.After != "" {
		if e, d, err := c.resolve(refs, w.After); err == nil {
			first[d.frame] = e.Key.Node
			t.c.mu.Lock()
			for f := d.frame; f.parent != nil; f = f.parent {
				first[f.parent] = f.owner.Node
			}
			t.c.mu.Unlock()
		}
	}
	list := make([]*script.OffScopeOptions, len(frames))
	for i, f := range frames {
		p := &script.OffScopeOptions{WalkOptions: walk.NewOptions(o)}
		p.Capture, p.After = c.captures, first[f]
		if f == root {
			p.Scope, p.Selector = scope, selector
		}
		shown := last[f.documentNow()]
		switch {
		case !t.frames.inSubtree(f, root):
			p.None = true
		case w.Cut && t.frames.subtreeHasDoc(f, end):
			p.Last = shown
		case f != root && shown == 0 && (w.Cut || w.Folds || w.After != ""):
			p.None = true
		case f != root && first[f] == 0 && !w.Folds:
			continue
		}
		list[i] = p
	}
	return list
}
