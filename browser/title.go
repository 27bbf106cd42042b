package browser

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
)

// A tab's title is its document's (HTML, 3.1.5). What Chromium
// says of the target is none: the address stands there while the title is not
// known, and nobody is told when it changes.

// titleOfDocument is asked in the isolated world, where no element that is named
// title answers in its place. It is cut as in a snapshot (NAME_MAX of script/js/name.js).
const titleOfDocument = "document.title.slice(0, 2000)"

// titleRequest is the request for a document's title that is under way.
type titleRequest struct {
	pending *cdp.Pending // nil: none
	again   bool         // the title is to be asked for again once it is answered
}

// askTitle asks the document for its title and does not wait: a page that is held
// does not say it. One question is under way at a time; where another comes
// meanwhile, it is asked again behind that. The caller holds mu.
func (n *navigation) askTitle() {
	if n.titleRequest.pending != nil {
		n.titleRequest.again = true
		return
	}
	t := n.t
	if t.frames.main.isolatedWorld == "" {
		return // worldCreated asks
	}
	p, doc := t.frames.main.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
		Expression: titleOfDocument, UniqueContextID: t.frames.main.isolatedWorld, ReturnByValue: ptr(true),
	}), t.frames.main.doc
	n.titleRequest = titleRequest{pending: p}
	go func() {
		var got evaluated
		err := t.wait(t.life, p, &got)
		t.c.mu.Lock()
		defer t.c.mu.Unlock()
		if n.titleRequest.pending != p {
			return // the document was left
		}
		n.titleRequest.pending = nil
		var title string
		if err == nil && t.frames.main.doc == doc && json.Unmarshal(got.Result.Value, &title) == nil {
			n.title = title
		}
		if n.titleRequest.again && t.life.Err() == nil {
			n.askTitle()
		}
		t.wake()
	}()
}

// titleWait is how long an answer may wait for the title of a page that does not say it.
const titleWait = 300 * time.Millisecond

// awaitTitle waits for the answer to askTitle. It is no error where none comes.
func (n *navigation) awaitTitle(ctx context.Context) {
	soon, cancel := context.WithTimeout(ctx, titleWait)
	defer cancel()
	n.t.until(soon, func() bool { return n.titleRequest.pending == nil })
}
