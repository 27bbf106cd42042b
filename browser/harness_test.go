package browser

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// testPage is a page in a context of its own, whose script is asked directly:
// unlike Capture, without telling it of listeners and closed roots first.
type testPage struct {
	t     *testing.T
	url   string
	html  atomic.Value // string
	c     *Context
	frame *frame                     // the tab's main one
	world runtime.ExecutionContextID // the isolated world of the document that is loaded
}

// openTestPage opens a page with that HTML and waits until it is loaded.
func openTestPage(t *testing.T, html string) *testPage {
	t.Helper()
	p := launchTestPage(t)
	p.load(html)
	return p
}

// launchTestPage opens about:blank; load loads pages.
func launchTestPage(t *testing.T) *testPage {
	t.Helper()
	p := &testPage{t: t}
	b := sharedBrowser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		html := p.html.Load().(string)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasPrefix(html, "<?xml") {
			w.Header().Set("Content-Type", "application/xhtml+xml")
		}
		io.WriteString(w, html)
	}))
	t.Cleanup(site.Close)
	p.url = site.URL

	ctx, cancel := p.limit()
	defer cancel()
	c, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	tab, err := c.ready(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	p.c, p.frame = c, tab.frames.main
	return p
}

// limit bounds one step of a test. A test takes thousands, so the caller
// cancels. The longest step, a walk of 26,000 nodes with the race detector, takes 5 s on
// an idle machine.
func (p *testPage) limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(p.t.Context(), 90*time.Second)
}

// load loads another page in the place of the one that is open.
func (p *testPage) load(html string) {
	p.t.Helper()
	ctx, cancel := p.limit()
	defer cancel()
	p.html.Store(html)
	if _, err := p.c.Open(ctx, p.url, protocol.WaitLoad); err != nil {
		p.t.Fatal(err)
	}
	if d, err := p.frame.document(); err != nil || d.reported.Await(ctx) != nil {
		p.t.Fatal("its listeners are not reported: ", err)
	}
	p.c.mu.Lock()
	p.world = p.frame.isolatedWorldID
	p.c.mu.Unlock()
}

// write writes another page into the document that is open: in a fifth of the time of
// load, for pages that load nothing and have no scripts.
func (p *testPage) write(html string) {
	p.t.Helper()
	p.call("Page.setDocumentContent", map[string]any{"frameId": p.frame.id, "html": html}, nil)
}

// Eval is EvalAt in any document.
func (c *Context) Eval(ctx context.Context, refs *snapshot.Refs, ref, expression string) (json.RawMessage, error) {
	return c.EvalAt(ctx, refs, ref, expression, nil)
}

// run evaluates a script in the page's own world.
func (p *testPage) run(script string) {
	p.t.Helper()
	ctx, cancel := p.limit()
	defer cancel()
	if _, err := p.c.Eval(ctx, nil, "", script); err != nil {
		p.t.Fatalf("%.200s: %v", script, err)
	}
}

// ask evaluates an expression in the isolated world; the answer is a string.
func (p *testPage) ask(expression string) string {
	p.t.Helper()
	var got evaluated
	p.call(runtime.Evaluate.Method, map[string]any{"expression": expression, "contextId": p.world, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		p.t.Fatalf("%.200s: %s", expression, got.ExceptionDetails.Description())
	}
	var answer string
	if err := json.Unmarshal(got.Result.Value, &answer); err != nil {
		p.t.Fatalf("%.200s: %v", expression, err)
	}
	return answer
}

// walk walks the page as one document numbered 1, asked as evaluateWithListeners asks.
func (p *testPage) walk(o script.WalkOptions) walk.Result {
	p.t.Helper()
	w, err := walk.Decode(1, p.rawWalk(o))
	if err != nil {
		p.t.Fatal(err)
	}
	return w
}

// rawWalk returns what the script answers to walk.
func (p *testPage) rawWalk(o script.WalkOptions) string {
	p.t.Helper()
	ctx, cancel := p.limit()
	defer cancel()
	if _, err := evaluate(ctx, p.frame, script.PendingListeners, script.None{}); err != nil {
		p.t.Fatal(err)
	}
	raw, err := evaluate(ctx, p.frame, script.Walk, o)
	if err != nil {
		p.t.Fatal(err)
	}
	return raw
}

// call sends the page a command of CDP. The fields of result, which may be
// nil, are matched in any case.
func (p *testPage) call(method string, params map[string]any, result any) {
	p.t.Helper()
	ctx, cancel := p.limit()
	defer cancel()
	tab := p.frame.tab
	var raw jsonv2.Value
	if err := tab.wait(ctx, tab.cdp.Send(method, params), &raw); err != nil {
		p.t.Fatal(err)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(raw, result); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}
