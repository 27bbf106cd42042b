package browser

import (
	"context"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// scroll brings an element into view, in every scroller that it stands in; or
// scrolls what scrolls around it, or without a ref the page, by pixels or to an
// end. It returns where that scroller is then. Errors: those of a ref,
// invalid_params.
func scroll(o protocol.Scroll) (actionFunc, error) {
	with, err := script.ParseScroll(o)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, a *action) error {
		a.then = func(ctx context.Context) {
			if e := a.outcome.Effect; e.Navigated == "" && e.Dialog == nil {
				a.afterScroll(ctx)
			}
		}
		var err error
		if o.Ref == "" {
			a.outcome.Position, err = evaluate(ctx, a.tab.frames.main, script.ScrollPage, with)
			return err
		}
		el, err := a.locate(ctx, o.Ref, script.Lookup{Want: []string{wantAttached}, ElementCall: script.ScrollFrom.With(with)})
		if err != nil {
			return err
		}
		if a.outcome.Position, err = script.ScrollFrom.Result(el.Then); err == nil && with.Direction == "" && with.To == "" {
			// A frame's element stands in scrollers of the documents above as well.
			err = el.frame.intoView(ctx)
		}
		return a.setHit(el, err)
	}, nil
}

// afterScroll waits until what listens to scrolling has run: it does so with the next frame.
func (a *action) afterScroll(ctx context.Context) {
	if t, err := a.c.tab(ctx); err == nil {
		evaluate(ctx, t.frames.main, script.AfterScroll, script.None{})
	}
}

// intoView brings the frame itself into view in the documents around it.
func (f *frame) intoView(ctx context.Context) error {
	for f != f.tab.frames.main {
		owner, parent := f.tab.ownerAt(ctx, f)
		if parent == nil {
			return failure.DocumentGone()
		}
		if _, err := evaluate(ctx, parent, script.ScrollIntoView, owner.Node); err != nil {
			return err
		}
		f = parent.frame
	}
	return nil
}
