package browser

import (
	_ "embed"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/snapshot"
)

// warmUpPage is a page with some of everything that pages have.
//
//go:embed warmup.html
var warmUpPage string

// warmUp runs one capture of warmUpPage in the tab of a pooled context, in its empty document, which is empty again
// afterwards: V8 compiles a function at its first call and keeps the code for later documents of the same process.
// A context that a session waits for is handed out without it.
func (t *tab) warmUp() *cdp.Pending {
	t.c.mu.Lock()
	world := t.frames.main.isolatedWorld
	t.c.mu.Unlock()
	call := script.WarmUp.Call(script.WarmUpArgs{HTML: warmUpPage, Options: walk.NewOptions(snapshot.DefaultOptions())})
	return t.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: call.Expression, UniqueContextID: world, ReturnByValue: ptr(true)})
}
