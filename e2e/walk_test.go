package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testpages"
	"github.com/browserd/browserd/snapshot"
)

// A snapshot looks at as much of the page as it shows, however large the page
// is: nodes_visited is the measure that a busy machine does not change.
func TestASnapshotLooksAtNoMoreThanItShows(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	visited := map[int]int{}
	for _, n := range testpages.Sizes {
		path := fmt.Sprintf("/%d", n)
		w.serve(path, testpages.Page(n), "")
		a.open(w.URL + path)
		s := a.do("snapshot", params{}).Snapshot
		visited[n] = s.Stats.NodesVisited
		if s.Stats.Chars > 12000 || len([]rune(s.Text)) > 12000 || s.Stats.NodesEmitted > 200 {
			t.Errorf("%d elements: the default budgets are exceeded: %+v", n, s.Stats)
		}
		short := slices.Contains(s.Stats.Reasons, "max_nodes") || slices.Contains(s.Stats.Reasons, "max_chars")
		if whole := n <= 30; short == whole {
			t.Errorf("%d elements: truncated by %v", n, s.Stats.Reasons)
		}
	}
	if visited[1_500] == 0 || visited[50_000] > 2*visited[1_500] {
		t.Errorf("nodes visited by size: %v", visited)
	}
}

// Continued by after, the pieces say once what the whole says; of a piece with a fold, that is
// what stands before it.
func TestContinuationByAfterShowsEverythingOnce(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	w.serve("/page", testpages.Page(1_500), "")
	a.open(w.URL + "/page")
	buttons := func(v view) []string { return v.all("button", "Add") }
	whole := buttons(a.snapshot())
	var pieces []string
	after, folded := "", 0
	for range 100 {
		p := params{"format": "json"}
		if after != "" {
			p["after"] = after
		}
		s := a.do("snapshot", p).Snapshot
		if fold := slices.IndexFunc(s.Nodes, func(n snapshot.NodeJSON) bool { return n.Role == "more" }); fold >= 0 {
			s.Nodes = s.Nodes[:fold]
			folded++
		}
		pieces = append(pieces, buttons(view{*s})...)
		if after = s.Stats.After; after == "" {
			break
		}
	}
	if folded != 1 {
		t.Errorf("%d pieces with a fold", folded)
	}
	if diff := cmp.Diff(whole, pieces); diff != "" {
		t.Errorf("the Add buttons, whole and in pieces (-whole +pieces):\n%s", diff)
	}
}

// Nothing is written into the page: no attribute, no node, nothing to observe.
func TestTheWalkDoesNotTouchThePage(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	w.serve("/page", page("page", testpages.Page(300)+`<script>
new MutationObserver(l => report(l.map(m => m.type + ' ' + m.target.nodeName))).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
var before = document.documentElement.outerHTML, globals = Object.getOwnPropertyNames(window).length;
</script>`), "")
	a.open(w.URL + "/page")
	ref := a.snapshot().ref(t, "button", "Find")
	a.do("snapshot", params{})
	a.do("click", click(ref, nil))
	a.do("read", params{"ref": ref})
	for expression, want := range map[string]any{
		"document.documentElement.outerHTML === before":              true,
		"Object.getOwnPropertyNames(window).length - globals":        float64(0),
		"document.querySelectorAll('[data-ref], [aria-ref]').length": float64(0),
	} {
		if got := a.do("eval", params{"expression": expression}).Value; got != want {
			t.Errorf("%s is %v, want %v", expression, got, want)
		}
	}
	if said := w.said("page"); len(said) != 0 {
		t.Errorf("the page observed %v", said)
	}
}

// tamper replaces, before anything else runs, what a walker in the page's own
// world would lean on.
const tamper = `<script>
const lie = () => { throw new Error('not today') };
for (const proto of [Array.prototype, String.prototype, Map.prototype, WeakMap.prototype, Set.prototype, RegExp.prototype, Node.prototype, Element.prototype, HTMLElement.prototype, Document.prototype, EventTarget.prototype, Function.prototype])
  for (const name of Object.getOwnPropertyNames(proto)) {
    if (name === 'constructor') continue;
    const own = Object.getOwnPropertyDescriptor(proto, name);
    if (!own.configurable) continue;
    try { Object.defineProperty(proto, name, own.get ? {get: lie, set: own.set, configurable: true} : {value: lie, configurable: true, writable: true}) } catch {}
  }
for (const name of ['getComputedStyle', 'JSON', 'Map', 'WeakMap', 'WeakRef', 'Object', 'Array', 'String', 'Promise', 'Symbol', 'MutationObserver', 'Element', 'Node', 'document'])
  try { window[name] = lie } catch {}
</script>`

// The same page says the same, whether or not it has redefined the built-ins,
// and can be acted on.
func TestTheWalkDoesNotLoseToRedefinedBuiltins(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	const hit = "/-/hit"
	hits := make(chan struct{}, 1) // one click
	w.mux.HandleFunc(hit, func(rw http.ResponseWriter, _ *http.Request) { hits <- struct{}{} })
	markup := strings.Replace(testpages.Page(300), `<button type="button">Find`, `<button formaction="`+hit+`" formtarget="_self">Find`, 1)
	w.serve("/plain", markup, "")
	w.serve("/tampered", strings.Replace(markup, "<head>", "<head>"+tamper, 1), "")

	lines := func(path string) []string {
		a.open(w.URL + path)
		var lines []string
		for _, n := range a.snapshot().Nodes {
			lines = append(lines, fmt.Sprintf("%d %s %q %v %q", n.Depth, n.Role, n.Name, n.States, n.Value))
		}
		return lines
	}
	if diff := cmp.Diff(lines("/plain"), lines("/tampered")); diff != "" {
		t.Errorf("the page reads differently (-plain +tampered):\n%s", diff)
	}
	ref := a.snapshot().ref(t, "button", "Find")
	a.do("click", click(ref, nil))
	select {
	case <-hits:
	default:
		t.Error("the click did not submit the form")
	}
}
