package browser

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/protocol"
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
func (t *tab) dialogOpening(s *Session, e dialogOpening) {
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
	c.happened(func(h *happenings) { h.dialogs = keep(h.dialogs, d, maxDialogs) })
	t.wake()
	c.emit(protocol.EventDialog, map[string]any{"tab": t.name, "kind": d.Kind, "message": d.Message, "default": d.Default, "answer": d.Answer})
	if !wait {
		t.cdp.Send(page.HandleJavaScriptDialog.Method, page.HandleJavaScriptDialogParams{Accept: accept})
	}
}

func (t *tab) dialogClosed(s *Session, e struct {
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
// is open already, until stop is called.
func (t *tab) onDialog(then func()) (stop func()) {
	ctx, cancel := context.WithCancel(t.life)
	go func() {
		if t.until(ctx, func() bool { return t.dialog != nil }) == nil {
			then()
		}
	}()
	return cancel
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

// Dialog answers the open dialog of the selected tab, or of the first tab
// that has one. Without an open dialog it is not_actionable.
func (c *Context) Dialog(ctx context.Context, accept bool, text string) (protocol.Dialog, error) {
	c.mu.Lock()
	var t *tab
	for _, o := range c.tabs {
		if o.dialog != nil && (t == nil || o == c.selected) {
			t = o
		}
	}
	c.mu.Unlock()
	if t != nil {
		d, err := t.answer(ctx, accept, text)
		if err != nil {
			return protocol.Dialog{}, err
		}
		if d != nil {
			return *d, nil
		}
	}
	return protocol.Dialog{}, protocol.Errorf(protocol.NotActionable, "no dialog is open").
		With("reason", "detached").Then("go on: alert and beforeunload are answered at once, and confirm and prompt after their time")
}
