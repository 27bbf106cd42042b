package browser

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// happenings is what the events tell while an action runs.
type happenings struct {
	navigated     string
	dialogs       []protocol.Dialog
	opened        []*tab
	announced     int // tabs that a link asked for and that have not come
	downloads     []string
	consoleErrors []string
	failed        int
	refusedBefore int         // by the egress proxy, when the action began
	settled       *settled    // what the input itself brought back, see tab.settledWith
	within        []*document // of frames, that the action is in
	unshown       bool        // the client wants nothing of the page shown afterwards
}

// actsIn takes it that the action is in the document of a frame, which has to
// settle as well as that of the tab.
func (t *tab) actsIn(d *document) {
	if d.frame == t.frames.main {
		return
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.happened(func(h *happenings) {
		if !slices.ContainsFunc(h.within, func(o *document) bool { return o.doc == d.doc }) {
			h.within = append(h.within, d)
		}
	})
}

// actedIn returns the documents of frames that the action is in and that are there.
func (t *tab) actedIn() (list []*document) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.happened(func(h *happenings) {
		for _, d := range h.within {
			if d.frame.doc == d.doc {
				list = append(list, d)
			}
		}
	})
	return list
}

// happened writes down what happens while somebody acts; the caller holds mu.
func (c *Context) happened(note func(h *happenings)) {
	if c.watching != nil {
		note(c.watching)
	}
}

// errDialog ends what waits for a page that a dialog holds.
var errDialog = errors.New("a dialog is open")

// unsentError is the error of an action that was held up, by a dialog or by a script
// that was ended, before its input had come to the page: what holds the page is not
// what came of it.
type unsentError struct{ error }

// unsent is err as unsentError where that is why.
func (t *tab) unsent(ctx context.Context, err error) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	switch {
	case errors.Is(context.Cause(ctx), errDialog) && t.dialogs.open != nil:
		return unsentError{dialogError(t.dialogs.open)}
	case errors.Is(err, errEnded):
		return unsentError{err}
	}
	return err
}

// Act does one action and says what came of it. Errors: those of a ref,
// not_actionable, invalid_params, and those that the actions name.
func (c *Context) Act(ctx context.Context, refs *snapshot.Refs, a protocol.Act) (r protocol.Outcome, err error) {
	h := how{unshown: a.Unshown}
	switch o := a.Action.(type) {
	case protocol.Click:
		r.Effect, err = c.click(ctx, refs, o, h)
	case protocol.Type:
		r.Effect, err = c.typeText(ctx, refs, o, h)
	case protocol.Press:
		r.Effect, err = c.pressKey(ctx, refs, o, h)
	case protocol.Hover:
		h.late = true
		r.Effect, err = c.hover(ctx, refs, o, h)
	case protocol.Focus:
		r.Effect, err = c.focus(ctx, refs, o, h)
	case protocol.Scroll:
		r.Position, r.Effect, err = c.scroll(ctx, refs, o, h)
	case protocol.Drag:
		r.Effect, err = c.drag(ctx, refs, o, h)
	case protocol.Mouse:
		r.Under, r.Effect, err = c.mouse(ctx, refs, o, h)
	case protocol.Select:
		r.Selected, r.Effect, err = c.selectOptions(ctx, refs, o, h)
	case protocol.Check:
		r.Effect, err = c.check(ctx, refs, o, h)
	case protocol.Upload:
		r.Effect, err = c.upload(ctx, refs, o, h)
	default:
		err = protocol.Errorf(protocol.Unsupported, "a page in Chromium has no action %T", o)
	}
	return r, err
}

// act does something to the page and measures what it did: do runs, the page
// settles, and the effect says what happened from the beginning to the end.
// do returns the node that received the input, and has the script watch the
// documents (begin, which locate does) before anything changes. While a dialog is open do's
// context is cancelled, since the page answers nothing: the effect then says
// that the dialog is open, and where it opened before the input came so does the error.
func (c *Context) act(ctx context.Context, refs *snapshot.Refs, h how, do func(ctx context.Context) (snapshot.Key, error)) (protocol.Effect, error) {
	t, err := c.ready(ctx)
	if err != nil {
		return protocol.Effect{}, err
	}
	start := t.begin(h)
	doing, cancel := context.WithCancelCause(ctx)
	stop := t.dialogs.on(func() { cancel(errDialog) })
	hit, err := do(doing)
	if err == nil {
		err = start.settle(doing)
	}
	if err == nil {
		err = t.unreached(doing, start)
	}
	if err == nil {
		t.awaitOpened(doing)
	}
	stop()
	if before := (unsentError{}); errors.As(err, &before) {
		err = before.error
	} else if err != nil && (errors.Is(context.Cause(doing), errDialog) || errors.Is(err, errEnded)) {
		err = nil
	}
	cancel(nil)
	e := c.effect(t, refs, start, hit)
	if err != nil {
		if ctx.Err() != nil && start.navigating() {
			t.cdp.Send("Page.stopLoading", struct{}{})
		}
		t.recovery.notice(ctx, err)
		return e, err
	}
	if e.Navigated != "" || e.RequestsFailed > 0 || start.asked {
		c.keepCookies()
	}
	return e, nil
}

// openedWait is how long a tab that an action opened may take to come and to say
// its URL.
const openedWait = 500 * time.Millisecond

// awaitOpened waits until the tabs that the action asked for have come, and those
// that it opened have begun to load.
func (t *tab) awaitOpened(ctx context.Context) {
	soon, cancel := context.WithTimeout(ctx, openedWait)
	defer cancel()
	var opened []*tab
	t.until(soon, func() bool {
		if t.c.watching == nil {
			return true
		}
		opened = t.c.watching.opened
		return t.c.watching.announced == 0
	})
	for _, o := range opened {
		o.until(soon, func() bool { return o.nav.commits > 0 })
	}
}

// comes takes it that a page appeared in the context while somebody acts, and says
// whether it is one that a link asked for, which has no opener. The caller holds mu.
func (h *happenings) comes(popup bool) (asked bool) {
	asked = h.announced > 0
	if asked {
		h.announced--
	}
	return asked || popup
}

// begin starts to watch.
func (t *tab) begin(h how) *start {
	t.activity.Add(1)
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.watching = &happenings{refusedBefore: t.c.refused(), unshown: h.unshown}
	t.c.dialogs = 0
	for _, o := range t.c.tabs {
		for _, f := range o.frames.byID {
			f.allowDialogs()
		}
	}
	return &start{tab: t, how: h, at: time.Now(), navigationCounts: t.nav.navigationCounts, lost: t.nav.lost}
}

// unreached is the error of an action, or of a navigation, that led on to a
// document which did not load: Chromium has put a page of its own in its place, which says nothing. Nil where
// the action led elsewhere, or nowhere.
func (t *tab) unreached(ctx context.Context, s *start) error {
	t.c.mu.Lock()
	lost := t.nav.lost
	t.c.mu.Unlock()
	if lost == nil {
		return nil
	}
	if lost != s.lost {
		t.nav.awaitErrorPage(ctx, s.commits)
	}
	t.c.mu.Lock()
	shown := t.nav.commits != s.commits && t.nav.failing
	t.c.mu.Unlock()
	if !shown {
		return nil
	}
	return t.nav.notLoaded(lost.reason, s.at).With("url", lost.url)
}

// effect stops watching and says what happened.
func (c *Context) effect(t *tab, refs *snapshot.Refs, s *start, hit snapshot.Key) protocol.Effect {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.watching
	c.watching = nil
	e := protocol.Effect{
		Navigated: h.navigated, Downloads: h.downloads, ConsoleErrors: h.consoleErrors,
		// The proxy also sees what the page's workers and sockets asked for.
		RequestsFailed: max(h.failed, c.refused()-h.refusedBefore),
		Changed:        s.seen.Changed || h.navigated != "", Announced: s.seen.Announced,
	}
	if n, ok := refs.Seen(hit); ok {
		e.Hit = snapshot.RefOf(n)
	}
	if s.seen.Focused != 0 {
		e.FocusedDoc, e.FocusedNode = s.seen.focusedIn, s.seen.Focused
		if n, ok := refs.Seen(snapshot.Key{Doc: s.seen.focusedIn, Node: s.seen.Focused}); ok {
			e.Focused = snapshot.RefOf(n)
		}
	}
	for _, o := range h.opened {
		e.TabsOpened = append(e.TabsOpened, o.info())
	}
	if n := len(h.dialogs); n > 0 {
		d := h.dialogs[n-1]
		e.Dialog = &d
		if t.dialogs.open != nil {
			e.Dialog = t.dialogs.open
		}
		if n > 1 {
			e.Dialogs = h.dialogs
		}
	} else if t.dialogs.open != nil {
		e.Dialog = t.dialogs.open
	}
	return e
}

// ready returns the selected tab when it can be used: set up, not crashed,
// and no dialog open. A tab that did not answer a command in time is freed of
// the script that holds it first.
func (c *Context) ready(ctx context.Context) (*tab, error) {
	t, err := c.tab(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.up:
		if t.upErr != nil {
			return nil, asUnavailable(t.upErr)
		}
	case <-t.life.Done():
		return nil, context.Cause(t.life)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	dialog, suspect := t.dialogs.open, t.recovery.suspect
	c.mu.Unlock()
	if dialog != nil {
		return nil, dialogError(dialog)
	}
	if suspect {
		if err := t.recovery.free(ctx); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func dialogError(d *protocol.Dialog) error {
	return protocol.Errorf(protocol.DialogOpen, "a dialog (%s) is open and holds the page", d.Kind).
		With("kind", d.Kind).With("message", d.Message)
}
