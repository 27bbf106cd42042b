package e2e_test

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// registering is a script that registers tools, each a JavaScript object.
func registering(tools ...string) string {
	return "<script>const reg = (t, o) => document.modelContext.registerTool({description: t.name, ...t}, o);\n" +
		"for (const t of [" + strings.Join(tools, ",\n") + "]) reg(t);</script>"
}

// listed is the answer of page_tools, and called that of page_tool.
type (
	listed struct {
		Tools   []protocol.PageTool
		LeftOut int `json:"left_out"`
	}
	called struct {
		result
		State     string
		Truncated bool
		Note      string
	}
)

func (a *agent) tool(name string, more params) called {
	a.t.Helper()
	p := params{"name": name}
	for k, v := range more {
		p[k] = v
	}
	r := ask[called](a, "page_tool", p)
	if r.Snapshot != nil {
		a.held.Snapshot(r.Snapshot.Text)
	} else if r.Delta != nil {
		if err := a.held.Delta(r.Delta.Text); err != nil {
			a.t.Errorf("%s: the delta cannot be applied: %v\n%s", name, err, r.Delta.Text)
		}
	}
	return r
}

// The tools of a page: those that its script registers, its forms, and those of its frames,
// of the same origin and of another.
func TestPageTools(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/frame", page("frame", registering(`{name: 'pay', execute: () => { document.body.append('Paid at ' + origin); return origin; }}`, `{name: 'only', execute: () => 1}`)+"<p>Frame</p>"), "")
	w.serve("/sent", page("sent", "<h1>Sent</h1>"), "")
	w.serve("/page", page("tools", `<h1 id=h>Shop</h1><p id=out></p>
<form toolname=book tooldescription="Books a table" onsubmit="event.preventDefault(); out.textContent = 'Booked for ' + who.value"><label>Who <input id=who name=who required toolparamdescription="the guest"></label><button>Book</button></form>
<form toolname=subscribe tooldescription=Subscribes toolautosubmit onsubmit="event.preventDefault(); event.respondWith(Promise.resolve({subscribed: mail.value}))"><input id=mail name=mail aria-label=Mail><button>Subscribe</button></form>
<form toolname=send tooldescription=Sends toolautosubmit action=/sent><input name=what aria-label=What><button>Send</button></form>
<iframe title=Same src=/frame></iframe><iframe title=Other src="`+w.alt()+`/frame" allow=tools></iframe>`+
		registering(`{name: 'search', description: 'Searches', annotations: {readOnlyHint: true}, inputSchema: {type: 'object', properties: {q: {type: 'string'}, n: {type: 'integer'}, sort: {enum: ['up', 'down']}}, required: ['q']},
  execute: async ({q}) => { out.textContent = 'Found ' + q; return {content: [{type: 'text', text: 'two of ' + q}]}; }}`,
			`{name: 'throws', execute: () => { throw new Error('no\nbread'); }}`,
			`{name: 'rejects', execute: () => Promise.reject('sold out')}`,
			`{name: 'late', execute: () => { reg({name: 'later', execute: () => 'came'}); }}`,
			`{name: 'away', execute: () => { location = '/sent'; return new Promise(() => {}); }}`,
			`{name: 'asks', execute: () => confirm('Sure?')}`,
			`{name: 'long', execute: () => 'x'.repeat(5000)}`)+
		`<script>const ac = new AbortController(); reg({name: 'gone', execute: () => 1}, {signal: ac.signal});</script>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")

	// What there is, in the snapshot and in the list.
	until(t, 20*time.Second, "all tools", func() bool { return len(ask[listed](a, "page_tools", nil).Tools) == 15 })
	line := strings.Split(a.do("snapshot", nil).Snapshot.Text, "\n")[1]
	if !regexp.MustCompile(`^\[tools\] 15: .*search, .*pay.*pay`).MatchString(line) {
		t.Errorf("the snapshot says %s", line)
	}
	byName := map[string][]protocol.PageTool{}
	for _, tool := range ask[listed](a, "page_tools", nil).Tools {
		byName[tool.Name] = append(byName[tool.Name], tool)
	}
	search := byName["search"][0]
	if search.Description != "Searches" || search.Origin != w.URL || search.Frame != "main" || !slices.Equal(search.Hints, []string{"read_only"}) || !strings.Contains(string(search.InputSchema), `"required":["q"]`) {
		t.Errorf("search: %+v %s", search, search.InputSchema)
	}
	if book := byName["book"][0]; !slices.Equal(book.Hints, []string{"form"}) || !strings.Contains(string(book.InputSchema), `"the guest"`) || !slices.Contains(byName["send"][0].Hints, "autosubmit") {
		t.Errorf("book: %+v %s, send %+v", book, book.InputSchema, byName["send"][0])
	}

	// Imperative.
	r := a.tool("search", params{"arguments": params{"q": "tea", "n": 3.0}})
	if v, _ := json.Marshal(r.Value); string(v) != `{"content":[{"text":"two of tea","type":"text"}]}` || r.State != "done" || r.Effect == nil || !r.Effect.Changed || !strings.Contains(r.Delta.Text, "Found tea") {
		t.Errorf("search: %s %s %+v %v", v, r.State, r.Effect, r.Delta)
	}
	for _, c := range []struct {
		arguments any
		want      string
	}{
		{params{}, "arguments.q is needed"},
		{params{"q": 1}, "arguments.q: it is number, and the tool accepts string"},
		{params{"q": "x", "n": 1.5}, "arguments.n: it is number, and the tool accepts integer"},
		{params{"q": "x", "sort": "left"}, "arguments.sort: it is none of the values"},
	} {
		if e := a.refused("page_tool", params{"name": "search", "arguments": c.arguments}, protocol.InvalidParams); !strings.Contains(e.Message, c.want) || e.Details["schema"] == nil {
			t.Errorf("%v: %v %v, want %s", c.arguments, e.Message, e.Details, c.want)
		}
	}
	if r := a.tool("long", params{"max_chars": 100}); !r.Truncated || r.Value != `"`+strings.Repeat("x", 99) || r.Note == "" {
		t.Errorf("a long value: %v %v %s", r.Truncated, r.Value, r.Note)
	}

	// Throwing.
	if e := a.refused("page_tool", params{"name": "throws"}, protocol.ToolFailed); e.Details["error"] != "Error: no\nbread" || e.Details["tool"] != "throws" {
		t.Errorf("throws: %+v", e)
	}
	if e := a.refused("page_tool", params{"name": "rejects"}, protocol.ToolFailed); !strings.Contains(fmt.Sprint(e.Details["error"]), "sold out") {
		t.Errorf("rejects: %+v", e)
	}

	// Declarative: filled in and left to the client, or sent.
	if r := a.tool("book", params{"arguments": params{"who": "Ann"}}); r.State != "filled" || !strings.Contains(r.Delta.Text, `value="Ann"`) || r.Note == "" {
		t.Errorf("book: %+v %v", r, r.Delta)
	}
	if r := a.do("click", params{"ref": "role=button[name=\"Book\"]"}); !strings.Contains(r.Delta.Text, "Booked for Ann") {
		t.Errorf("the form sent: %v", r.Delta)
	}
	if r := a.tool("subscribe", params{"arguments": params{"mail": "ann@example.com"}}); r.State != "done" || fmt.Sprint(r.Value) != "map[subscribed:ann@example.com]" {
		t.Errorf("subscribe: %+v", r)
	}

	// In frames; two of one name.
	e := a.refused("page_tool", params{"name": "pay"}, protocol.AmbiguousTarget)
	if candidates, _ := json.Marshal(e.Details["candidates"]); strings.Count(string(candidates), `"origin"`) != 2 || !strings.Contains(string(candidates), w.alt()) {
		t.Errorf("candidates: %s", candidates)
	}
	for _, tool := range byName["pay"] {
		if tool.Frame == "main" || !strings.HasPrefix(tool.Frame, "@e") {
			t.Errorf("pay is in the frame %q", tool.Frame)
		}
		if r := a.tool("pay", params{"frame": tool.Frame}); r.Value != tool.Origin || !strings.Contains(r.Delta.Text, "Paid at "+tool.Origin) {
			t.Errorf("pay in %s: %v, %v, want %s", tool.Frame, r.Value, r.Delta, tool.Origin)
		}
	}
	if r := a.tool("pay", params{"origin": w.alt()}); r.Value != w.alt() {
		t.Errorf("pay by origin: %v", r.Value)
	}
	if r := a.tool("pay", params{"frame": "css=iframe[title=Same]"}); r.Value != w.URL {
		t.Errorf("pay by a locator: %v", r.Value)
	}
	a.refused("page_tool", params{"name": "pay", "frame": "main", "timeout_ms": 1500}, protocol.NotActionable)
	a.refused("page_tool", params{"name": "pay", "frame": "role=heading"}, protocol.InvalidParams)
	a.refused("page_tool", params{"name": "only"}, protocol.AmbiguousTarget)

	// Registered later: the delta says so. Removed: too.
	if r := a.tool("late", nil); !strings.Contains(r.Delta.Text, "+ [tools] 16: ") || !strings.Contains(r.Delta.Text, "later") || !strings.Contains(r.Delta.Text, "- [tools] 15: ") {
		t.Errorf("late: %v", r.Delta)
	}
	if r := a.tool("later", nil); r.Value != "came" {
		t.Errorf("later: %v", r.Value)
	}
	a.do("eval", params{"expression": "ac.abort(), 1"})
	if e := a.refused("page_tool", params{"name": "gone", "timeout_ms": 1500}, protocol.NotActionable); e.Details["reason"] != "missing" {
		t.Errorf("a tool that was removed: %+v", e)
	}
	if r := a.do("snapshot", params{"delta": true}); r.Delta == nil || !strings.Contains(r.Delta.Text, "+ [tools] 15: ") {
		t.Errorf("a tool was removed: %v", r.Delta)
	}

	// A dialog of the tool waits for its answer.
	if r := a.tool("asks", nil); r.State != "dialog" || r.Effect.Dialog == nil || r.Effect.Dialog.Message != "Sure?" {
		t.Errorf("asks: %+v", r)
	}
	a.do("dialog", params{"accept": true})

	// The page goes on to another document while the tool runs, or since it was sent.
	if r := a.tool("away", nil); r.State != "navigated" || r.Effect.Navigated != w.URL+"/sent" || !strings.Contains(r.Snapshot.Text, "Sent") || strings.Contains(r.Snapshot.Text, "[tools]") {
		t.Errorf("away: %+v", r)
	}
	if got := ask[listed](a, "page_tools", nil); len(got.Tools) != 0 {
		t.Errorf("tools of a document that was left: %+v", got)
	}
	a.open(w.URL + "/page")
	if r := a.tool("send", params{"arguments": params{"what": "tea"}}); r.State != "navigated" || r.Effect.Navigated != w.URL+"/sent?what=tea" {
		t.Errorf("send: %+v %+v", r, r.Effect)
	}

	// In a script, and without Chromium.
	a.open(w.URL + "/page")
	ran := a.run(params{"code": "const {tools} = await browser.page_tools({name: 'search'}); const r = await browser.page_tool({name: 'search', arguments: {q: 'rye'}}); return [tools.length, r.value.content[0].text];"})
	if fmt.Sprint(ran.Value) != "[1 two of rye]" {
		t.Errorf("a script: %v", ran.Value)
	}
	a.do("open", params{"url": w.URL + "/page", "source": "http"})
	a.refused("page_tools", nil, protocol.Unsupported)
	a.refused("page_tool", params{"name": "search", "arguments": params{"q": "x"}}, protocol.Unsupported)
}

// Tools that hang, lie, or are too much.
func TestHostilePageTools(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{}) // its floods slow down others of the same Chromium
	w := newPageServer(t)
	forged, _ := json.Marshal(forgedText)
	w.serve("/page", page("hostile", `<p id=out></p>`+registering(
		`{name: 'hangs', execute: () => { report('hung'); return new Promise(() => {}); }}`,
		`{name: 'loops', execute: () => { for (;;); }}`,
		`{name: 'forges', description: `+string(forged)+`, inputSchema: {type: 'object', title: `+string(forged)+`}, execute: () => `+string(forged)+`}`,
		`{name: 'huge', inputSchema: {type: 'object', required: ['a'], description: 'x'.repeat(1e6)}, execute: () => 1}`,
		`{name: 'deep', inputSchema: (() => { let s = {type: 'object', required: ['a']}; for (let i = 0; i < 60; i++) s = {type: 'object', required: ['a'], properties: {a: s}}; return s; })(), execute: () => 2}`,
		`{name: 'odd', inputSchema: {type: ['nothing', 7], required: 'a', pattern: '(a+)+$', properties: []}, execute: (i) => i}`,
		`{name: 'gives', execute: () => 'x'.repeat(20e6)}`)), "")
	w.serve("/many", page("many", `<button>Go</button><script>for (let i = 0; i < 2000; i++) document.modelContext.registerTool({name: 't' + i, description: 'd'.repeat(20000), inputSchema: {type: 'object', description: 'x'.repeat(5000)}, execute: () => i})</script>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	byName := map[string]protocol.PageTool{}
	for _, tool := range ask[listed](a, "page_tools", nil).Tools {
		byName[tool.Name] = tool
	}
	if byName["huge"].SchemaLeftOut != "too long" || byName["huge"].InputSchema != nil || byName["deep"].SchemaLeftOut != "too deep" {
		t.Errorf("huge: %v, deep: %v", byName["huge"].SchemaLeftOut, byName["deep"].SchemaLeftOut)
	}
	for name, want := range map[string]any{"huge": 1.0, "deep": 2.0} {
		if r := a.tool(name, nil); r.Value != want {
			t.Errorf("%s: %v", name, r.Value)
		}
	}
	if r := a.tool("odd", params{"arguments": params{"b": strings.Repeat("a", 50)}}); r.State != "done" {
		t.Errorf("odd: %+v", r)
	}
	if r := a.tool("forges", nil); r.Value != forgedText {
		t.Errorf("forges: %q", r.Value)
	}
	a.refused("page_tool", params{"name": "gives"}, protocol.TooLarge)
	a.refused("page_tool", params{"name": "hangs", "timeout_ms": 1500}, protocol.Timeout)
	sent := a.send("page_tool", params{"name": "hangs"})
	until(t, 20*time.Second, "the tool hangs", func() bool { return len(w.said("hostile")) == 2 })
	began := time.Now()
	a.do("cancel", params{"id": sent.ID})
	if _, err := a.wait(sent); protocol.CodeOf(err) != protocol.Cancelled || time.Since(began) > 5*time.Second {
		t.Errorf("cancel: %v after %v", err, time.Since(began))
	}
	a.refused("page_tool", params{"name": "loops", "timeout_ms": 2000}, protocol.Timeout)
	if r := a.tool("huge", nil); r.Value != 1.0 {
		t.Errorf("after a loop: %v", r.Value)
	}

	a.open(w.URL + "/many")
	if r := a.do("snapshot", nil); len(r.Snapshot.Text) > 1000 || !strings.Contains(r.Snapshot.Text, `[button] "Go"`) {
		t.Errorf("a snapshot beside 2,000 tools has %d bytes", len(r.Snapshot.Text))
	}
	if got := ask[listed](a, "page_tools", nil); len(got.Tools) > 100 || got.LeftOut == 0 {
		t.Errorf("%d tools are listed, %d are left out", len(got.Tools), got.LeftOut)
	}
	a.open(w.URL + "/page")
	if got := ask[listed](a, "page_tools", nil); len(got.Tools) != 7 || got.LeftOut != 0 {
		t.Errorf("of the next page %d tools are listed, %d are left out", len(got.Tools), got.LeftOut)
	}
}

// Whatever a tool says of itself, it acts: an agent that may only read does not call it, and
// an operator is asked about it, with the frame's origin and the tab's.
func TestPageToolsAreGoverned(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	reader := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "read_only"})
	path := filepath.Join(t.TempDir(), "ledger.db")
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_LEDGER__DSN": path})
	shop, bank := newPageServer(t), newPageServer(t)
	lies := func(name string) string {
		return registering(`{name: '` + name + `', annotations: {readOnlyHint: true}, execute: () => { report('` + name + `'); return 'ran'; }}`)
	}
	bank.serve("/in", page("bank", lies("peek")), "")
	shop.serve("/page", page("shop", `<iframe src="`+bank.URL+`/in" allow=tools></iframe>`+lies("look")), "")

	a := as(t, reader, ann)
	a.open(shop.URL + "/page")
	a.refused("page_tool", params{"name": "look"}, protocol.PolicyDenied)
	if got := ask[listed](a, "page_tools", params{"name": "look"}); len(got.Tools) != 1 {
		t.Errorf("a reader is told of %+v", got)
	}

	a, o := as(t, d, ann), as(t, d, olga)
	a.open(shop.URL + "/page")
	asks, answered := confirming(t, a, o, shop.URL)
	answered(asks("page_tool", params{"name": "look"}, shop.URL, false, "no"), protocol.ConfirmationDenied)
	answered(asks("page_tool", params{"name": "look"}, shop.URL, true, "session"), "")
	a.do("page_tool", params{"name": "look"}) // remembered for the shop
	answered(asks("page_tool", params{"name": "peek"}, bank.URL, false, "no"), protocol.ConfirmationDenied)
	until(t, 10*time.Second, "both calls that were allowed", func() bool { return len(shop.said("shop")) == 2 })
	if said := bank.said("bank"); len(said) > 0 {
		t.Errorf("what was refused ran: %v", said)
	}
	inTrail(t, path, "page_tool", 4)
}

// An operator can switch the tools of pages off: pages find nothing of them then.
func TestPageToolsSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newPageServer(t)
	w.serve("/page", page("off", `<form toolname=book tooldescription=Books><button>Book</button></form>`), "")
	for args, want := range map[string]string{"--disable-features=WebMCP": "undefined", "--lang=en": "object"} {
		a := newAgent(t, testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__ARGS": args}}))
		a.open(w.URL + "/page")
		if r := a.do("eval", params{"expression": "typeof document.modelContext"}); r.Value != want {
			t.Errorf("%s: document.modelContext is %v, want %s", args, r.Value, want)
		}
		if n := len(ask[listed](a, "page_tools", nil).Tools); (n == 0) != (want == "undefined") {
			t.Errorf("%s: %d tools", args, n)
		}
	}
}

// A call takes at most costsTimes as long as a plain command that runs the same function, eval:
// by turns, and from the client, the tool's own time taken off. The docs promise 5 ms more; how
// long that is for a machine with two cores, a race detector and ten other tests, only eval tells.
// Alone it is twice as long, 2 to 3 ms more. One of costTries rounds must keep the limit.
const (
	costsTimes = 3
	costTries  = 8
)

func TestPageToolCost(t *testing.T) {
	w := newPageServer(t)
	w.serve("/page", page("cost", registering(`{name: 'work', execute: () => { const from = performance.now(); while (performance.now() - from < 2); return performance.now() - from; }}`)+
		`<script>const work = () => { const from = performance.now(); while (performance.now() - from < 2); return performance.now() - from; }</script>`), "")
	a := newAgent(t, sharedDaemon(t))
	a.open(w.URL + "/page")
	median := func(list []float64) float64 { slices.Sort(list); return list[len(list)/2] }
	best := math.Inf(1)
	for try := 0; try < costTries && best > costsTimes; try++ {
		above := map[string][]float64{}
		for range 40 {
			for command, p := range map[string]params{"page_tool": {"name": "work", "snapshot": "none"}, "eval": {"expression": "work()"}} {
				began := time.Now()
				own, _ := a.do(command, p).Value.(float64)
				if own < 2 {
					t.Fatalf("%s: the tool took %v ms", command, own)
				}
				above[command] = append(above[command], float64(time.Since(began).Microseconds())/1000-own)
			}
		}
		tool, eval := median(above["page_tool"]), median(above["eval"])
		t.Logf("above the tool: page_tool %.1f ms, eval %.1f ms", tool, eval)
		best = min(best, tool/eval)
	}
	if best > costsTimes {
		t.Errorf("page_tool takes %.1f times as long as eval, at best", best)
	}
}
