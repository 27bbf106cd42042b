package browser

import (
	"context"
	"sync"
	"time"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Capture reads the selected tab for a snapshot: one round trip for every frame (walk.go),
// all at the same time, put together in document order. Of a page of more than
// maxFrames frames it reads those that come first, and ends with the last of them.
func (c *Context) Capture(ctx context.Context, o snapshot.Options, refs *snapshot.Refs) (snapshot.Capture, error) {
	t, err := c.ready(ctx)
	if err != nil {
		return snapshot.Capture{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer t.onDialog(func() { cancel(errDialog) })()
	c.looks = c.looks%maxLook + 1
	got, err := c.capture(ctx, t, o, refs)
	if err != nil {
		if context.Cause(ctx) == errDialog {
			c.mu.Lock()
			defer c.mu.Unlock()
			if t.dialog != nil {
				return got, dialogError(t.dialog)
			}
		}
		t.notice(ctx, err)
	}
	return got, err
}

func (c *Context) capture(ctx context.Context, t *tab, o snapshot.Options, refs *snapshot.Refs) (snapshot.Capture, error) {
	w := newWalkOptions(o)
	w.Capture = c.looks
	root := t.main
	docs := map[*frame]int{} // those that the refs of o are of
	if o.Scope != "" {
		if e, d, err := c.resolve(refs, o.Scope); err == nil {
			root, w.Scope = d.frame, e.Key.Node
			docs[root] = d.doc
		} else if looksLikeRef(o.Scope) {
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
	var walks map[*frame]*walkOf
	for try := 0; ; try++ {
		if err := t.until(ctx, func() bool { return root.doc != 0 }); err != nil {
			return snapshot.Capture{}, err
		}
		frames := t.live()
		t.owners(ctx, frames)
		walks = t.walkAll(ctx, frames, root, w, after, afterNode, docs)
		// A page that was asked for whole is looked for until there is one: no ref of
		// the client's has gone with the document that was left.
		left := protocol.CodeOf(walks[root].err) == protocol.StaleRef && o.Scope == "" && o.After == ""
		if try >= maxLooks && !(left && ctx.Err() == nil) || !t.unsettled(walks) {
			break
		}
		// A frame is between two documents: its next one is there in a moment.
		next, cancel := context.WithTimeout(ctx, frameWait)
		first := true
		t.until(next, func() bool { was := first; first = false; return !was })
		cancel()
	}
	if err := walks[root].err; err != nil {
		return snapshot.Capture{}, err
	}
	if of := walks[after]; of != nil && protocol.CodeOf(of.err) == protocol.StaleRef {
		return snapshot.Capture{}, of.err
	}
	if gone := goneOf(o, root, after, walks); gone != "" {
		// Where its element was made anew, it is looked for again with the ref that
		// has moved with it.
		if err := c.findAgain(ctx, refs, gone); err != nil {
			return snapshot.Capture{}, err
		}
		return c.capture(ctx, t, o, refs)
	}
	if err := scopeError(walks[root].Scope, o); err != nil {
		return snapshot.Capture{}, err
	}
	if after != nil && walks[after] == nil {
		return snapshot.Capture{}, scopeError(script.ScopeAfter, o)
	}
	got := join(root, walks)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case root != t.main:
		got.Title, got.URL = t.title, t.url
	case root.doc == walks[root].doc: // otherwise the tab has another's since
		got.URL = t.told(got.URL)
		t.title, t.url = got.Title, got.URL
	}
	return got, nil
}

func looksLikeRef(s string) bool {
	_, err := snapshot.NewRefs().Lookup(s)
	return protocol.CodeOf(err) == protocol.UnknownRef
}

// A capture looks again, so often and after so long, where a frame was between
// two documents when it was read.
const (
	maxLooks  = 3
	frameWait = 50 * time.Millisecond
	// frameSettles is how long a frame may be without a document before it is
	// taken for one that has none.
	frameSettles = 500 * time.Millisecond
)

// unsettled says whether a frame of the walks could not be read, or has no
// place, because it was changing its document.
func (t *tab) unsettled(walks map[*frame]*walkOf) bool {
	for _, of := range walks {
		if of.err != nil {
			return true
		}
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	for _, f := range t.frames {
		if of := walks[f]; f.parent == nil || walks[f.parent] == nil || of != nil && of.unread {
			continue
		}
		if f.doc == 0 && time.Since(f.since) < frameSettles || f.doc != 0 && f.owner.Doc != f.parent.doc {
			return true
		}
	}
	return false
}

// goneOf is the ref of o whose node has left its document, empty for none.
func goneOf(o snapshot.Options, root, after *frame, walks map[*frame]*walkOf) string {
	if walks[root].Scope == script.ScopeGone {
		return o.Scope
	}
	if of := walks[after]; of != nil && of.Scope == script.ScopePast {
		return o.After
	}
	return ""
}

// findAgain looks for a ref's element that has left its document, and moves the ref
// where it was made anew. Otherwise the error is stale_ref.
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
		return staleError(refs, e, e.Key.Doc, got.Candidates)
	}
	if got.Moved && refs.Shared(e.N) {
		return staleError(refs, e, e.Key.Doc, []script.Element{got.Record})
	}
	if got.Moved {
		refs.Move(e.N, got.Record.In(e.Key.Doc))
	}
	return nil
}

// scopeError says why a scope cannot be used, or not after that node; nil where it can.
func scopeError(s script.ScopeFailure, o snapshot.Options) error {
	scope, after := snapshot.Quote(snapshot.Cut(o.Scope, 100)), snapshot.Quote(snapshot.Cut(o.After, 100))
	switch s {
	case "":
		return nil
	case script.ScopeAfter:
		return protocol.Errorf(protocol.InvalidParams, "after %s: is not within the scope", after).With("parameter", "after")
	case script.ScopeNone:
		return protocol.Errorf(protocol.InvalidParams, "scope %s: nothing on the page matches", scope).
			With("parameter", "scope").Then("take a snapshot without scope, or use a ref")
	}
	return protocol.Errorf(protocol.InvalidParams, "scope %s: takes a ref or a CSS selector", scope).With("parameter", "scope")
}

// walkOf is one frame's part of a capture.
type walkOf struct {
	walked
	err    error
	doc    int
	owner  snapshot.Key // the element that holds the frame
	unread bool         // it was not walked: there are too many
}

// walkAll walks the frames at the same time. The root is walked with w; a
// frame below it with w's budgets alone. A frame whose document is not the one that
// docs has for it is not walked: the nodes of w and after are of that one. Of more than
// maxFrames below the root, those are walked that come first in the text.
func (t *tab) walkAll(ctx context.Context, frames []*frame, root *frame, w script.WalkOptions, after *frame, afterNode int, docs map[*frame]int) map[*frame]*walkOf {
	walks := map[*frame]*walkOf{root: {}}
	for _, f := range frames {
		if within(t, f, root) {
			walks[f] = &walkOf{}
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
	reads := map[*walkOf]func(){}
	for f, of := range walks {
		p := w
		if f != root {
			p.Scope, p.Selector = 0, ""
		}
		p.After = enter[f]
		t.c.mu.Lock()
		d := f.holds()
		of.owner = f.owner
		t.c.mu.Unlock()
		if d == nil || docs[f] != 0 && docs[f] != d.doc {
			of.err = errDocumentGone()
			continue
		}
		of.doc = d.doc
		reads[of] = func() {
			of.walked, of.err = d.walk(ctx, p)
		}
	}
	switch {
	case len(walks) > maxFrames+1:
		walkFirst(walks[root], reads)
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

// walkFirst walks the root and the maxFrames frames below it whose lines come first.
// All are in one process, mostly, and to look at one of them Chromium goes through all: a
// thousand would take it half a minute.
func walkFirst(root *walkOf, reads map[*walkOf]func()) {
	byOwner := map[snapshot.Key]*walkOf{}
	for of := range reads {
		if of.unread = of != root; of.unread && of.owner.Node != 0 {
			byOwner[of.owner] = of
		}
	}
	left := maxFrames
	var enter func(level []*walkOf)
	enter = func(level []*walkOf) {
		var work sync.WaitGroup
		for _, of := range level {
			if reads[of] != nil {
				work.Go(reads[of])
			}
		}
		work.Wait()
		for _, of := range level {
			var below []*walkOf
			for _, place := range of.Frames {
				child := byOwner[snapshot.Key{Doc: of.doc, Node: place.Owner}]
				if child == nil || !child.unread {
					continue
				}
				if left == 0 {
					break
				}
				left--
				child.unread = false
				below = append(below, child)
			}
			if len(below) > 0 {
				enter(below)
			}
		}
	}
	enter([]*walkOf{root})
}

// within says whether f is root or below it.
func within(t *tab, f, root *frame) bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	for ; f != nil; f = f.parent {
		if f == root {
			return true
		}
	}
	return false
}

// join puts the frames' nodes where their owners stand. It ends in front of a frame
// that was not read: who goes on behind the last line comes to it next.
func join(root *frame, walks map[*frame]*walkOf) snapshot.Capture {
	byOwner := map[snapshot.Key]*walkOf{}
	for f, of := range walks {
		if f != root && of.err == nil && of.owner.Node != 0 {
			byOwner[of.owner] = of
		}
	}
	w := walks[root]
	got := snapshot.Capture{URL: w.URL, Title: w.Title}
	if len(byOwner) == 0 {
		got.Nodes, got.Input, got.Visited, got.Rest, got.Reasons = w.Nodes, w.Elements, w.Visited, w.Rest, w.Reasons
		return got
	}
	lines := 0
	for _, of := range walks {
		lines += len(of.Nodes)
	}
	got.Nodes = make([]snapshot.Node, 0, lines)
	reasons := map[string]bool{}
	ended := false
	var add func(of *walkOf, depth int)
	add = func(of *walkOf, depth int) {
		got.Input += of.Elements
		got.Visited += of.Visited
		got.Rest += of.Rest
		for _, r := range of.Reasons {
			if !reasons[r] {
				reasons[r] = true
				got.Reasons = append(got.Reasons, r)
			}
		}
		places := of.Frames
		for i := 0; i <= len(of.Nodes); i++ {
			for len(places) > 0 && places[0].Index == i && !ended {
				place := places[0]
				places = places[1:]
				key := snapshot.Key{Doc: of.doc, Node: place.Owner}
				child := byOwner[key]
				switch {
				case child == nil:
				case child.unread:
					ended = true
					got.Rest++
				default:
					delete(byOwner, key) // a frame is shown once
					add(child, depth+place.Depth)
				}
			}
			if i < len(of.Nodes) {
				n := of.Nodes[i]
				if ended {
					if n.Key.Node != 0 {
						got.Rest++
					}
					continue
				}
				n.Depth += depth
				got.Nodes = append(got.Nodes, n)
			}
		}
	}
	add(w, 0)
	return got
}
