package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// A page that changes itself: step(n) does what n says, by a generator that does the
// same each time. Each kind of change is one of which a walk must hear: of attributes,
// texts and children, of what is changed while it is out of the document, of shadow
// trees, of slots and of what moves between them.
const changingPage = `<!doctype html><html lang=en><title>Changing</title>
<style>.loud::before{content:"loud "} .gone{display:none}</style>
<body><main id=main><h1>Start</h1><ul id=list></ul><section aria-label=Section><p>Text of a section</p></section></main>
<script>
let state = 1;
const rand = (n) => { state = (state * 1103515245 + 12345) & 0x7fffffff; return (state >> 8) % n; };
const pick = (list) => list[rand(list.length)];
const TAGS = ['div', 'p', 'a', 'button', 'li', 'ul', 'span', 'h2', 'section', 'table', 'label', 'input', 'my-box', 'details', 'select'];
const WORDS = ['apple', 'pear', ' plum ', '', 'fig and date', '\n', 'quince'];
const out = []; // what has left the document
const roots = () => [document.getElementById('main'), ...shadows.filter((r) => r.isConnected)];
const shadows = [];
const all = () => roots().flatMap((r) => [...r.querySelectorAll('*')]).filter((e) => e.localName !== 'style');
const make = (depth) => {
  const e = document.createElement(pick(TAGS));
  dress(e);
  if (e.localName === 'table') e.innerHTML = '<caption>Rows</caption><tr><th>A<th>B<tr><td>1<td>2';
  else if (e.localName === 'select') e.innerHTML = '<option>One<option>Two';
  else if (e.localName === 'details') e.innerHTML = '<summary>More</summary>Inside <button>Deep</button>';
  else if (e.localName !== 'input') for (let i = rand(3); i >= 0; i--) e.append(depth > 0 && rand(2) ? make(depth - 1) : pick(WORDS));
  if (e.localName === 'my-box' && rand(3)) shade(e);
  return e;
};
const shade = (e) => {
  if (e.shadowRoot) return;
  const r = e.attachShadow({ mode: 'open' });
  r.innerHTML = pick(['<b>Before</b><slot></slot>', '<slot name=one></slot><ul><li><slot></slot> <button>In it</button></li></ul>', '<p>No slot</p>', '<slot name=two><i>Instead</i></slot>']);
  shadows.push(r);
};
const dress = (e) => {
  switch (rand(13)) {
    case 0: e.setAttribute('aria-label', pick(WORDS)); break;
    case 1: e.setAttribute('role', pick(['button', 'listitem', 'link', 'none', 'heading', 'row', 'bogus'])); break;
    case 2: e.toggleAttribute('hidden'); break;
    case 3: e.setAttribute('href', '/' + pick(WORDS)); break;
    case 4: e.id = 'id' + rand(9); break;
    case 5: e.setAttribute('name', pick(WORDS)); break;
    case 6: e.slot = pick(['one', 'two', '']); break;
    case 7: e.tabIndex = rand(2) - 1; break;
    case 8: e.className = pick(['loud', 'gone', '', 'card']); break;
    case 9: e.setAttribute('title', pick(WORDS)); break;
    case 10: e.setAttribute('type', pick(['checkbox', 'text', 'button'])); break;
    case 11: for (const a of e.getAttributeNames()) e.removeAttribute(a); break;
    case 12: e.setAttribute('aria-hidden', pick(['true', 'false'])); break;
  }
};
const texts = (e) => [...e.childNodes].filter((n) => n.nodeType === 3);
const change = () => {
  const e = pick(all()), t = pick(texts(e).concat(null));
  switch (rand(17)) {
    case 0: case 1: dress(e); break;
    case 2: if (t) t.data = pick(WORDS); break;
    case 3: if (t) t.appendData(pick(WORDS)); break;
    case 4: e.append(make(2)); break;
    case 5: e.prepend(pick(WORDS)); break;
    case 6: out.push([e, e.parentNode]); e.remove(); break;
    case 7: if (out.length) { const [o, was] = pick(out); const p = pick([pick(all()), was]); try { p.append(o); } catch { /* it would stand in itself */ } } break;
    case 8: for (const [o] of out) { if (o.isConnected) continue; const k = pick([o, ...o.querySelectorAll('*')]); dress(k); k.prepend(pick(WORDS)); } break; // while it is out
    case 9: e.replaceChildren(make(1), pick(WORDS), make(0)); break;
    case 10: e.normalize(); break;
    case 11: if (t && t.data.length > 1) t.splitText(1); break;
    case 12: if (e.localName === 'my-box') shade(e); else if (e.localName === 'div' || e.localName === 'p') shade(e); break;
    case 13: { const p = pick(all()); try { p.append(e); } catch { /* the same */ } break; } // moves
    case 14: { const p = e.parentNode; e.remove(); const k = pick([e, ...e.querySelectorAll('*')]); dress(k); if (texts(k)[0]) texts(k)[0].data = pick(WORDS); p.append(e); break; } // and is back at once
    case 15: { const s = pick(all().filter((x) => x.localName === 'slot').concat(null)); if (s) s.name = pick(['one', 'two', '']); break; }
    case 16: e.append(document.createComment('nothing'), pick(WORDS)); break;
  }
};
const list = document.getElementById('list');
for (let i = 0; i < 6; i++) { const li = document.createElement('li'); li.innerHTML = 'Thing ' + i + ' <a href=/t' + i + '>Show</a> <button>Buy</button>'; list.append(li); }
for (let i = 0; i < 12; i++) document.getElementById('main').append(make(2));
const step = (seed) => { state = seed; for (let i = rand(6); i >= 0; i--) change(); if (all().length < 20) for (let i = 0; i < 6; i++) document.getElementById('main').append(make(2)); };
</script>`

// wholeWalk is a walk of the whole page, for ask.
const wholeWalk = `__bd.now().pendingListeners(), __bd.walk({interactive: false, max_chars: 1e6, max_nodes: 1e5, max_depth: 1e3, max_text: 1e4, attrs: ['href', 'name', 'type', 'value', 'placeholder', 'aria-label', 'role']})`

// unnumbered is what a walk found without the numbers of its nodes, which differ between
// worlds.
func unnumbered(w walk.Result) walk.Result {
	w.Departed, w.Last = nil, 0 // a new world knows of none
	for i := range w.Nodes {
		w.Nodes[i].Key = snapshot.Key{}
	}
	return w
}

// newWorld makes another isolated world of the page, in which the script has run and
// nothing is known.
func (p *testPage) newWorld(name string) runtime.ExecutionContextID {
	p.t.Helper()
	var tree page.GetFrameTreeResult
	p.call(page.GetFrameTree.Method, nil, &tree)
	var made page.CreateIsolatedWorldResult
	p.call(page.CreateIsolatedWorld.Method, map[string]any{"frameId": tree.FrameTree.Frame.ID, "worldName": name}, &made)
	p.call(runtime.Evaluate.Method, map[string]any{"expression": script.Source, "contextId": made.ExecutionContextID}, nil)
	return made.ExecutionContextID
}

// TestWalksOfAChangingPage changes a page in every way and compares after each change what
// a walk says that has walked the page before, and says no line twice, with what the walk of
// a new world says.
func TestWalksOfAChangingPage(t *testing.T) {
	t.Parallel()
	p := launchTestPage(t)
	o := walk.NewOptions(snapshot.DefaultOptions())
	o.Interactive, o.MaxNodes, o.MaxChars, o.MaxDepth, o.MaxText = false, 1e5, 1e6, 1e3, 1e4
	for _, seed := range []int{1, 2, 3, 4} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p.load(changingPage)
			d, err := p.frame.document()
			if err != nil {
				t.Fatal(err)
			}
			for i := range 50 {
				n := seed*1000 + i
				p.run(fmt.Sprintf("step(%d)", n))
				o.Capture = walk.NextCapture(i)
				got, err := d.walk(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				p.world = p.newWorld(fmt.Sprintf("other %d", n))
				want, err := walk.Decode(d.doc, p.ask(wholeWalk))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(unnumbered(got), unnumbered(want)); diff != "" {
					t.Fatalf("after step(%d): what was walked - what is there +\n%s", n, diff)
				}
			}
		})
	}
}

// TestAPageOnItsWay shows a page that is still on its way: the parser adds to a text
// that is there.
func TestAPageOnItsWay(t *testing.T) {
	t.Parallel()
	p := launchTestPage(t)
	more := make(chan string)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for part := range more {
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	}))
	defer site.Close()
	end := sync.OnceFunc(func() { close(more) })
	defer end()
	ctx, cancel := p.limit()
	defer cancel()
	go func() { more <- "<!doctype html><title>Long</title><p>Once upon" + strings.Repeat(" ", 2000) }()
	if _, err := p.c.Open(ctx, site.URL, protocol.WaitNone); err != nil {
		t.Fatal(err)
	}
	o := walk.NewOptions(snapshot.DefaultOptions())
	o.Interactive = false
	see := func(want string) {
		t.Helper()
		got := ""
		for !strings.Contains(got, want) {
			if ctx.Err() != nil {
				t.Fatalf("no %q in\n%s", want, got)
			}
			got, _ = evaluate(ctx, p.frame, script.Walk, o) // it fails until there is the document
		}
	}
	see("Once upon")
	more <- "a time<p>The end"
	see("Once upon a time")
	end()
	see("The end")
}

// What an animation shows is found while nobody does anything.
func TestAnAnimationInFlight(t *testing.T) {
	t.Parallel()
	p := launchTestPage(t)
	p.load(`<h1>Start</h1><p id=fading>Fading in`)
	for _, effect := range []string{
		`animate([{opacity: 0}, {opacity: 0, offset: 0.9}, {opacity: 1}], 400)`,
		`animate([{transform: 'translateX(-9999px)'}, {transform: 'translateX(-9999px)', offset: 0.9}, {transform: 'none'}], 400)`,
	} {
		p.run(`document.getElementById('fading').` + effect)
		shown := func() bool {
			return slices.ContainsFunc(p.nodes(), func(n snapshot.Node) bool { return n.Name == "Fading in" })
		}
		if shown() {
			t.Fatalf("%s: it is there at once", effect)
		}
		eventually(t, 20*time.Second, "the paragraph behind "+effect, shown)
	}
}

// An element that begins to listen is reported to the script, in which nothing has changed.
func TestAListenerThatComesLate(t *testing.T) {
	t.Parallel()
	p := launchTestPage(t)
	p.load(`<h1>Late</h1><div id=late>Press me</div>`)
	p.nodes()
	p.run(`document.getElementById('late').addEventListener('click', () => {})`)
	d, err := p.frame.document()
	if err != nil {
		t.Fatal(err)
	}
	d.reported.Expire() // it is time to ask again
	if got := p.nodes(); !slices.ContainsFunc(got, func(n snapshot.Node) bool { return slices.Contains(n.States, "clickable") }) {
		t.Errorf("nothing is clickable: %+v", got)
	}
}

// nodes walks the page's main document.
func (p *testPage) nodes() []snapshot.Node {
	p.t.Helper()
	d, err := p.frame.document()
	if err != nil {
		p.t.Fatal(err)
	}
	got, err := d.walk(p.t.Context(), walk.NewOptions(snapshot.DefaultOptions()))
	if err != nil {
		p.t.Fatal(err)
	}
	return got.Nodes
}
