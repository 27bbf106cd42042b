package browser

import (
	"cmp"
	"context"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/event"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// maxDialogs is how many dialogs in a row a page may open before it is cut off.
const maxDialogs = 20

// dialogs are the dialogs of a tab: the one that is open, and who is to hear of one.
// Guarded by the context's mu, since an open dialog and what it holds up are looked at
// together. The event callback opens and closes them.
type dialogs struct {
	t       *tab
	open    *protocol.Dialog // unanswered; nil: none
	origin  string           // of the document that opened the last one; "null" where its URL has none
	timer   *time.Timer      // dismisses it
	sent    *protocol.Dialog // whose answer was sent
	waiting map[int]func()   // called, once each, when one opens
	lastKey int              // of waiting
}

func newDialogs(t *tab) dialogs { return dialogs{t: t, waiting: map[int]func(){}} }

// opening answers alert and beforeunload at once, and lets confirm and
// prompt wait for the command dialog, or as the session was opened. A person who drives answers all.
func (d *dialogs) opening(_ *cdp.Session, e event.DialogOpening) (changed bool) {
	t, c := d.t, d.t.c
	if c.dialogs++; c.dialogs > maxDialogs {
		d.suppressExcess(e.Type)
		return true
	}
	d.origin = cmp.Or(policy.Origin(e.URL), "null")
	dialog := protocol.Dialog{Kind: e.Type, Message: e.Message, Default: e.DefaultPrompt}
	driven, accept, wait := c.people.Driven(), true, false
	switch {
	case e.Type == "alert" && !driven, e.Type == "beforeunload":
	case c.o.Dialogs == "dismiss" && !driven:
		accept = false
	case c.o.Dialogs == "accept" && !driven:
	default:
		wait = true
	}
	if wait {
		dialog.Answer = "open"
		d.open = &dialog
		d.timer = time.AfterFunc(c.people.DialogTimeout(c.o.DialogTimeout), func() { d.expire(&dialog) })
	} else {
		dialog.Answer = answerWord[accept]
	}
	if c.effects != nil || !wait {
		c.reports().Dialog(dialog)
	}
	t.wake() // before the contexts of those that wait end
	if wait {
		for _, then := range d.waiting {
			then()
		}
		clear(d.waiting)
	}
	c.emit(protocol.EventDialog, map[string]any{"tab": t.name, "kind": dialog.Kind, "message": dialog.Message, "default": dialog.Default, "answer": dialog.Answer})
	if !wait {
		t.cdp.Send(page.HandleJavaScriptDialog.Method, page.HandleJavaScriptDialogParams{Accept: accept})
	}
	return false
}

// expire dismisses a dialog that nobody has answered in time.
func (d *dialogs) expire(dialog *protocol.Dialog) {
	c := d.t.c
	ctx, cancel := context.WithTimeout(c.life, 5*time.Second)
	defer cancel()
	if answered, err := d.answer(ctx, dialog, false, ""); err == nil && answered != nil {
		c.mu.Lock()
		c.reports().Dialog(*answered)
		c.mu.Unlock()
	}
}

func (d *dialogs) closed(_ *cdp.Session, _ struct{}) (changed bool) {
	if d.open == nil {
		return false
	}
	d.timer.Stop()
	d.open = nil
	return true
}

// stop ends the timer of an open dialog: the tab has gone. The caller holds mu.
func (d *dialogs) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

var answerWord = map[bool]string{true: "accepted", false: "dismissed"}

// onOpen calls then once, when a dialog opens that waits for an answer, or now if one is open, unless stop was called
// before. then is called with mu held, so it may do no more than cancel a context.
func (d *dialogs) onOpen(then func()) (stop func()) {
	mu := &d.t.c.mu
	mu.Lock()
	defer mu.Unlock()
	if d.open != nil {
		then()
		return func() {}
	}
	d.lastKey++
	key := d.lastKey
	d.waiting[key] = then
	return func() {
		mu.Lock()
		defer mu.Unlock()
		delete(d.waiting, key)
	}
}

// answer answers the open dialog, or of where that is not nil, and says which it was; nil if it is not open, or was
// answered: a second answer would be the next one's.
func (d *dialogs) answer(ctx context.Context, of *protocol.Dialog, accept bool, text string) (*protocol.Dialog, error) {
	t := d.t
	t.c.mu.Lock()
	dialog := d.open
	if dialog == nil || dialog == d.sent || of != nil && of != dialog {
		t.c.mu.Unlock()
		return nil, nil
	}
	d.sent = dialog
	p := t.cdp.Send(page.HandleJavaScriptDialog.Method, page.HandleJavaScriptDialogParams{Accept: accept, PromptText: text})
	t.c.mu.Unlock()
	if err := t.wait(ctx, p, nil); err != nil {
		return nil, err
	}
	// The answer to the command does not say that the page goes on; or it closes its tab.
	if err := t.until(ctx, func() bool { return d.open != dialog }); err != nil && t.life.Err() == nil {
		return nil, err
	}
	answered := *dialog
	answered.Answer = answerWord[accept]
	return &answered, nil
}

// dialogSettleWait is how long the command dialog waits for the page to settle after its answer.
// The answer itself is sent at once.
const dialogSettleWait = 500 * time.Millisecond

// Dialog answers the open dialog of the selected tab, or of the first tab
// that has one. Without an open dialog it is not_actionable.
//
// With refs, for which the caller has the session's turn, the page is followed until
// it has settled, as after an action, and the effect says what came of the answer;
// settled is false if that took longer than dialogSettleWait.
func (c *Context) Dialog(ctx context.Context, refs *snapshot.Refs, a protocol.DialogAnswer) (d protocol.Dialog, e protocol.Effect, settled bool, err error) {
	c.mu.Lock()
	var t *tab
	for _, o := range c.tabs {
		if o.dialogs.open != nil && (t == nil || o == c.selected) {
			t = o
		}
	}
	c.mu.Unlock()
	if t == nil {
		return d, e, false, failure.NoDialog()
	}
	var begun *observation
	if refs != nil {
		begun = t.begin(settling{unshown: a.Unshown})
	}
	answered, err := t.dialogs.answer(ctx, nil, a.Accept, a.Text)
	if err == nil && answered == nil {
		err = failure.NoDialog()
	}
	if err == nil && begun != nil {
		settled = settleAfterDialog(ctx, begun)
		err = begun.loadError(ctx)
	}
	if begun != nil {
		e = begun.end(refs, snapshot.Key{})
	}
	if err != nil {
		return d, e, false, err
	}
	if e.Dialog == nil {
		e.Dialog = answered
	}
	return *answered, e, settled, nil
}

// settleAfterDialog waits until the page has settled, for at most dialogSettleWait or until it opens a dialog, and reports whether it has.
func settleAfterDialog(ctx context.Context, s *observation) bool {
	limited, cancel := context.WithTimeout(ctx, dialogSettleWait)
	defer cancel()
	doing, held := context.WithCancelCause(limited)
	defer held(nil)
	defer s.tab.dialogs.onOpen(func() { held(errDialog) })()
	err := s.settle(doing)
	if err == nil {
		s.awaitOpened(doing)
	}
	return err == nil
}
