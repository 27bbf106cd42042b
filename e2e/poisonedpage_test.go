package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// poisonable has one thing of each kind that a command acts on or reads. What happens
// in it is told to the server by a function that was made before any poison.
const poisonable = `<!doctype html><meta charset=utf-8><title>Shop</title><script>
var log = ((send, of, n) => (what) => send(of + n++, what))(navigator.sendBeacon.bind(navigator), '/-/log?of=' + location.pathname + '&n=', 100);
</script>%s<style>td, th { padding: 4px } form button { position: absolute; left: 900px } .far { margin-top: 3000px } .off { display: none }</style>
<h1>Shop</h1><p>Prices of <b>today</b>, without tax.</p><a href="/other?a=1">Other</a>
<form id=order onsubmit="log('submit ' + 1); return false"><label>City <input name=city value=Oslo oninput="log('input')"></label><label>Word <input type=password name=word value=hush></label>
<label><input type=checkbox name=gift onchange="log('gift')"> Gift</label><label>Size <select name=size onchange="log('size')"><option>Small<option>Large</select></label>
<label>Note <textarea name=note>Leave it at the door</textarea></label><button onclick="log('buy')">Buy</button></form>
<div contenteditable aria-label=Wish oninput="log('wish')">a wish</div><div tabindex=0 role=button onclick="log('div')">Div</div>
<table><caption>Stock</caption><tr><th>Tea<th>Price<tr><td>Oolong<td>12<tr><td>Assam<td>9</table><p class=off>hidden words</p>
<div><template shadowrootmode=closed><button onclick="log('shadow')">In the shadow</button></template></div><iframe title=Inner srcdoc="<h2>Inner</h2><button onclick=&quot;parent.log('inner')&quot;>In the frame</button>"></iframe>
<button class=far onclick="log('far')">Far</button>%s`

// poisons are what a page does to mislead whoever reads it or acts on it: before its
// elements are there, and when they are.
var poisons = []struct{ name, before, after string }{
	{name: "nothing"},
	{name: "built-ins that throw", before: tamper},
	{name: "built-ins that lie", before: `<script>
	const lies = { string: 'LIE', number: 7, boolean: true };
	for (const owner of [Node, Element, HTMLElement, Document, HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement, HTMLOptionElement, HTMLButtonElement, HTMLFormElement, HTMLLabelElement, HTMLAnchorElement, CharacterData, Text, ShadowRoot, Event, UIEvent, MouseEvent, PointerEvent, KeyboardEvent, DOMRect, DOMRectReadOnly, CSSStyleDeclaration, Range, Selection, NodeList, HTMLCollection, MutationObserver, IntersectionObserver]) {
		for (const [name, own] of Object.entries(Object.getOwnPropertyDescriptors(owner.prototype))) if (own.configurable && name !== 'constructor')
			try { Object.defineProperty(owner.prototype, name, own.get ? { get: () => 'LIE', set() {}, configurable: true } : { value: () => 'LIE', configurable: true, writable: true }) } catch {}
	}
	for (const name of ['getComputedStyle', 'getSelection', 'requestAnimationFrame', 'setTimeout', 'queueMicrotask', 'performance', 'innerWidth', 'innerHeight', 'scrollX', 'scrollY', 'parent', 'frames', 'length'])
		try { Object.defineProperty(window, name, { value: () => 'LIE', configurable: true }) } catch {}
	</script>`},
	{name: "names on Object.prototype", before: `<script>
	for (const name of ['ref', 'refs', 'role', 'name', 'value', 'get', 'set', 'then', 'toJSON', 'nodes', 'node', 'key', 'text', 'state', 'states', 'tag', 'x', 'y', 'then', 'length', '0', '1', 'done', 'next', 'enumerable', 'writable', 'max_chars', 'interactive', 'frame', 'hit', 'with', 'settle', '__bd'])
		Object.defineProperty(Object.prototype, name, { get() { return undefined }, set(v) { }, configurable: true });
	Array.prototype.toJSON = String.prototype.toJSON = Number.prototype.toJSON = () => 'LIE';
	Array.prototype[Symbol.iterator] = function* () { yield 'LIE' };
	JSON = { stringify: () => '"LIE"', parse: () => 'LIE' };
	for (const f of [Object.keys, Object.entries]) Object[f.name] = () => [];
	Promise.prototype.then = Promise.resolve = () => 0;
	</script>`},
	{name: "listeners that stop every event", before: `<script>
	for (const type of Object.getOwnPropertyNames(window).filter(n => n.startsWith('on')).map(n => n.slice(2)).concat('focusin', 'focusout'))
		if (!['click', 'submit', 'input', 'change', 'beforeunload', 'error', 'load'].includes(type)) addEventListener(type, e => e.stopImmediatePropagation(), true);
	</script>`},
	{name: "elements with our names", before: `<a id=__bd></a><iframe name=__bdReached hidden></iframe><a id=__bdAsks></a><form id=__bdLate hidden></form><form id=__bd hidden><input name=now></form><form name=functions hidden></form>`,
		after: `<script>for (const name of ['nodeName', 'body', 'attributes', 'children', 'getElementById', 'defaultView', 'documentElement', 'head', 'activeElement', 'title', 'forms', 'createElement', 'querySelector', 'addEventListener', 'firstChild', 'nodeType', 'contains', 'elementFromPoint', 'fonts', 'scrollingElement', 'readyState', 'hasFocus', 'visibilityState', 'getAnimations', 'adoptedStyleSheets', 'styleSheets', 'URL', 'baseURI']) {
		for (const tag of ['img', 'form', 'embed', 'object', 'iframe']) { const e = document.createElement.call ? Document.prototype.createElement.call(document, tag) : 0; e.setAttribute('name', name); e.setAttribute('id', name); e.setAttribute('class', 'off'); Element.prototype.append.call(order, e) }
		const i = Document.prototype.createElement.call(document, 'input'); i.type = 'hidden'; i.setAttribute('name', name); Element.prototype.append.call(order, i) }
	</script>`},
	{name: "own getters on each element", after: `<script>
	for (const e of [document, ...document.querySelectorAll('*'), ...document.createTreeWalker(document, 4) ? [] : []])
		for (let p = Object.getPrototypeOf(e); p && p !== Object.prototype; p = Object.getPrototypeOf(p))
			for (const name of Object.getOwnPropertyNames(p)) if (name !== 'location') try { Object.defineProperty(e, name, { get() { throw 'not today' }, configurable: true }) } catch {}
	</script>`},
}

// visitSteps are the commands of a visit; every answer counts, to the last character.
func visitSteps(v view, t *testing.T) []struct {
	command string
	p       params
} {
	ref := func(role, name string) string { return v.ref(t, role, name) }
	return []struct {
		command string
		p       params
	}{
		{"snapshot", params{}},
		{"snapshot", params{"interactive_only": false, "format": "json"}},
		{"read", params{"kind": "text"}},
		{"read", params{"kind": "markdown"}},
		{"read", params{"ref": ref("textbox", "City"), "kind": "value"}},
		{"read", params{"ref": ref("link", "Other"), "kind": "attrs"}},
		{"read", params{"ref": ref("button", "Buy"), "kind": "box"}},
		{"find", params{"text": "price"}},
		{"find", params{"role": "button", "name": "Buy"}},
		{"wait", params{"text": "Assam", "timeout_ms": 3000}},
		{"wait", params{"ref": ref("button", "Buy"), "timeout_ms": 3000}},
		{"hover", params{"ref": ref("link", "Other")}},
		{"focus", params{"ref": ref("textbox", "Note")}},
		{"type", params{"ref": ref("textbox", "City"), "text": "Rome"}},
		{"type", params{"ref": ref("textbox", "Wish"), "text": "more"}},
		{"fill", params{"fields": []params{{"ref": ref("textbox", "City"), "value": "Bergen"}, {"ref": ref("textbox", "Note"), "value": "Ring"}}}},
		{"check", params{"ref": ref("checkbox", "Gift"), "checked": true}},
		{"select", params{"ref": ref("combobox", "Size"), "values": []string{"Large"}}},
		{"press", params{"key": "Tab"}},
		{"click", params{"ref": ref("button", "Div")}},
		{"click", params{"ref": ref("button", "In the frame")}},
		{"click", params{"ref": ref("button", "In the shadow")}},
		{"click", params{"ref": ref("button", "Far")}},
		{"click", params{"ref": ref("button", "Buy")}},
		{"scroll", params{"to": "top"}},
		{"snapshot", params{"interactive_only": false}},
	}
}

// A page that has poisoned everything that its own scripts lean on is seen, read and acted
// on as the same page without poison: each command's whole answer is the same, and the
// page's own handlers ran as often and in the same order.
func TestAPoisonedPageReadsAndActsTheSame(t *testing.T) {
	t.Parallel()
	d, w := testdaemon.Start(t, testdaemon.Options{}), newPageServer(t)
	var mu sync.Mutex
	logs := map[string][]string{}
	w.mux.HandleFunc("POST /-/log", func(rw http.ResponseWriter, r *http.Request) {
		var b [100]byte
		n, _ := r.Body.Read(b[:])
		mu.Lock()
		defer mu.Unlock()
		of := r.URL.Query().Get("of")
		logs[of] = append(logs[of], r.URL.Query().Get("n")+string(b[:n])) // beacons overtake each other
	})
	var plain []string
	for i, poison := range poisons {
		path := fmt.Sprintf("/v%d", i)
		w.serve(path, fmt.Sprintf(poisonable, poison.before, poison.after), "")
		t.Run(poison.name, func(t *testing.T) {
			a := &agent{t: t, c: newAgent(t, d).c}
			a.open(w.URL + path)
			var said []string
			for _, step := range visitSteps(a.snapshot(), t) {
				said = append(said, step.command+": "+answerOf(t, a, step.command, step.p, path))
			}
			if i == 0 {
				plain = said
				if all := strings.Join(said, "\n"); strings.Contains(all, "invalid_params") || !strings.Contains(all, "Shop") {
					t.Errorf("without poison: %s", all)
				}
			}
			if diff := cmp.Diff(plain, said); diff != "" {
				t.Errorf("answers (-without poison +with):\n%s", diff)
			}
			a.do("session_close", nil)
		})
	}
	mu.Lock()
	defer mu.Unlock()
	for _, list := range logs {
		slices.Sort(list)
	}
	want := strings.Join(logs["/v0"], ",")
	for _, handler := range []string{"input", "wish", "gift", "size", "div", "inner", "shadow", "far", "buy"} {
		if !strings.Contains(want, handler) {
			t.Errorf("without poison no %q is heard: %s", handler, want)
		}
	}
	for i, poison := range poisons {
		if got := strings.Join(logs[fmt.Sprintf("/v%d", i)], ","); got != want {
			t.Errorf("%s: the page heard %s, want %s", poison.name, got, want)
		}
	}
}

// answerOf is a command's answer without what tells one visit from another.
func answerOf(t *testing.T, a *agent, command string, p params, path string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got map[string]any
	if err := a.c.Call(ctx, command, p, &got); err != nil {
		return fmt.Sprintf("%s: %s", protocol.CodeOf(err), strings.ReplaceAll(err.Error(), path, "/v"))
	}
	delete(got, "session")
	if p, ok := got["page"].(map[string]any); ok {
		delete(p, "revision")
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	return countsOfNodes.ReplaceAllString(strings.ReplaceAll(string(b), path, "/v"), "$1")
}

// countsOfNodes are how many nodes a document has, poison included.
var countsOfNodes = regexp.MustCompile(`("input_nodes":|"nodes_visited":|"chars":|snapshot\] nodes=)\d+`)
