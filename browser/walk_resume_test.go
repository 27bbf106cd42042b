package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/snapshot"
)

// refLine is what a resumed walk must give again as a walk without end gives it.
type refLine struct {
	Node, Depth int
	Role, Name  string
}

func refLines(w walk.Result) []refLine {
	var out []refLine
	for _, n := range w.Nodes {
		if n.Key.Node != 0 {
			out = append(out, refLine{n.Key.Node, n.Depth, n.Role, n.Name})
		}
	}
	return out
}

// first is what comes first where a budget ends before it: the page gave it the focus.
var first = map[string]string{"forms.html": "Street"}

// TestWalkResumes reads every page a few nodes at a time and compares what comes
// together with a walk of the whole.
func TestWalkResumes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/walk/*.html")
	if err != nil {
		t.Fatal(err)
	}
	p := launchTestPage(t)
	for _, file := range files {
		html, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, interactive := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/interactive=%t", filepath.Base(file), interactive), func(t *testing.T) {
				p.load(string(html))
				if strings.Contains(string(html), " autofocus") {
					p.run(`document.querySelector('[autofocus]').focus()`) // which Chromium does with the next frame
				}
				o := walk.NewOptions(snapshot.DefaultOptions())
				o.Interactive, o.MaxNodes, o.MaxChars = interactive, 1<<20, 1<<20
				want := refLines(p.walk(o))
				if i := slices.IndexFunc(want, func(l refLine) bool { return l.Name == first[filepath.Base(file)] }); i > 0 && first[filepath.Base(file)] != "" {
					want = slices.Concat(want[i:i+1], want[:i], want[i+1:])
				}
				o.MaxNodes = 3
				var got []refLine
				for {
					w := p.walk(o)
					part := refLines(w)
					got = append(got, part...)
					if w.Rest == 0 {
						break
					}
					if len(part) == 0 || len(got) > len(want) {
						t.Fatalf("no way on after %d: rest %d\n%s", o.After, w.Rest, dumpWalk(w))
					}
					o.After = part[len(part)-1].Node
				}
				if d := cmp.Diff(got, want); d != "" {
					t.Errorf("got - want +\n%s", d)
				}
			})
		}
	}
}

// TestWalkStopsAtTheBudget shows that the cost is the budget's: a page of 40,000
// elements is not read to its end, from the start or from the middle.
func TestWalkStopsAtTheBudget(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, "<!doctype html><title>Long</title><ul id=u></ul>")
	p.run("u.innerHTML = Array.from({length: 20000}, (_, i) => `<li><a href=/${i}>Item ${i}</a></li>`).join('')")
	o := walk.NewOptions(snapshot.DefaultOptions())
	for range 3 {
		w := p.walk(o)
		lines := refLines(w)
		if len(lines) != o.MaxNodes || w.Visited > 1000 || w.Elements < 40000 || w.Rest < 1 {
			t.Fatalf("%d lines, looked at %d of %d, rest %d", len(lines), w.Visited, w.Elements, w.Rest)
		}
		o.After = lines[len(lines)-1].Node
	}
	o.MaxNodes, o.MaxChars = 1<<20, 2000
	w := p.walk(o)
	if len(w.Nodes) == 0 || len(w.Nodes) > 100 || w.Visited > 1000 || cmp.Diff(w.Reasons, []string{"max_chars"}) != "" {
		t.Errorf("%d lines, looked at %d, %v", len(w.Nodes), w.Visited, w.Reasons)
	}
}

// A line that had room goes again: a region in which nothing is, or a text that its control
// says. What comes next has its room.
func TestWalkTakesBackTheLastLineThatHadRoom(t *testing.T) {
	t.Parallel()
	p := launchTestPage(t)
	o := walk.NewOptions(snapshot.DefaultOptions())
	o.MaxNodes = 1
	for _, c := range []struct {
		html, want string
		rest       int
	}{
		{"<nav><nav></nav></nav><button>Save</button>", "Save", 0},
		{"<nav><main><form></form><section></section></main></nav><section></section><button>Save</button>", "Save", 0},
		{"<nav><nav></nav></nav><button>Save</button><nav></nav>", "Save", 0},
		{"<nav><nav></nav></nav><button>Save</button><button>Close</button>", "Save", 1},
		{"<h2>Part</h2><div>Save</div><nav></nav><button>Save</button>", "Part", 1},
	} {
		p.load("<!doctype html><title>Room</title>" + c.html)
		w := p.walk(o)
		reasons := []string{}
		if c.rest > 0 {
			reasons = append(reasons, "max_nodes")
		}
		if len(w.Nodes) != 1 || w.Nodes[0].Name != c.want || w.Rest != c.rest || w.AtLeast || !slices.Equal(w.Reasons, reasons) {
			t.Errorf("%s: %+v, rest %d, at least %t, reasons %q", c.html, w.Nodes, w.Rest, w.AtLeast, w.Reasons)
		}
	}
}

func TestWalkDeep(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, "<!doctype html><title>Deep</title><body>")
	p.run(`let at = document.body; for (let i = 0; i < 1500; i++) at = at.appendChild(document.createElement('div')); at.innerHTML = '<button>Deep</button>'`)
	w := p.walk(walk.NewOptions(snapshot.DefaultOptions()))
	if d := cmp.Diff(refLines(w), []refLine{{1, 0, "button", "Deep"}}); d != "" {
		t.Error(d)
	}

	p.load("<!doctype html><title>Lists</title>" + strings.Repeat("<ul><li>", 30) + "<button>Deep</button>")
	o := walk.NewOptions(snapshot.DefaultOptions())
	o.Interactive = false
	w = p.walk(o)
	if len(refLines(w)) != 13 || cmp.Diff(w.Reasons, []string{"max_depth"}) != "" || w.Rest != 48 {
		t.Errorf("13 lines to depth 12 and 48 counted below, not\n%s", dumpWalk(w))
	}
}

func TestWalkScope(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, `<!doctype html><title>Scope</title><h1>Out</h1><section id=s aria-label=In><h2>Heading</h2><select id=c aria-label=C></select></section>
		<script>for (let i = 0; i < 30; i++) c.add(new Option('o' + i))</script>`)
	o := walk.NewOptions(snapshot.DefaultOptions())
	o.Selector = "#s"
	w := p.walk(o)
	want := []refLine{{1, 0, "region", "In"}, {2, 1, "heading", "Heading"}, {3, 1, "combobox", "C"}}
	if d := cmp.Diff(refLines(w), want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	o.After = 2
	if d := cmp.Diff(refLines(p.walk(o)), want[2:]); d != "" {
		t.Errorf("after the heading: got - want +\n%s", d)
	}
	o.Selector, o.After, o.Scope = "", 0, 3
	if n := len(refLines(p.walk(o))); n != 31 {
		t.Errorf("%d lines of a select that is the scope, want it and its 30 options", n)
	}
	p.run("c.remove()")
	for _, c := range []struct {
		selector string
		scope    int
		want     script.ScopeFailure
	}{{"", 3, script.ScopeGone}, {"", 99, script.ScopeGone}, {"#none", 0, script.ScopeNone}, {"[", 0, script.ScopeSelector}} {
		o.Selector, o.Scope = c.selector, c.scope
		if w := p.walk(o); w.Scope != c.want || len(w.Nodes) != 0 {
			t.Errorf("scope %q %d: %q, %d lines", c.selector, c.scope, w.Scope, len(w.Nodes))
		}
	}
	o.Selector, o.Scope = "", 0
	for _, after := range []int{3, 99} {
		o.After = after
		if w := p.walk(o); w.Scope != script.ScopePast || len(w.Nodes) != 0 {
			t.Errorf("after %d, which is gone: %q, %d lines", after, w.Scope, len(w.Nodes))
		}
	}
}

// TestWalkNumbers shows that a node keeps its number while it lives, and that
// what stands in its place gets another.
func TestWalkNumbers(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, "<!doctype html><title>Numbers</title><ul><li>Ann <button>Delete</button><li>Bob <button>Delete</button></ul>")
	o := walk.NewOptions(snapshot.DefaultOptions())
	first := p.walk(o)
	p.run("document.querySelector('ul').append(document.querySelector('li'))")
	moved := p.walk(o)
	if d := cmp.Diff(refLines(moved), []refLine{{2, 0, "button", "Delete"}, {1, 0, "button", "Delete"}}); d != "" {
		t.Error(d)
	}
	p.run("document.querySelector('ul').innerHTML += ''")
	again := p.walk(o)
	if d := cmp.Diff(refLines(again), []refLine{{3, 0, "button", "Delete"}, {4, 0, "button", "Delete"}}); d != "" {
		t.Error(d)
	}
	a, b := nodeByContext(first, "Ann Delete"), nodeByContext(again, "Ann Delete")
	if a == nil || b == nil || a.Ident != b.Ident || a.Key == b.Key {
		t.Errorf("Ann's button before and after: %+v, %+v", a, b)
	}
	if got := p.ask("[__bd.node(1), __bd.node(3).textContent, __bd.nameOf(__bd.node(3)), __bd.roleOf(__bd.node(3)), __bd.contextOf(__bd.node(3))].join()"); got != ",Delete,Delete,button,Bob Delete" {
		t.Error(got)
	}
}

func nodeByContext(w walk.Result, context string) *snapshot.Node {
	for i := range w.Nodes {
		if w.Nodes[i].Context == context {
			return &w.Nodes[i]
		}
	}
	return nil
}

// TestWalkClosedRoot hands a closed shadow root over as the Go side does.
func TestWalkClosedRoot(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, `<!doctype html><title>Closed</title><script>customElements.define("x-c",class extends HTMLElement{constructor(){super();
		this.attachShadow({mode:"closed"}).innerHTML="<button>Closed</button><p><slot></slot></p>"}})</script>`)
	p.run(`document.body.innerHTML = '<x-c>light</x-c>'`) // after what is reported of a page that was opened
	o := walk.NewOptions(snapshot.DefaultOptions())
	if w := p.walk(o); len(refLines(w)) != 0 {
		t.Fatalf("nothing is known of the closed root yet:\n%s", dumpWalk(w))
	}
	var doc struct{ Root json.RawMessage }
	p.call("DOM.getDocument", map[string]any{"depth": -1, "pierce": true}, &doc)
	var host, root struct {
		Object struct{ ObjectID string }
	}
	hostID, rootID := closedRoot(t, doc.Root)
	p.call("DOM.resolveNode", map[string]any{"backendNodeId": hostID, "executionContextId": p.world}, &host)
	p.call("DOM.resolveNode", map[string]any{"backendNodeId": rootID, "executionContextId": p.world}, &root)
	p.call("Runtime.callFunctionOn", map[string]any{"functionDeclaration": "function (r) { __bd.addClosedRoot(this, r) }",
		"objectId": host.Object.ObjectID, "arguments": []any{map[string]any{"objectId": root.Object.ObjectID}}}, nil)
	w := p.walk(o)
	if got := dumpWalk(w); got != "1 [button] \"Closed\"\ntext \"light\"\n" {
		t.Error(got)
	}
}

// closedRoot finds the first closed shadow root of a DOM.Node.
func closedRoot(t *testing.T, raw json.RawMessage) (host, root int) {
	var n struct {
		BackendNodeID  int
		ShadowRootType string
		ShadowRoots    []json.RawMessage
		Children       []json.RawMessage
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		t.Fatal(err)
	}
	for _, r := range n.ShadowRoots {
		var s struct {
			BackendNodeID  int
			ShadowRootType string
		}
		if err := json.Unmarshal(r, &s); err != nil {
			t.Fatal(err)
		}
		if s.ShadowRootType == "closed" {
			return n.BackendNodeID, s.BackendNodeID
		}
	}
	for _, c := range n.Children {
		if h, r := closedRoot(t, c); h != 0 {
			return h, r
		}
	}
	return 0, 0
}

// TestWalkManySiblings walks a page on which nothing is shown, to its end.
func TestWalkManySiblings(t *testing.T) {
	p := openTestPage(t, "<!doctype html><title>Many</title><body>")
	p.run("document.body.append(...Array.from({length: 100000}, () => document.createElement('i'))); document.body.append('end')")
	begin := time.Now()
	w := p.walk(walk.NewOptions(snapshot.DefaultOptions()))
	if got := dumpWalk(w); got != "text \"end\"\n" || w.Visited < 100000 {
		t.Errorf("looked at %d: %s", w.Visited, got)
	}
	t.Logf("100,000 empty elements in %v", time.Since(begin))
}
