package browser

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/snapshot"
)

// warmUpPage is a page with some of everything that pages have.
//
//go:embed warmup.html
var warmUpPage string

// warmUpCall captures that page as a snapshot does, in the empty document of a pooled
// context, and empties the document again. Its value is what the walk answered.
var warmUpCall = sync.OnceValue(func() string {
	html, _ := json.Marshal(warmUpPage) // strings and numbers cannot fail
	options, _ := json.Marshal(newWalkOptions(snapshot.DefaultOptions()))
	return `(() => {
const page = document.createElement('div');
page.innerHTML = ` + string(html) + `;
document.body.append(page);
try { __bd.now().news(); return __bd.walk(` + string(options) + `); } finally { page.remove(); }
})()`
})

// warmUp runs one capture in a pooled context, so that V8 has compiled the script before
// the first snapshot of the session that gets the context: V8 compiles a function at its
// first call and keeps the code for later documents of the same process. A context that a
// session waits for is handed out without it.
func (c *Context) warmUp() {
	c.mu.Lock()
	t := c.selected
	c.mu.Unlock()
	if t != nil {
		t.warmUp()
	}
}

func (t *tab) warmUp() *cdp.Pending {
	t.c.mu.Lock()
	world := t.main.ctxID
	t.c.mu.Unlock()
	return t.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: warmUpCall(), UniqueContextID: world, ReturnByValue: ptr(true)})
}
