package browser

import (
	"context"
	"errors"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Act does one action and returns what came of it. Errors: those of a ref, not_actionable, invalid_params, and those
// that the actions name.
func (c *Context) Act(ctx context.Context, refs *snapshot.Refs, a protocol.Act) (protocol.Outcome, error) {
	how := settling{unshown: a.Unshown}
	var do actionFunc
	var err error
	switch o := a.Action.(type) {
	case protocol.Click:
		do, err = click(o)
	case protocol.Type:
		do, err = typeText(o)
	case protocol.Press:
		do, err = pressKey(o)
	case protocol.Hover:
		how.late = true
		do = hover(o)
	case protocol.Focus:
		do = focus(o)
	case protocol.Scroll:
		do, err = scroll(o)
	case protocol.Drag:
		do = drag(o)
	case protocol.Mouse:
		do, err = mouse(o)
	case protocol.Select:
		do = selectOptions(o)
	case protocol.Check:
		do = check(o)
	case protocol.Upload:
		do = upload(o)
	case protocol.CallTool:
		do = callTool(o)
	default:
		err = protocol.Errorf(protocol.Unsupported, "a page in Chromium has no action %T", o)
	}
	if err != nil {
		return protocol.Outcome{}, err
	}
	t, err := c.ready(ctx, "")
	if err != nil {
		return protocol.Outcome{}, err
	}
	running := &action{c: c, tab: t, refs: refs, how: how}
	err = running.run(ctx, do)
	return running.outcome, err
}

// action is one acting command under way, in the tab that was selected when it began.
// It belongs to the goroutine that has the session's turn.
type action struct {
	c    *Context
	tab  *tab
	refs *snapshot.Refs
	how  settling

	hit           snapshot.Key              // the node that received the input; zero: none
	interceptedBy script.Hit                // what received the last input in place of its element, if that is known
	value         *string                   // for Effect.Value
	then          func(ctx context.Context) // called when the action has succeeded; nil: nothing
	outcome       protocol.Outcome
}

// actionFunc is what one kind of action does to the page: it finds the element, sends it input, and notes in the action
// which node received it. It has the script watch the documents (script.BeginSettle, which locate does) before
// anything changes.
type actionFunc func(ctx context.Context, a *action) error

// setHit notes that the element received the input; nil: none did.
func (a *action) setHit(el *element, err error) error {
	if el != nil {
		a.hit = el.key
	}
	return err
}

// run performs the action do, waits until the page settles, and reports the effect of both.
// While a dialog is open the page answers nothing, so the context of do is cancelled. A dialog
// that opened before the input was sent is an error; a later one is part of the effect.
func (a *action) run(ctx context.Context, do actionFunc) error {
	t := a.tab
	observed := t.begin(a.how)
	doing, cancel := context.WithCancelCause(ctx)
	stop := t.dialogs.onOpen(func() { cancel(errDialog) })
	err := do(doing, a)
	done := err == nil
	if done {
		err = observed.settle(doing)
	}
	if err == nil {
		err = observed.loadError(doing)
	}
	if err == nil {
		observed.awaitOpened(doing)
	}
	stop()
	if err != nil { // also that of an action which a dialog has ended, although it is answered as a success
		for _, d := range t.otherDocuments(nil) {
			d.start(script.GiveUp.Call(script.None{}))
		}
	}
	closed := done && ctx.Err() == nil && protocol.CodeOf(context.Cause(t.life)) == protocol.StaleRef // by its own page
	if before := (undeliveredError{}); errors.As(err, &before) {
		err = before.error
	} else if closed || errors.Is(context.Cause(doing), errDialog) || errors.Is(err, failure.ErrEnded) {
		err = nil
	}
	cancel(nil)
	a.outcome.Effect = observed.end(a.refs, a.hit)
	a.outcome.Effect.Value = a.value
	a.outcome.Effect.Changed = a.outcome.Effect.Changed || closed
	if err != nil {
		if ctx.Err() != nil && observed.navigating() {
			t.cdp.Send("Page.stopLoading", struct{}{})
		}
		t.recovery.Notice(ctx, err)
		return err
	}
	if e := a.outcome.Effect; e.Navigated != "" || len(e.RequestsFailed) > 0 || observed.asked {
		a.c.cookies.jar.Keep()
	}
	if a.then != nil {
		a.then(ctx)
	}
	return nil
}

// untilDialog runs do, which queries the tab of that name; empty: the selected one. If a dialog opens meanwhile, it
// fails with dialog_open, since the page answers nothing then.
func untilDialog(ctx context.Context, c *Context, name string, do func(ctx context.Context, t *tab) error) error {
	t, err := c.ready(ctx, name)
	if err != nil {
		return err
	}
	doing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer t.dialogs.onOpen(func() { cancel(errDialog) })()
	err = do(doing, t)
	if err == nil {
		return nil
	}
	if context.Cause(doing) == errDialog {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.dialogs.open != nil {
			return failure.DialogOpen(t.dialogs.open)
		}
	}
	t.recovery.Notice(ctx, err)
	return err
}

// errDialog cancels calls to a page that does not answer because a dialog is open.
var errDialog = errors.New("a dialog is open")

// undeliveredError is the error of an action that a dialog or a terminated script stopped before its input reached
// the page. The dialog is then not an effect of the action.
type undeliveredError struct{ error }

// asUndelivered wraps err in undeliveredError if a dialog or a terminated script is its cause.
func (t *tab) asUndelivered(ctx context.Context, err error) error {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	switch {
	case errors.Is(context.Cause(ctx), errDialog) && t.dialogs.open != nil:
		return undeliveredError{failure.DialogOpen(t.dialogs.open)}
	case errors.Is(err, failure.ErrEnded):
		return undeliveredError{err}
	}
	return err
}

// ready returns the tab of that name, or the selected one if it is empty, when it can be used: set up, not crashed, and
// no dialog open. If the tab's last command timed out, its running script is terminated first.
func (c *Context) ready(ctx context.Context, name string) (*tab, error) {
	t, err := c.tab(ctx)
	if err == nil && name != "" {
		t, err = c.find(name)
	}
	if err != nil {
		return nil, err
	}
	select {
	case <-t.up:
		if t.upErr != nil {
			return nil, failure.Opening(t.upErr)
		}
	case <-t.life.Done():
		return nil, context.Cause(t.life)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	dialog := t.dialogs.open
	c.mu.Unlock()
	if dialog != nil {
		return nil, failure.DialogOpen(dialog)
	}
	if t.recovery.Suspect() {
		if err := t.recovery.EnsureResponsive(ctx); err != nil {
			return nil, err
		}
	}
	return t, nil
}
