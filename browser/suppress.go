package browser

import (
	"fmt"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/script"
)

// maxSuppressedDialogs is how many dialogs over maxDialogs a page may open before its script
// is terminated. By then suppressDialogs has taken effect, unless one script opens them all
// in a loop.
const maxSuppressedDialogs = 3

// suppressExcess answers a dialog over maxDialogs without reporting it, and suppresses
// later ones until the next action begins. A script that goes on to open dialogs in a loop
// is terminated. That is the last resort: Runtime.terminateExecution ends whatever runs in
// the page when it arrives, and that may be browserd's own call, which is then never
// answered. The caller holds mu.
func (d *dialogs) suppressExcess(kind string) {
	t := d.t
	if t.c.dialogs == maxDialogs+1 {
		t.c.log.Write(t.name, "warning", fmt.Sprintf("browserd: the page opens one dialog after the other: it is cut off after %d", maxDialogs), "", 0)
	}
	accept := kind == "alert" || kind == "beforeunload"
	for _, f := range t.frames.byID {
		f.suppressDialogs()
	}
	// beforeunload is asked for when the page's script is over.
	if kind != "beforeunload" && t.c.dialogs > maxDialogs+maxSuppressedDialogs {
		// In front of the answer: V8 looks whether it is to end a script where a
		// function is called, and in a loop that calls none not every time.
		t.cdp.Send("Runtime.terminateExecution", cdproto.Empty{})
	}
	t.cdp.Send(page.HandleJavaScriptDialog.Method, page.HandleJavaScriptDialogParams{Accept: accept})
}

// suppressed is a document whose dialogs are suppressed. Guarded by the context's mu.
type suppressed struct {
	world        string                 // uniqueId of the document's main world
	undo         runtime.RemoteObjectID // function that undoes it; empty until script.SuppressDialogs has returned
	undoWhenDone bool                   // undo it as soon as script.SuppressDialogs has returned
}

// suppressDialogs keeps the frame's document from opening dialogs. The caller holds mu.
func (f *frame) suppressDialogs() {
	if f.mainWorld == "" || f.suppressed != nil && f.suppressed.world == f.mainWorld {
		return
	}
	m := &suppressed{world: f.mainWorld}
	f.suppressed = m
	s, mu := f.cdp, &f.tab.c.mu
	p := s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: script.SuppressDialogs, UniqueContextID: f.mainWorld})
	go func() {
		var got evaluated
		err := f.tab.wait(f.tab.life, p, &got)
		mu.Lock()
		defer mu.Unlock()
		switch m.undo = got.Result.ObjectID; {
		case err != nil || got.ExceptionDetails != nil:
			// It was ended together with the page's script: the next dialog tries again.
			if f.suppressed == m {
				f.suppressed = nil
			}
		case m.undoWhenDone:
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
	case m.undo == "":
		m.undoWhenDone = true
		return
	}
	f.suppressed = nil
	f.cdp.Send(runtime.CallFunctionOn.Method, map[string]any{"objectId": m.undo, "functionDeclaration": "function(){this()}"})
	f.cdp.Send(runtime.ReleaseObject.Method, map[string]any{"objectId": m.undo})
}
