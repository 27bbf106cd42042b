package browser

import (
	"fmt"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/script"
)

// dialogsInOneScript is how many dialogs more a page may open before its script is ended: one
// that opens them by a timer has found by then that nothing opens any more, one that opens
// them in a loop cannot find it.
const dialogsInOneScript = 3

// cutOff ends the dialogs of a page that does not stop to open them: this one is
// answered and reported to nobody, and what opens the next finds that nothing opens any more,
// until the next action begins. A script that goes on all the same is ended. Only then:
// Runtime.terminateExecution ends whatever the page runs when it gets there, and that may be
// what browserd waits for, which then never answers. The caller holds mu.
func (d *dialogs) cutOff(kind string) {
	t := d.t
	if t.c.dialogs == maxDialogs+1 {
		t.c.log.Write(t.name, "warning", fmt.Sprintf("browserd: the page opens one dialog after the other: it is cut off after %d", maxDialogs), "", 0)
	}
	accept := kind == "alert" || kind == "beforeunload"
	for _, f := range t.frames.byID {
		f.suppressDialogs()
	}
	// beforeunload is asked for when the page's script is over.
	if kind != "beforeunload" && t.c.dialogs > maxDialogs+dialogsInOneScript {
		// In front of the answer: V8 looks whether it is to end a script where a
		// function is called, and in a loop that calls none not every time.
		t.cdp.Send("Runtime.terminateExecution", cdproto.Empty{})
	}
	t.cdp.Send(page.HandleJavaScriptDialog.Method, page.HandleJavaScriptDialogParams{Accept: accept})
}

// suppressed is a document whose dialogs are suppressed. Guarded by the context's mu.
type suppressed struct {
	world string                 // the page's own in the document, by its unique id
	back  runtime.RemoteObjectID // what takes it back; empty until it has been done
	over  bool                   // it is to be taken back as soon as it has been done
}

// suppressDialogs keeps the frame's document from opening dialogs. The caller holds mu.
func (f *frame) suppressDialogs() {
	if f.own == "" || f.suppressed != nil && f.suppressed.world == f.own {
		return
	}
	m := &suppressed{world: f.own}
	f.suppressed = m
	s, mu := f.cdp, &f.tab.c.mu
	p := s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: script.SuppressDialogs, UniqueContextID: f.own})
	go func() {
		var got evaluated
		err := f.tab.wait(f.tab.life, p, &got)
		mu.Lock()
		defer mu.Unlock()
		switch m.back = got.Result.ObjectID; {
		case err != nil || got.ExceptionDetails != nil:
			// It was ended together with the page's script: the next dialog tries again.
			if f.suppressed == m {
				f.suppressed = nil
			}
		case m.over:
			f.allowDialogs()
		}
	}()
}

// allowDialogs lets the frame's document open dialogs again. The caller holds mu.
func (f *frame) allowDialogs() {
	m := f.suppressed
	switch {
	case m == nil:
		return
	case m.back == "":
		m.over = true
		return
	}
	f.suppressed = nil
	f.cdp.Send(runtime.CallFunctionOn.Method, map[string]any{"objectId": m.back, "functionDeclaration": "function(){this()}"})
	f.cdp.Send(runtime.ReleaseObject.Method, map[string]any{"objectId": m.back})
}
