package browser

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Capture reads a tab for a snapshot: one round trip for every frame (package walk), all at the same time, put
// together in document order. Of a page of more than maxFrames frames it reads those that come first.
func (c *Context) Capture(ctx context.Context, o snapshot.Options, refs *snapshot.Refs) (snapshot.Capture, error) {
	t, err := c.ready(ctx, o.Tab)
	if err != nil {
		return snapshot.Capture{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer t.dialogs.onOpen(func() { cancel(errDialog) })()
	c.forgetDeparted(refs)
	c.captures = walk.NextCapture(c.captures)
	got, err := c.capture(ctx, t, o, refs)
	if err != nil {
		if context.Cause(ctx) == errDialog {
			c.mu.Lock()
			defer c.mu.Unlock()
			if t.dialogs.open != nil {
				return got, failure.DialogOpen(t.dialogs.open)
			}
		}
		t.recovery.Notice(ctx, err)
	}
	return got, err
}

func (c *Context) capture(ctx context.Context, t *tab, o snapshot.Options, refs *snapshot.Refs) (snapshot.Capture, error) {
	w := walk.NewOptions(o)
	w.Capture, w.Fold = c.captures, o.Scope == "" && o.After == ""
	root := t.frames.main
	docs := map[*frame]int{} // those that the refs of o are of
	if o.Scope != "" {
		if e, d, err := c.resolve(refs, o.Scope); err == nil {
			root, w.Scope = d.frame, e.Key.Node
			docs[root] = d.doc
		} else if snapshot.LooksLikeRef(o.Scope) {
			return snapshot.Capture{}, err
		} else {
			w.Selector = o.Scope
		}
	}
	var after *frame
	var afterNode int
	if o.After != "" {
		e, d, err := c.resolve(refs, o.After)
		if err != nil {
			return snapshot.Capture{}, snapshot.ForParameter("after", err)
		}
		after, afterNode = d.frame, e.Key.Node
		docs[after] = d.doc
	}
	var walks map[*frame]*walk.Part
	for try := 0; ; try++ {
		if err := t.until(ctx, func() bool { return root.doc != 0 }); err != nil {
			return snapshot.Capture{}, err
		}
		frames := t.frames.live()
		t.frames.findOwners(ctx, frames)
		walks = walkAll(ctx, t, frames, root, w, after, afterNode, docs)
		// A page that was asked for whole is looked for until there is one: no ref of
		// the client's has gone with the document that was left.
		left := protocol.CodeOf(walks[root].Err) == protocol.StaleRef && o.Scope == "" && o.After == ""
		if try >= maxTries && !(left && ctx.Err() == nil) || !unsettled(t, walks) {
			break
		}
		// A frame is between two documents: its next one is there in a moment.
		next, cancel := context.WithTimeout(ctx, frameWait)
		first := true
		t.until(next, func() bool { was := first; first = false; return !was })
		cancel()
	}
	if err := walks[root].Err; err != nil {
		return snapshot.Capture{}, err
	}
	if of := walks[after]; of != nil && protocol.CodeOf(of.Err) == protocol.StaleRef {
		return snapshot.Capture{}, of.Err
	}
	if gone := departedRef(o, root, after, walks); gone != "" {
		// Where its element was re-created, it is looked for again with the ref that
		// has moved with it.
		if err := c.findAgain(ctx, refs, gone); err != nil {
			return snapshot.Capture{}, err
		}
		return c.capture(ctx, t, o, refs)
	}
	if err := failure.Scope(walks[root].Scope, o); err != nil {
		return snapshot.Capture{}, err
	}
	if after != nil && walks[after] == nil {
		return snapshot.Capture{}, failure.Scope(script.ScopeAfter, o)
	}
	got := t.withTools(walk.Join(walks[root], maps.Values(walks)), o)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case root != t.frames.main:
		got.Title, got.URL = t.nav.title, t.nav.url
	case root.doc == walks[root].Doc: // otherwise the tab has another's since
		got.URL = t.nav.address(got.URL)
		t.nav.title, t.nav.url = got.Title, got.URL
	}
	return got, nil
}

// A capture tries again, so often and after so long, where a frame was between
// two documents when it was read.
const (
	maxTries  = 3
	frameWait = 50 * time.Millisecond
	// frameSettles is how long a frame may be without a document before it is
	// taken for one that has none.
	frameSettles = 500 * time.Millisecond
)

// unsettled reports whether a frame of the walks could not be read, or has no
// place, because it was changing its document.
func unsettled(t *tab, walks map[*frame]*walk.Part) bool {
	for _, of := range walks {
		if of.Err != nil {
			return true
		}
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	for _, f := range t.frames.byID {
		if of := walks[f]; f.parent == nil || walks[f.parent] == nil || of != nil && of.Skipped {
			continue
		}
		if f.doc == 0 && time.Since(f.since) < frameSettles || f.doc != 0 && f.owner.Doc != f.parent.doc {
			return true
		}
	}
	return false
}

// departedRef returns the ref in o whose node was removed from its document; empty if none was.
func departedRef(o snapshot.Options, root, after *frame, walks map[*frame]*walk.Part) string {
	if walks[root].Scope == script.ScopeGone {
		return o.Scope
	}
	if of := walks[after]; of != nil && of.Scope == script.ScopePast {
		return o.After
	}
	return ""
}

// findAgain looks for a ref's element that has left its document, and moves the ref
// where it was re-created. Otherwise the error is stale_ref.
func (c *Context) findAgain(ctx context.Context, refs *snapshot.Refs, ref string) error {
	e, d, err := c.resolve(refs, ref)
	if err != nil {
		return err
	}
	q := script.Lookup{Any: true}
	q.Shown(e)
	got, err := evaluate(ctx, d, script.FindAgain, q)
	if err != nil {
		return err
	}
	if got.Stale {
		return failure.Stale(refs, e, e.Key.Doc, got.Candidates)
	}
	if got.Moved && refs.Shared(e.N) {
		return failure.Stale(refs, e, e.Key.Doc, []script.Element{got.Record})
	}
	if got.Moved {
		refs.Move(e.N, got.Record.In(e.Key.Doc))
	}
	return nil
}

// walk walks the document.
func (d *document) walk(ctx context.Context, o script.WalkOptions) (walk.Result, error) {
	raw, err := evaluateWithListeners(ctx, d, script.Walk, o)
	if err != nil {
		return walk.Result{}, err
	}
	return walk.Decode(d.doc, raw)
}

// walkAll walks the frames at the same time. The root is walked with w; a
// frame below it with w's budgets alone. A frame whose document is not the one that
// docs has for it is not walked: the nodes of w and after are of that one. Of more than
// maxFrames below the root, those are walked that come first in the text.
func walkAll(ctx context.Context, t *tab, frames []*frame, root *frame, w script.WalkOptions, after *frame, afterNode int, docs map[*frame]int) map[*frame]*walk.Part {
	walks := map[*frame]*walk.Part{root: {}}
	for _, f := range frames {
		if t.frames.inSubtree(f, root) {
			walks[f] = &walk.Part{}
		}
	}
	// The owners of the frame in which the last snapshot stopped are entered again.
	enter := map[*frame]int{}
	if after != nil {
		t.c.mu.Lock()
		enter[after] = afterNode
		for f := after; f.parent != nil; f = f.parent {
			enter[f.parent], docs[f.parent] = f.owner.Node, f.owner.Doc
		}
		t.c.mu.Unlock()
	}
	reads := map[*walk.Part]func(){}
	for f, of := range walks {
		p := w
		if f != root {
			p.Scope, p.Selector = 0, ""
		}
		p.After = enter[f]
		t.c.mu.Lock()
		d := f.currentDocument()
		of.Owner = f.owner
		t.c.mu.Unlock()
		if d == nil || docs[f] != 0 && docs[f] != d.doc {
			of.Err = failure.DocumentGone()
			continue
		}
		of.Doc = d.doc
		reads[of] = func() {
			of.Result, of.Err = d.walk(ctx, p)
		}
	}
	switch {
	case len(walks) > maxFrames+1:
		walk.ReadFirst(walks[root], reads, maxFrames)
	case len(walks) == 1: // nothing to wait for beside it
		for _, read := range reads {
			read()
		}
	default:
		var work sync.WaitGroup
		for _, read := range reads {
			work.Go(read)
		}
		work.Wait()
	}
	return walks
}
