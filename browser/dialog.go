package browser

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// maxDialogs is how many dialogs in a row a page may open before it is cut off.
const maxDialogs = 20

type dialogOpening struct {
	Message       string `json:"message"`
	Type          string `json:"type"`
	DefaultPrompt string `json:"defaultPrompt"`
	URL           string `json:"url"`
}

// dialogOpening answers alert and beforeunload at once, and lets confirm and
// prompt wait for the command dialog, or as the session was opened.
func (t *tab) dialogOpening(s *cdp.Session, e dialogOpening) {
	c := t.c
	if c.dialogs++; c.dialogs > maxDialogs {
		t.cutOff(e.Type)
		return
	}
	d := protocol.Dialog{Kind: e.Type, Message: e.Message, Default: e.DefaultPrompt}
	accept, wait := true, false
	switch {
	case e.Type == "alert", e.Type == "beforeunload":
	case c.o.Dialogs == "dismiss":
		accept = false
	case c.o.Dialogs == "accept":
	default:
		wait = true
	}
	if wait {
		d.Answer = "open"
		t.dialog = &d
		t.timer = time.AfterFunc(c.o.DialogTimeout, func() {
			ctx, cancel := context.WithTimeout(c.life, 5*time.Second)
			defer cancel()
			t.answer(ctx, false, "")
		})
	} else {
		d.Answer = answerWord(accept)
	}
	c.effects.dialog(d)
	t.wake()
	if wait {
		for _, then := range t.onDialogs {
			then()
		}
		clear(t.onDialogs)
	}
	c.emit(protocol.EventDialog, map[string]any{"tab": t.name, "kind": d.Kind, "message": d.Message, "default": d.Default, "answer": d.Answer})
	if !wait {
		t.cdp.Send(page.HandleJavaScriptDialog.Method, page.HandleJavaScriptDialogParams{Accept: accept})
	}
}

func (t *tab) dialogClosed(s *cdp.Session, e struct {
	Result bool `json:"result"`
}) {
	if t.dialog == nil {
		return
	}
	t.timer.Stop()
	t.dialog = nil
	t.wake()
}

func answerWord(accept bool) string {
	if accept {
		return "accepted"
	}
	return "dismissed"
}

// onDialog calls then, once, when a dialog opens that waits for an answer, or
// is open already, until stop is called. then is called with mu held: it ends a context.
func (t *tab) onDialog(then func()) (stop func()) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.dialog != nil {
		then()
		return func() {}
	}
	t.heeds++
	key := t.heeds
	t.onDialogs[key] = then
	return func() {
		t.c.mu.Lock()
		defer t.c.mu.Unlock()
		delete(t.onDialogs, key)
	}
}

// answer answers the open dialog and says which it was; nil where none is open.
func (t *tab) answer(ctx context.Context, accept bool, text string) (*protocol.Dialog, error) {
	t.c.mu.Lock()
	d := t.dialog
	t.c.mu.Unlock()
	if d == nil {
		return nil, nil
	}
	p := t.cdp.Send(page.HandleJavaScriptDialog.Method, page.HandleJavaScriptDialogParams{Accept: accept, PromptText: text})
	if err := t.wait(ctx, p, nil); err != nil {
		return nil, err
	}
	// The answer to the command does not say that the page goes on.
	if err := t.until(ctx, func() bool { return t.dialog != d }); err != nil {
		return nil, err
	}
	answered := *d
	answered.Answer = answerWord(accept)
	return &answered, nil
}

// followWait is how long the page is followed that goes on when its dialog has been
// answered: the answer is given at once, whatever the page does then.
const followWait = 500 * time.Millisecond

// Dialog answers the open dialog of the selected tab, or of the first tab
// that has one. Without an open dialog it is not_actionable.
//
// With refs, for which the caller has the session's turn, the page is followed until
// it has settled, as after an action, and the effect says what came of the answer;
// settled is false where that took longer than followWait.
func (c *Context) Dialog(ctx context.Context, refs *snapshot.Refs, a protocol.DialogAnswer) (d protocol.Dialog, e protocol.Effect, settled bool, err error) {
	c.mu.Lock()
	var t *tab
	for _, o := range c.tabs {
		if o.dialog != nil && (t == nil || o == c.selected) {
			t = o
		}
	}
	c.mu.Unlock()
	none := protocol.Errorf(protocol.NotActionable, "no dialog is open").
		With("reason", "detached").Then("go on: alert and beforeunload are answered at once, and confirm and prompt after their time")
	if t == nil {
		return d, e, false, none
	}
	var begun *observation
	if refs != nil {
		begun = t.begin(settling{noSnapshot: a.Unshown})
	}
	answered, err := t.answer(ctx, a.Accept, a.Text)
	if err == nil && answered == nil {
		err = none
	}
	if err == nil && begun != nil {
		settled = t.follow(ctx, begun)
		err = t.unreached(ctx, begun)
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

// follow waits until the page has settled, at most followWait or until it opens a
// dialog that waits, and says whether it has.
func (t *tab) follow(ctx context.Context, s *observation) bool {
	limited, cancel := context.WithTimeout(ctx, followWait)
	defer cancel()
	doing, held := context.WithCancelCause(limited)
	defer held(nil)
	defer t.onDialog(func() { held(errDialog) })()
	err := t.settle(doing, s)
	if err == nil {
		t.awaitOpened(doing)
	}
	return err == nil
}
