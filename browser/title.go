package browser

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/runtime"
)

// A tab's title is its document's (HTML, 3.1.5). What Chromium
// says of the target is none: the address stands there while the title is not
// known, and nobody is told when it changes.

// titleOfDocument is asked in the isolated world, where no element that is named
// title answers in its place. It is cut as in a snapshot (NAME_MAX of script/js/name.js).
const titleOfDocument = "document.title.slice(0, 2000)"

// askTitle asks the document for its title and does not wait: a page that is held
// does not say it. One question is under way at a time; where another comes
// meanwhile, it is asked again behind that. The caller holds mu.
func (t *tab) askTitle() {
	if t.asked != nil {
		t.askAgain = true
		return
	}
	if t.main.ctxID == "" {
		return // worldCreated asks
	}
	p, doc := t.main.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
		Expression: titleOfDocument, UniqueContextID: t.main.ctxID, ReturnByValue: ptr(true),
	}), t.main.doc
	t.asked, t.askAgain = p, false
	go func() {
		var got evaluated
		err := t.wait(t.life, p, &got)
		t.c.mu.Lock()
		defer t.c.mu.Unlock()
		if t.asked != p {
			return // the document was left
		}
		t.asked = nil
		var title string
		if err == nil && t.main.doc == doc && json.Unmarshal(got.Result.Value, &title) == nil {
			t.title = title
		}
		if t.askAgain && t.life.Err() == nil {
			t.askTitle()
		}
		t.wake()
	}()
}

// titleWait is how long an answer may wait for the title of a page that does not
// say it.
const titleWait = 300 * time.Millisecond

// awaitTitle waits for the answer to askTitle. It is no error where none comes.
func (t *tab) awaitTitle(ctx context.Context) {
	soon, cancel := context.WithTimeout(ctx, titleWait)
	defer cancel()
	t.until(soon, func() bool { return t.asked == nil })
}
