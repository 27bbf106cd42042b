package browser

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// An action waits for its element to become actionable for at most locateTimeout,
// and always stops early enough before the command's own end to say why not.
const (
	locateTimeout = 5 * time.Second
	reportMargin  = 500 * time.Millisecond
)

// What an element must be before it is acted on: Playwright's list.
const (
	wantVisible  = "visible"
	wantStable   = "stable"   // no animation moves it
	wantEnabled  = "enabled"  // not disabled, in HTML's and in ARIA's sense
	wantEditable = "editable" // not readonly
	wantHit      = "hit"      // a point of it is in the viewport and is what is hit there
	wantTouch    = "touch"    // as hit, but an element that nobody could see may be acted on by focus alone
	wantAttached = "attached" // in the document, rendered or not
)

// element is a ref's element, located and actionable.
type element struct {
	script.Located
	action  *action
	frame   *frame
	in      *document    // the one of the frame's that it is in
	key     snapshot.Key // of the ref's element; its ref is what effect.hit names
	ref     string
	presses int     // how many are to come, Lookup.Presses
	x, y    float64 // in the viewport of the tab, where Located.X is set
	// frames are those around its own, whose documents run a hit test as well; guarded are all
	// other documents of the tab, of which refusing have answered that they refuse presses.
	frames   []*frame
	guarded  []*document
	refusing int
	// Both are the tab's counts when the element was located.
	inputsBefore, dialogsBefore int
}

// locate finds the element of a ref, waits until it is what q.Want says, and begins to watch its document and
// the tab's. Where it is to be hit, the hit test has begun: until collect, endHitTest or GiveUp, its document keeps
// input from everything else. Errors: those of a ref (unknown_ref, stale_ref, ref_changed), not_actionable.
func (a *action) locate(ctx context.Context, ref string, q script.Lookup) (*element, error) {
	refs := a.refs
	e, d, err := a.c.resolve(refs, ref)
	if err != nil {
		return nil, err
	}
	if f := d.frame; f != f.tab.frames.main && !q.Again {
		f.tab.frames.main.start(script.BeginSettle.Call(0)) // answered before what is written behind it
	}
	doc := e.Key.Doc
	q.Shown(e)
	wait := locateTimeoutFor(ctx)
	if !q.Until.IsZero() {
		wait = max(min(wait, time.Until(q.Until)), 0)
	}
	q.Deadline = float64(wait.Milliseconds())
	var early startedCalls
	if slices.Contains(q.Want, wantHit) || slices.Contains(q.Want, wantTouch) {
		early = d.frame.tab.guardEarly(d)
	}
	defer func() { early.unguard() }()
	var got script.Located
	for try := 0; ; try++ {
		if got, err = d.locate(ctx, q); err != nil {
			return nil, d.frame.tab.asUndelivered(ctx, err)
		}
		if got.Twin == nil {
			break
		}
		if try > 0 || refs.Shared(e.N) || matchesShown(refs, doc, *got.Twin) {
			// Another row with the same text that the client knows: not this one.
			got.Changed = got.Now
			break
		}
		moved := refs.Move(e.N, got.Twin.In(doc))
		q.ID, q.Any = moved.Key.Node, true
	}
	if got.Moved && refs.Shared(e.N) {
		got.Record.Why = "one of those that were the same"
		return nil, failure.Stale(refs, e, doc, []script.Element{got.Record})
	}
	switch {
	case got.Stale:
		return nil, failure.Stale(refs, e, doc, got.Candidates)
	case got.Changed != nil:
		return nil, failure.Changed(refs, e, doc, *got.Changed)
	case !got.OK:
		return nil, failure.NotActionable(refs, e, doc, got)
	}
	el := &element{Located: got, action: a, frame: d.frame, in: d, key: snapshot.Key{Doc: doc, Node: got.Node}, ref: e.Ref(), presses: q.Presses}
	el.inputsBefore, el.dialogsBefore = d.frame.tab.inputCounts()
	a.addFrameDoc(d)
	if got.Moved {
		refs.Move(e.N, got.Record.In(doc))
	}
	if got.X != nil {
		el.guarded = d.frame.tab.otherDocuments(d)
		el.guard(ctx, el.guarded, script.GuardPressArgs{Presses: q.Presses}, early) // before toTab, which says what is to be at the point
		early = nil
		if err := el.toTab(ctx); err != nil {
			return nil, err
		}
	}
	return el, nil
}

// maxLocateRetries is how often locate is repeated after its script was terminated together with a
// page script that floods. It has had no effect by then.
const maxLocateRetries = 3

func (d *document) locate(ctx context.Context, q script.Lookup) (script.Located, error) {
	for try := 0; ; try++ {
		got, err := evaluate(ctx, d, script.Locate, q)
		if !errors.Is(err, failure.ErrEnded) || try == maxLocateRetries {
			return got, err
		}
	}
}

// locateTimeoutFor returns how long an action may wait for its element before ctx ends.
func locateTimeoutFor(ctx context.Context) time.Duration {
	wait := locateTimeout
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)-reportMargin)
	}
	return max(wait, 0)
}

// matchesShown reports whether the node still has the role, name and context that the client was shown.
func matchesShown(refs *snapshot.Refs, doc int, r script.Element) bool {
	n, ok := refs.Seen(snapshot.Key{Doc: doc, Node: r.Node})
	if !ok {
		return false
	}
	was, err := refs.Lookup(snapshot.RefOf(n))
	return err == nil && was.Key.Node == r.Node && was.Role == r.Role && was.Name == r.Name && was.Context == r.Context
}

// toTab takes the point of an element in a frame up to the viewport of the
// tab, and begins a hit test in each document on the way.
func (el *element) toTab(ctx context.Context) error {
	el.x, el.y = *el.X, *el.Y
	for f := el.frame; f != f.tab.frames.main; {
		at, parent, err := f.toParent(ctx, el.x, el.y, true)
		if err != nil {
			return err
		}
		el.frames = append(el.frames, parent.frame)
		if at.Reason != "" {
			return failure.FrameNotActionable(el.action.refs, el.ref, at.doc, at.Reason, at.By)
		}
		el.x, el.y, f = at.X, at.Y, parent.frame
	}
	return nil
}

// pointInParent is a point of a frame's viewport in its parent's viewport, or what covers it there.
type pointInParent struct {
	script.FramePoint
	doc int // of the parent
}

// toParent converts a point from the frame's viewport to its parent's, and scrolls it into view there.
func (f *frame) toParent(ctx context.Context, x, y float64, hitTest bool) (pointInParent, *document, error) {
	var at pointInParent
	owner, parent := f.tab.ownerAt(ctx, f)
	if parent == nil {
		return at, nil, failure.DocumentGone()
	}
	at.doc = owner.Doc
	var err error
	at.FramePoint, err = evaluate(ctx, parent, script.FrameAt, script.FrameAtArgs{Node: owner.Node, X: x, Y: y, HitTest: hitTest})
	return at, parent, err
}

// toTab takes a point of the frame's viewport to that of the tab, bringing each frame on the way into view.
// Errors: not_actionable where something lies over one of them, stale_ref where one is gone.
func (f *frame) toTab(ctx context.Context, x, y float64) (float64, float64, error) {
	for f != f.tab.frames.main {
		at, parent, err := f.toParent(ctx, x, y, false)
		if err != nil {
			return 0, 0, err
		}
		if at.Reason != "" {
			return 0, 0, protocol.Errorf(protocol.NotActionable, "the frame that the element is in is %s", at.Reason).With("reason", at.Reason)
		}
		x, y, f = at.X, at.Y, parent.frame
	}
	return x, y, nil
}

// ownerAt returns the element that holds a frame, and the document it stands in; nil if nobody knows.
func (t *tab) ownerAt(ctx context.Context, f *frame) (snapshot.Key, *document) {
	t.frames.findOwners(ctx, []*frame{f})
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if f.parent == nil || f.owner.Node == 0 || f.owner.Doc != f.parent.doc {
		return snapshot.Key{}, nil
	}
	return f.owner, f.parent.currentDocument()
}

// endHitTest lets input through again, where it was not sent after all.
func (el *element) endHitTest() {
	el.in.start(script.EndHitTest.Call(script.None{}))
	for _, d := range el.guarded {
		d.start(script.EndHitTest.Call(script.None{}))
	}
}
