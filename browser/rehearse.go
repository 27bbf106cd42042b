package browser

import (
	_ "embed"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/snapshot"
)

// rehearsed is a page with some of everything that pages have.
//
//go:embed rehearse.html
var rehearsed string

// rehearse has the page of a context that is nobody's yet walk once: V8 compiles a
// function when it is called first, and keeps what it has compiled for the next
// documents of the same process, so that the first snapshot of a session need not
// wait for it. A context that somebody waits for is handed out without.
func (c *Context) rehearse() {
	c.mu.Lock()
	t := c.selected
	c.mu.Unlock()
	if t != nil {
		t.rehearse()
	}
}

func (t *tab) rehearse() *cdp.Pending {
	t.c.mu.Lock()
	world := t.main.ctxID
	t.c.mu.Unlock()
	return t.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: script.WarmUp.Call(script.WarmUpArgs{HTML: rehearsed, Options: newWalkOptions(snapshot.DefaultOptions())}).Expression, UniqueContextID: world, ReturnByValue: ptr(true)})
}
