package browser

import (
	"context"
	"slices"
	"time"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/snapshot"
)

// guardWithin is how long an action waits for the documents of other frames to answer. A
// frame whose process is busy for longer is not guarded.
const guardWithin = 500 * time.Millisecond

// askAll calls f in the documents, with the argument that args gives, and returns the
// answers of those that answered in time.
func askAll[Args, Result any](ctx context.Context, docs []*document, f script.Func[Args, Result], args func(*document) Args) map[*document]Result {
	ctx, cancel := context.WithTimeout(ctx, guardWithin)
	defer cancel()
	calls := make([]*scriptCall, len(docs))
	for i, d := range docs {
		calls[i], _ = d.start(f.Call(args(d)))
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

func noArgs(*document) script.None { return script.None{} }

// others are the documents of the tab but that one.
func (t *tab) others(d *document) []*document {
	var list []*document
	for _, f := range t.frames.live() {
		if o, err := f.document(); err == nil && (d == nil || o.doc != d.doc) {
			list = append(list, o)
		}
	}
	return list
}

// guardOthers has every other document of the tab refuse the press to come. Where the
// element is a frame, or has one at its point, the documents in that may have it. Those
// around the element's own are guarded by toTab.
func (el *element) guardOthers(ctx context.Context) {
	t := el.frame.tab
	el.guarded = t.others(el.in)
	var into *frame
	if el.Frame != 0 && len(el.guarded) > 0 {
		t.frames.findOwners(ctx, t.frames.live())
		into = t.frameIn(snapshot.Key{Doc: el.in.doc, Node: el.Frame})
	}
	askAll(ctx, el.guarded, script.GuardPress, func(d *document) bool { return into != nil && t.frames.within(d.frame, into) })
}

// unguard lets presses through again in the other documents and says whether one of them
// has received the press, and what refused it.
func (el *element) unguard(ctx context.Context) (got script.Hit) {
	for d, one := range askAll(ctx, el.guarded, script.EndHitTest, noArgs) {
		got.Seen = got.Seen || one.Seen
		got.Hit = got.Hit || one.Hit
		if one.By != nil {
			got.By, el.missedIn = one.By, d.doc
		}
	}
	return got
}

// arrive moves the pointer over the element, waits until the page has handled that, and
// says whether the element is there now in all documents on the way: what the page shows
// for the pointer may be the document of another frame.
func (el *element) arrive(ctx context.Context) (bool, error) {
	t := el.frame.tab
	if err := t.wait(ctx, t.pointer.Move(el.point()), nil); err != nil {
		return false, el.frame.tab.unsent(ctx, err)
	}
	path := []*document{el.in}
	for _, d := range el.guarded {
		if slices.Contains(el.frames, d.frame) {
			path = append(path, d)
		}
	}
	for _, under := range askAll(ctx, path, script.IsUnder, noArgs) {
		if !under {
			return false, nil
		}
	}
	return true, nil
}

// typing is the keyboard while only one element of the tab may have its keys.
type typing struct {
	el   *element
	in   *document
	docs []*document // the others
	text string      // what is typed; empty: a key is pressed
}

// guardKeys has keys reach the element with that number in the document alone, -1 for
// whatever has the focus in it, until the typing is ended. guarded says that the document
// does so already. Errors: not_actionable where that has not the focus.
func (el *element) guardKeys(ctx context.Context, in *document, node int, guarded bool) (*typing, error) {
	g := &typing{el: el, in: in, docs: el.frame.tab.others(in)}
	askAll(ctx, g.docs, script.GuardKeys, func(*document) int { return 0 })
	var err error
	if !guarded {
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

// end lets keys through again, unless q says to keep them, and says what has come of those
// that were sent: nothing where the keys led to another document. lost is the error of what
// has the focus in place of the element.
func (g *typing) end(ctx context.Context, q script.KeysResultArgs) (got script.KeysResulted, lost func() error) {
	var by, to snapshot.Node // what a key came to; the field that has the focus
	own, err := g.in.start(script.KeysResult.Call(q))
	others := askAll(ctx, g.docs, script.KeysResult, func(*document) script.KeysResultArgs { return script.KeysResultArgs{} })
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
		g.el.frame.tab.settledWith(g.in.frame, *got.Settled)
	}
	return got, func() error { return failure.LostFocus(g.el.action.refs, g.el.ref, got, by, to, g.text) }
}
