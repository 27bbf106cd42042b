package browser

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// openLeft opens the page /a, in a Chromium that leave brings to /b, whatever of /a
// is being asked. Nothing has looked at either.
func openLeft(t *testing.T, pages map[string]string) (v *visit, away *farAway, leave func()) {
	t.Helper()
	b, away := stageFar(t, 0)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><script>window.log=[];function report(x){log.push(x)}</script>"+pages[r.URL.Path])
	}))
	t.Cleanup(srv.Close)
	ctx := limit(t, 30*time.Second)
	c, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	if _, err := c.Open(ctx, srv.URL, protocol.WaitLoad); err != nil {
		t.Fatal(err)
	}
	tab := c.selected
	to := func(path string) {
		c.mu.Lock()
		was := tab.frames.main.doc
		c.mu.Unlock()
		tab.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: `location.href='` + path + `'`})
		err := tab.until(ctx, func() bool {
			for _, f := range tab.frames.byID {
				if f.doc == 0 {
					return false
				}
			}
			return tab.frames.main.doc != was && tab.nav.ready == "complete"
		})
		if err != nil {
			t.Error("leaving:", err)
		}
	}
	to("/a") // by itself: of a page that was opened the listeners are reported at once
	return &visit{t: t, c: c, refs: snapshot.NewRefs()}, away, func() { to("/b") }
}

const (
	cheap = `<title>A</title><h1>Cheap thing</h1><button onclick="report('A')">Buy</button>`
	dear  = `<title>B</title><h1>Dear thing</h1><button onclick="report('B')">Buy</button>`
)

// What was found in a document that was left meanwhile is gone: its refs are of no
// element of the next one. Where the page reports its listeners late it is searched
// once more, which is in the next document then.
func TestFindInADocumentThatWasLeft(t *testing.T) {
	t.Parallel()
	v, away, leave := openLeft(t, map[string]string{"/a": cheap, "/b": dear})
	v.c.mu.Lock()
	was := v.c.selected.frames.main.doc
	v.c.mu.Unlock()
	away.meanwhile("__bd.now().find(", leave)
	nodes, err := v.c.Find(limit(t, 20*time.Second), v.refs, protocol.Query{Role: "button"})
	if err != nil || len(nodes) != 1 {
		t.Fatalf("found %v, %v", nodes, err)
	}
	ref := snapshot.RefOf(v.refs.Number(nodes[0]))
	if nodes[0].Key.Doc != was {
		equal(t, "a click on the Buy of B", v.click(ref), `{"hit":"`+ref+`","focused":"`+ref+`"}`)
		equal(t, "what was bought", v.log(), "B")
		return
	}
	if got := v.click(ref); !strings.HasPrefix(got, "stale_ref: ") {
		t.Errorf("a click on the Buy of A on B: %s", got)
	}
	equal(t, "what was bought", v.log(), "")
}

// What is looked for in a document that is left before it answers is found in the next one.
func TestFindGoesOnInTheNextDocument(t *testing.T) {
	t.Parallel()
	for _, what := range []string{`"expression":"document"`, "DOMDebugger.getEventListeners"} {
		t.Run(what, func(t *testing.T) {
			v, away, leave := openLeft(t, map[string]string{"/a": cheap + `<div id=d>More</div><script>d.addEventListener('click',()=>0)</script>`, "/b": dear})
			away.meanwhile(what, leave)
			nodes, err := v.c.Find(limit(t, 20*time.Second), v.refs, protocol.Query{Role: "button"})
			if err != nil || len(nodes) != 1 {
				t.Fatalf("found %v, %v", nodes, err)
			}
			ref := snapshot.RefOf(v.refs.Number(nodes[0]))
			equal(t, "a click on what was found", v.click(ref), `{"hit":"`+ref+`","focused":"`+ref+`"}`)
			equal(t, "what was bought", v.log(), "B")
		})
	}
}

// A ref that has moved to another element is not looked for by that one's number in
// the next document.
func TestClickInADocumentThatWasLeft(t *testing.T) {
	t.Parallel()
	v, away, leave := openLeft(t, map[string]string{"/a": reused, "/b": reused})
	v.look()
	ref := v.ref("button", "Delete", 1)
	v.eval(`rows.shift();render()`)
	away.meanwhile("__bd.now().locate(", leave)
	if got := v.click(ref); !strings.HasPrefix(got, "stale_ref: ") {
		t.Errorf("a click on a row of A on B: %s", got)
	}
	equal(t, "what was deleted", v.log(), "")
}

// What is read of a document that was left meanwhile has nothing of the next one's
// frames in it.
func TestReadOfADocumentThatWasLeft(t *testing.T) {
	t.Parallel()
	v, away, leave := openLeft(t, map[string]string{
		"/a": `<p>Of A</p><iframe src=/in-a></iframe>`, "/in-a": `<p>In A</p>`,
		"/b": `<p>Of B</p><iframe src=/in-b></iframe>`, "/in-b": `<p>In B</p>`,
	})
	ctx := limit(t, 20*time.Second)
	away.meanwhile("__bd.now().read(", func() {
		leave()
		v.c.selected.frames.findOwners(ctx, v.c.selected.frames.live())
	})
	got, err := v.c.Read(ctx, v.refs, "", "text", "")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "text", got, "Of A")
}

// listening are pages of which the first has a listener that only CDP sees.
var listening = map[string]string{
	"/a": `<title>A</title><h1>a</h1><div id=d>More</div><script>d.addEventListener('click',()=>0)</script>`,
	"/b": dear,
}

// A page that goes on to another while it is told of its listeners is not what is
// seen: every ref that is handed out is of the document that is there.
func TestWalkOfADocumentThatWasLeft(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"__bd.now().pendingListeners()", `"expression":"document"`, "DOMDebugger.getEventListeners", "DOM.resolveNode"} {
		t.Run(what, func(t *testing.T) {
			v, away, leave := openLeft(t, listening)
			away.meanwhile(what, leave)
			got, err := v.c.Capture(limit(t, 20*time.Second), snapshot.DefaultOptions(), v.refs)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "title", got.Title, "B")
			if !strings.HasSuffix(got.URL, "/b") {
				t.Error("url", got.URL)
			}
			for _, n := range got.Nodes {
				v.refs.Number(n)
			}
			v.seen = got.Nodes
			ref := v.ref("button", "Buy")
			equal(t, "a click on what was seen", v.click(ref), `{"hit":"`+ref+`","focused":"`+ref+`"}`)
			equal(t, "what was bought", v.log(), "B")
		})
	}
}

// A page that was opened and goes on to another while its listeners are reported ahead of the first look is
// not what is seen.
func TestAPageThatGoesOnWhenItWasOpened(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"__bd.now().pendingListeners()", `"expression":"document"`, "DOMDebugger.getEventListeners", "DOM.resolveNode"} {
		t.Run(what, func(t *testing.T) {
			v, away, leave := openLeft(t, listening)
			ctx := limit(t, 20*time.Second)
			left := make(chan struct{})
			away.meanwhile(what, func() { leave(); close(left) })
			if _, err := v.c.Open(ctx, v.c.selected.nav.url, protocol.WaitLoad); err != nil {
				t.Fatal(err)
			}
			<-left
			v.look()
			ref := v.ref("button", "Buy")
			equal(t, "a click on what was seen", v.click(ref), `{"hit":"`+ref+`","focused":"`+ref+`"}`)
			equal(t, "what was bought", v.log(), "B")
		})
	}
}

// A page that goes on to another once it was seen leaves the tab the address of that.
func TestAddressAfterAWalkOfADocumentThatWasLeft(t *testing.T) {
	t.Parallel()
	v, away, leave := openLeft(t, map[string]string{"/a": cheap, "/b": dear})
	v.look()
	away.meanwhile("__bd.now().pendingListeners() || __bd.walk(", leave)
	got, err := v.c.Capture(limit(t, 20*time.Second), snapshot.DefaultOptions(), v.refs)
	if err != nil {
		t.Fatal(err)
	}
	if equal(t, "title", got.Title, "A"); !strings.HasSuffix(got.URL, "/a") {
		t.Error("what was seen was at", got.URL)
	}
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	if at := v.c.selected.nav.url; !strings.HasSuffix(at, "/b") {
		t.Error("the tab is at", at)
	}
}

// Listeners on the window come back where document.open() took them away, also where the document was empty then.
func TestListenersOnTheWindowComeBack(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]string{
		"opened":              {"document.open(); document.write('<p>New</p>'); document.close()"},
		"emptied, and opened": {"document.replaceChildren()", "document.open()"},
	} {
		t.Run(name, func(t *testing.T) {
			p := openTestPage(t, "<!doctype html><p>Old</p>")
			count := func() int {
				var of evaluated
				p.call("Runtime.evaluate", map[string]any{"expression": "globalThis.__bd.now() && window", "contextId": p.world}, &of)
				var got struct{ Listeners []struct{ Type string } }
				p.call("DOMDebugger.getEventListeners", map[string]any{"objectId": of.Result.ObjectID}, &got)
				return len(got.Listeners)
			}
			before := count()
			for _, step := range steps {
				p.call("Runtime.evaluate", map[string]any{"expression": step}, nil)
			}
			if after := count(); before < 5 || after != before {
				t.Errorf("%d listeners, %d before", after, before)
			}
		})
	}
}
