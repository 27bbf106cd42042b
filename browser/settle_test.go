package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/protocol"
)

// A request that an action made may be answered while the page is looked at, and
// the page write the answer down right behind that look: it is looked at once more,
// and once only, or a page that asks all the time would never be done.
func TestAnAnswerThatComesWithTheLookIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	b := sharedBrowser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		io.WriteString(w, "<!doctype html><title>Form</title><output></output>")
	}))
	t.Cleanup(site.Close)
	ctx := limit(t, 20*time.Second)
	c, err := b.NewContext(ctx, ContextOptions{}, func(string, map[string]any) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	if _, err := c.Open(ctx, site.URL, protocol.WaitAuto); err != nil {
		t.Fatal(err)
	}
	tab, err := c.ready(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	ask := func() {
		t.Helper()
		tab.c.mu.Lock()
		_, before := tab.requests.LastEnded()
		tab.c.mu.Unlock()
		if err := tab.cdp.Call(ctx, "Runtime.evaluate", map[string]any{"expression": "void fetch('/save')"}, nil); err != nil {
			t.Fatal(err)
		}
		if err := tab.until(ctx, func() bool { _, at := tab.requests.LastEnded(); return at.After(before) }); err != nil {
			t.Fatal(err)
		}
	}
	look := func(s *observation, want bool) {
		t.Helper()
		if got, err := s.awaitRequests(ctx, time.Now().Add(time.Second)); got != want || err != nil {
			t.Errorf("the page is looked at again: %v (%v), want %v", got, err, want)
		}
	}

	ask()
	s := tab.begin(settling{})
	look(s, false) // what was answered before the action is none of its own
	s.polled = time.Now()
	ask()
	look(s, true)
	s.polled = time.Now()
	ask()
	look(s, false)

	s = tab.begin(settling{})
	ask()
	s.polled = time.Now() // behind the answer
	look(s, false)
}

// What is done in a frame settles in the frame's document as well: what its script
// goes on to do, what it announces and where it puts the focus are told.
func TestActionsInFramesSettleThere(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	in := `<input aria-label=N oninput="setTimeout(()=>said.textContent='saw '+this.value)"><p id=said role=status></p><script>onclick=()=>setTimeout(()=>said.textContent='clicked')</script>`
	const whole = ` style="position:fixed;top:0;left:0;border:0"`
	for _, c := range []struct{ name, page string }{
		{"the same site", `<iframe src="/in"` + whole + `></iframe>`},
		{"another site", `<iframe src="ALT/in"` + whole + `></iframe>`},
		{"nested", `<iframe src="/mid"` + whole + `></iframe>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, replaceAlt(c.page, s.srv.URL), "/in", in, "/mid", `<iframe src="/in"`+whole+`></iframe>`)
			ref := v.ref("textbox", "N")
			equal(t, "typed", v.write(ref, protocol.Type{Text: "x"}), `{"hit":"`+ref+`","changed":true,"focused":"`+ref+`","announced":["saw x"]}`)
			e, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Press{Key: "y"}})
			equal(t, "pressed", answer(e, err), `{"changed":true,"announced":["saw xy"]}`)
			e, err = v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Mouse{Action: "click", X: 200, Y: 100}})
			e.Hit = "" // what is there is of no name
			equal(t, "clicked", answer(e, err), `{"changed":true,"announced":["clicked"]}`)
		})
	}
}

// A live region is told as a whole where it is atomic, as alerts and states are, and
// otherwise by what has come into it: a log says its new line, and nothing when one goes.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	long := strings.Repeat("old line ", 40)
	const box = `<script>customElements.define('status-box',class extends HTMLElement{connectedCallback(){window.box=this.attachShadow({mode:'open'});box.innerHTML='<p role=status id=s></p>'}})</script>`
	for _, c := range []struct{ name, page, want string }{
		{"a log", `<div role=log id=r><p>` + long + `</p></div><button onclick="r.insertAdjacentHTML('beforeend','<p>new <b>line</b></p>')">Go</button>`, `["new line"]`},
		{"polite", `<div aria-live=polite id=r><p>one</p></div><button onclick="r.append(Object.assign(document.createElement('p'),{textContent:'two'}))">Go</button>`, `["two"]`},
		{"polite and atomic", `<div aria-live=polite aria-atomic=true id=r><p>one</p></div><button onclick="r.append('two')">Go</button>`, `["one two"]`},
		{"a status", `<div role=status id=r>3 <b>items</b></div><button onclick="r.firstChild.data='4 '">Go</button>`, `["4 items"]`},
		{"text of a log", `<div role=log id=r><p>one</p><p>2</p></div><button onclick="r.lastChild.firstChild.data='3'">Go</button>`, `["3"]`},
		{"a line goes", `<div role=log id=r><p>one</p><p>two</p></div><button onclick="r.firstChild.remove()">Go</button>`, ""},
		{"an alert comes", `<div id=r></div><button onclick="r.innerHTML='<div role=alert>Wrong</div>'">Go</button>`, `["Wrong"]`},
		{"in another shadow tree", box + `<status-box></status-box><button onclick="box.getElementById('s').textContent='Saved'">Go</button>`, `["Saved"]`},
		{"in a shadow tree that comes", box + `<div id=r></div><button onclick="r.innerHTML='<status-box></status-box>';Promise.resolve().then(()=>{box.getElementById('s').textContent='Saved'})">Go</button>`, `["Saved"]`},
		{"an alert comes in something", `<div id=r></div><button onclick="r.innerHTML='<div><b>!</b><div role=alert>Wrong</div></div>'">Go</button>`, `["Wrong"]`},
		{"a log comes in something", `<div id=r></div><button onclick="r.innerHTML='<div><h2>Chat</h2><div role=log>Yesterday</div></div>'">Go</button>`, ""},
		{"a component comes that says what is in it", `<script>customElements.define('my-toast',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<div role=alert><slot></slot></div>'}})</script><div id=r></div><button onclick="r.innerHTML='<my-toast>Saved <b>twice</b></my-toast>'">Go</button>`, `["Saved twice"]`},
		{"a line comes and goes", `<div role=log id=r><p>one</p></div><button onclick="const p=document.createElement('p');p.textContent='x';r.append(p);p.remove()">Go</button>`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			e, err := v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Click{Ref: v.ref("button", "Go")}})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(e.Announced) > 0 {
				raw, _ := json.Marshal(e.Announced)
				got = string(raw)
			}
			equal(t, "announced", got, c.want)
		})
	}
}

// Frameworks such as Mithril draw in an animation frame what an event has changed, and
// nothing before it: an action waits for one frame before it says that nothing changed.
func TestAPageThatIsDrawnWithTheNextFrame(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		name, listens string
		act           func(ref string) protocol.Action
	}{
		{"a click", "onclick", func(ref string) protocol.Action { return protocol.Click{Ref: ref} }},
		{"a double click", "ondblclick", func(ref string) protocol.Action { return protocol.Click{Ref: ref, Count: 2} }},
		{"a key", "onkeydown", func(ref string) protocol.Action { return protocol.Press{Ref: ref, Key: "a"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, `<button `+c.listens+`="requestAnimationFrame(()=>{o.textContent=++n})">Go</button><p id=o></p><script>n=0</script>`)
			ref, late := v.ref("button", "Go"), 0
			for range 20 {
				if got := answer(v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: c.act(ref)})); !strings.Contains(got, `"changed":true`) {
					late++
				}
			}
			equal(t, "not told", late, 0)
		})
	}
}

// inSteps is a script that shows the element d, and takes a property of its style through the values for x from 0 to 1, as
// jQuery does: by a timer, of which the first turn is later.
func inSteps(property, value string) string {
	return `const s=d.style,step=(x)=>{s.` + property + `=` + value + `};s.display='block';step(0);let n=0;const i=setInterval(()=>{step(++n/5);if(n===5)clearInterval(i)},25)`
}

// What slides or fades into sight, or out of it, is waited for: the snapshot that
// follows has it, or has it no more.
func TestWhatComesIntoSight(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const style = `<style>
.drawer{position:fixed;top:0;right:0;width:300px;height:300px;transform:translateX(100%);visibility:hidden;transition:transform .3s,visibility .3s}
.drawer.on{transform:none;visibility:visible}
.part{overflow:hidden;max-height:0;transition:max-height .3s}.part.on{max-height:90px}
.tip{opacity:0;transition:opacity .3s}button:hover + .tip{opacity:1}
@keyframes in{from{opacity:0;transform:translateY(20px)}}.toast{animation:in .3s}
</style>`
	const box = `<script>customElements.define('my-box',class extends HTMLElement{connectedCallback(){const r=this.attachShadow({mode:'open'});r.innerHTML=` + "`" + style + `<div id=d class="drawer ${this.className}"><slot></slot></div>` + "`" + `;this.turn=()=>r.getElementById('d').classList.toggle('on')}})</script>`
	for _, c := range []struct{ name, page, want string }{
		{"a drawer of another element comes", box + `<button onclick="b.turn()">Go</button><my-box id=b><button>In</button></my-box>`, `"Go" "In"`},
		{"a drawer of another element goes", box + `<button onclick="b.turn()">Go</button><my-box id=b class=on><button>In</button></my-box>`, `"Go"`},
		{"a drawer comes", `<button onclick="d.className='drawer on'">Go</button><div id=d class=drawer><button>In</button></div>`, `"Go" "In"`},
		{"a drawer goes", `<button onclick="d.className='drawer'">Go</button><div id=d class="drawer on"><button>In</button></div>`, `"Go"`},
		{"an accordion", `<button onclick="d.className='part on'">Go</button><div id=d class=part><button>In</button></div>`, `"Go" "In"`},
		{"a toast", `<button onclick="document.body.insertAdjacentHTML('beforeend','<div class=toast><button>In</button></div>')">Go</button>`, `"Go" "In"`},
		{"by hovering", `<button>Go</button><div class=tip><a href="#">In</a></div>`, `"Go" "In"`},
		{"a script fades it in", `<button onclick="` + inSteps("opacity", "x") + `">Go</button><div id=d style="display:none"><button>In</button></div>`, `"Go" "In"`},
		{"a script slides it down", `<button onclick="` + inSteps("height", "80*x*x*x+'px'") + `">Go</button><div id=d style="display:none;overflow:hidden"><button>In</button></div>`, `"Go" "In"`},
		{"a script moves it in", `<button onclick="` + inSteps("transform", "`translateX(${400*x-400}px)`") + `">Go</button><div id=d style="display:none;width:300px"><button>In</button></div>`, `"Go" "In"`},
		{"a script fades in what is new", `<button onclick="document.body.insertAdjacentHTML('beforeend','<div id=d style=opacity:0><button>In</button></div>');let n=0;const i=setInterval(()=>{d.style.opacity=++n/5;if(n===5)clearInterval(i)},25)">Go</button>`, `"Go" "In"`},
		{"one behind the other", `<button onclick="d.className='part on'">Go</button><div id=d class=part ontransitionend="e.className='drawer on'"><button>In</button></div><div id=e class=drawer><button>Last</button></div>`, `"Go" "In" "Last"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, style+c.page)
			v.click(v.ref("button", "Go"))
			v.look()
			var names []string
			for _, n := range v.seen {
				if n.Key.Node != 0 && n.Name != "" && !slices.Contains(n.States, "invisible") {
					names = append(names, strconv.Quote(n.Name))
				}
			}
			equal(t, "in sight", strings.Join(names, " "), c.want)
		})
	}
}

// A menu that opens a while after the mouse has come is there when hover answers.
func TestHoverWaitsForWhatItOpens(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<button id=b onmouseenter="setTimeout(()=>{b.insertAdjacentHTML('afterend','<a href=#>In</a>')},250)">Menu</button>`)
	ref := v.ref("button", "Menu")
	equal(t, "hover", answer(v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Hover{Ref: ref}})), `{"hit":"`+ref+`","changed":true}`)
	v.look()
	v.ref("link", "In")

	// As widget libraries do it: transparent first, and some frames later animated.
	v = s.open(t, `<style>.m{opacity:0}.on{animation:in .2s both}@keyframes in{to{opacity:1}}</style>
<button id=b onmouseenter="setTimeout(()=>{b.insertAdjacentHTML('afterend','<div class=m><a href=#>In</a></div>');const m=b.nextSibling,f=requestAnimationFrame;f(()=>f(()=>f(()=>m.classList.add('on'))))},150)">Menu</button>`)
	v.c.Act(limit(t, 5*time.Second), v.refs, protocol.Act{Action: protocol.Hover{Ref: v.ref("button", "Menu")}})
	v.look()
	for _, n := range v.seen {
		if slices.Contains(n.States, "invisible") {
			t.Errorf("%s is told as invisible", n.Name)
		}
	}
	v.ref("link", "In")
}

// What is not waited for: what is endless or long, small, without words, or moves
// under the pointer alone.
func TestWhatIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const sheet = `<style>
*{margin:0}div{width:200px;height:100px}
@keyframes in{from{opacity:0}}@keyframes slide{from{transform:translateX(200px)}}@keyframes paint{from{color:red;opacity:.5}}@keyframes grow{from{width:10px}}
</style>`
	for _, c := range []struct{ name, page, want string }{
		{"it fades in", `<div id=x style="animation:in 900s">Words</div>`, "x"},
		{"a control without words", `<div id=x tabindex=0 style="animation:in 900s"></div>`, "x"},
		{"it slides", `<div id=x style="animation:slide 900s">Words</div>`, "x"},
		{"a small one slides", `<div id=x style="animation:slide 900s;height:20px">Words</div>`, ""},
		{"without words", `<div id=x style="animation:in 900s"></div>`, ""},
		{"paint", `<div id=x style="animation:paint 900s">Words</div>`, ""},
		{"it grows from something", `<div id=x style="animation:grow 900s">Words</div>`, ""},
		{"longer than anybody waits", `<div id=x style="animation:in 1001s">Words</div>`, ""},
		{"endless", `<div id=x style="animation:in 1s infinite">Words</div>`, ""},
		{"it stands still", `<div id=x style="animation:in 900s paused">Words</div>`, ""},
		{"under the pointer", `<style>#x:hover{transform:scale(1.1);transition:transform 900s}</style><div id=x role=button>Go</div>`, ""},
		{"a pseudo-element", `<style>#x::before{content:"a";animation:in 900s}</style><div id=x>Words</div>`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, sheet+c.page)
			if c.name == "under the pointer" {
				v.click(v.ref("button", "Go"))
				equal(t, "animations", v.eval(`document.getAnimations().length`), "1")
			}
			tab, err := v.c.ready(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			d, err := tab.frames.main.document()
			if err != nil {
				t.Fatal(err)
			}
			var got evaluated
			p := d.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
				Expression: "__bd.arriving(1e6).map((a) => a.effect.target.id).join(' ')", UniqueContextID: d.isolatedWorld,
			})
			if err := tab.wait(t.Context(), p, &got); err != nil {
				t.Fatal(err)
			}
			var ids string
			if err := json.Unmarshal(got.Result.Value, &ids); err != nil {
				t.Fatal(err)
			}
			equal(t, "waited for", ids, c.want)
		})
	}
}

// A page that adds many elements, each in the one before, is not held up by what looks at them.
func TestManyAdditionsAreLookedAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, script := range map[string]string{
		"each in the one before":     `let at = other; for (let n = 0; n < 6000; n++) { const e = document.createElement('b'); at.append(e); at = e }`,
		"each around the one before": `let at = document.createElement('b'); other.append(at); for (let n = 0; n < 3000; n++) { const e = document.createElement('b'); other.append(e); e.append(at); at = e }`,
	} {
		t.Run(name, func(t *testing.T) {
			v := s.open(t, `<div id=other hidden></div><p id=say role=status></p>`)
			equal(t, "how long it was held", v.eval(`new Promise(done => { `+script+` const begun = performance.now();
				setTimeout(() => done(performance.now() - begun < 1000 || performance.now() - begun)) })`), "true")
		})
	}
}
