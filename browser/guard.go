package browser

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/snapshot"
)

// guardWithin is how long an action waits for the documents of other frames to answer. A
// frame whose process is busy for longer is not guarded.
const guardWithin = 500 * time.Millisecond

// evaluateAll calls f in the documents, with the argument that args gives, and returns the answers
// of those that answered in time. Calls in early were started before, and are not repeated.
func evaluateAll[Args, Result any](ctx context.Context, docs []*document, f script.Func[Args, Result], args func(*document) Args, early startedCalls) map[*document]Result {
	ctx, cancel := context.WithTimeout(ctx, guardWithin)
	defer cancel()
	calls := make([]*scriptCall, len(docs))
	for i, d := range docs {
		if calls[i] = early[d.doc]; calls[i] == nil {
			calls[i], _ = d.start(f.Call(args(d)))
		}
	}
	answers := map[*document]Result{}
	for i, call := range calls {
		if call != nil {
			if got, err := await(ctx, call, f); err == nil {
				answers[docs[i]] = got
			}
		}
	}
	return answers
}

// startedCalls are calls that were sent and not waited for yet, by document number.
type startedCalls map[int]*scriptCall

func noArgs(*document) script.None { return script.None{} }

// otherDocuments returns all documents of the tab except d.
func (t *tab) otherDocuments(d *document) []*document {
	var list []*document
	for _, f := range t.frames.live() {
		if o, err := f.document(); err == nil && (d == nil || o.doc != d.doc) {
			list = append(list, o)
		}
	}
	return list
}

// guardEarly has every document but that one refuse presses while an element is looked for
// in it, and does not wait for that.
func (t *tab) guardEarly(d *document) startedCalls {
	early := startedCalls{}
	for _, o := range t.otherDocuments(d) {
		if call, err := o.start(script.GuardPress.Call(script.GuardPressArgs{})); err == nil {
			early[o.doc] = call
		}
	}
	return early
}

// unguard lets presses through again, where no element was found.
func (early startedCalls) unguard() {
	for _, call := range early {
		call.in.start(script.EndHitTest.Call(script.None{}))
	}
}

// guard has the documents refuse the press, or what is dragged. Where the element is a frame, or has one at its point,
// the documents in that may have it; its own as own says. Those that were asked early are not asked again.
func (el *element) guard(ctx context.Context, docs []*document, own script.GuardPressArgs, early startedCalls) {
	t := el.frame.tab
	var into *frame
	if el.Frame != 0 && len(docs) > 0 {
		t.frames.findOwners(ctx, t.frames.live())
		into = t.frameIn(snapshot.Key{Doc: el.in.doc, Node: el.Frame})
	}
	args := func(d *document) script.GuardPressArgs {
		if d.doc == el.in.doc {
			return own
		}
		return script.GuardPressArgs{Any: into != nil && t.frames.inSubtree(d.frame, into), Presses: own.Presses}
	}
	for _, d := range docs {
		if args(d).Any {
			delete(early, d.doc)
		}
	}
	el.refusing = len(evaluateAll(ctx, docs, script.GuardPress, args, early))
}

// isOnlyReceiver reports whether all other documents of the tab refuse presses: each has answered so, and no frame has
// another document since.
func (el *element) isOnlyReceiver() bool {
	t := el.frame.tab
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	since := func(f *frame) bool {
		return f.doc != el.in.doc && !slices.ContainsFunc(el.guarded, func(d *document) bool { return d.doc == f.doc })
	}
	return el.Frame == 0 && el.refusing == len(t.frames.byID)-1 && !slices.ContainsFunc(slices.Collect(maps.Values(t.frames.byID)), since)
}

// endGuard lets presses through again in the documents and returns what they have received or refused.
func endGuard(ctx context.Context, docs []*document) (got script.Hit) {
	for d, one := range evaluateAll(ctx, docs, script.EndHitTest, noArgs, nil) {
		got.Add(one.In(d.doc))
	}
	return got
}

// movePointerTo moves the pointer over the element, waits until the page has handled that, and says what is
// there now. Where the pointer is there already, and no other document takes a press, locate has just said it.
func (el *element) movePointerTo(ctx context.Context) (script.Hit, error) {
	t := el.frame.tab
	if at := el.point(); !t.pointer.IsAt(at) {
		if err := el.action.waitInput(ctx, t.pointer.MoveAtOnce(at)); err != nil {
			return script.Hit{}, t.asUndelivered(ctx, err)
		}
	} else if len(el.frames) == 0 && el.isOnlyReceiver() {
		return script.Hit{Hit: true}, nil
	}
	return el.hitTestNow(ctx, false), nil
}

// hitTestNow tests in the element's document and in those of the frames around it whether the
// element is hit at its point now, and returns what is. With all, the tab's other documents are
// asked too: the page may have moved another frame under the pointer (By).
func (el *element) hitTestNow(ctx context.Context, all bool) (got script.Hit) {
	path := []*document{el.in}
	for _, d := range el.guarded {
		if all || slices.Contains(el.frames, d.frame) {
			path = append(path, d)
		}
	}
	away := false
	for d, one := range evaluateAll(ctx, path, script.IsUnder, noArgs, nil) {
		away = away || !one.Hit
		got.Add(one.In(d.doc))
	}
	got.Hit = !away
	return got
}

// typing is the keyboard while only one element of the tab may have its keys.
type typing struct {
	el   *element
	in   *document
	docs []*document // the others
	text string      // what is typed; empty: a key is pressed
}

// guardKeys has keys reach the element with that number in the document alone, -1 for whatever has the focus in it,
// until the typing is ended. guarded says that the document does so already. Errors: not_actionable where that has
// not the focus, and of a secret where another document of the tab has not answered: the focus may go there.
func (el *element) guardKeys(ctx context.Context, in *document, node int, guarded, secret bool) (*typing, error) {
	g := &typing{el: el, in: in, docs: el.frame.tab.otherDocuments(in)}
	others := evaluateAll(ctx, g.docs, script.GuardKeys, func(*document) int { return 0 }, nil)
	var err error
	if secret && len(others) < len(g.docs) {
		err = failure.Unguarded(el.action.refs, el.ref)
	} else if !guarded {
		guarded, err = evaluate(ctx, in, script.GuardKeys, node)
	}
	if err == nil && guarded {
		return g, nil
	}
	if _, lost := g.end(ctx, script.KeysResultArgs{}); err == nil {
		err = lost()
	}
	return nil, err
}

// end lets keys through again, unless q says to keep them, and says what has come of those that were sent: nothing
// where the keys led to another document. lost is the error of what has the focus in place of the element.
func (g *typing) end(ctx context.Context, q script.KeysResultArgs) (got script.KeysResulted, lost func() error) {
	var by, to snapshot.Node // what a key came to; the field that has the focus
	own, err := g.in.start(script.KeysResult.Call(q))
	others := evaluateAll(ctx, g.docs, script.KeysResult, func(*document) script.KeysResultArgs { return script.KeysResultArgs{} }, nil)
	if err == nil {
		got, _ = await(ctx, own, script.KeysResult)
	}
	if got.To != nil {
		to = got.To.In(g.in.doc)
	}
	if got.By != nil {
		by = got.By.In(g.in.doc)
	}
	for d, one := range others {
		got.Lost = got.Lost || one.Lost
		if one.By != nil {
			got.By, by = one.By, one.By.In(d.doc)
		}
	}
	if got.Settled != nil {
		g.el.frame.tab.setSettleResult(g.in.frame, *got.Settled)
	}
	return got, func() error { return failure.LostFocus(g.el.action.refs, g.el.ref, got, by, to, g.text) }
}
