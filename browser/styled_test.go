package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/snapshot"
)

// A page of some hundred elements, whose styles can be changed in ways of which no
// mutation record tells.
var styledPage = `<!doctype html><html lang=en><title>Styled</title>
<style id=sheet>
 .box{width:200px} .wide{width:900px}
 #contained{container-type:inline-size}
 @container (min-width:500px) { .narrow{display:none} }
 @media (max-width:600px) { .large{display:none} }
 @media (prefers-color-scheme:dark) { .light{display:none} }
 #check:checked ~ .unchecked{display:none}
 main:has(#check:checked) .has{visibility:hidden}
 #field:placeholder-shown ~ .written{display:none}
 #field:invalid ~ .valid{display:none}
 #some:indeterminate ~ .sure{display:none}
 .group:focus-within .unfocused{display:none}
 .menu .items{display:none} .menu:hover .items{display:block}
 my-state:state(on) + .off{display:none}
 .fading{transition:opacity 10s} .moved{opacity:0}
 .ruled{color:black}
 .later{content-visibility:auto;contain-intrinsic-size:10px 50px}
 .scroller{height:60px;width:200px;overflow:auto;position:relative} .scroller p{height:100px;margin:0}
 #pane{height:300px;overflow:auto}
 .far{position:absolute;top:-500px}
 .fixed{position:fixed;top:-100px}
 .tall, .scroller p.tall{height:3000px}
</style>
<main>
 <div id=contained class=box><p class=narrow>Only where it is narrow</p></div>
 <p class=large>Only where it is large</p><p class=light>Only by day</p>
 <div><input type=checkbox id=check aria-label=Check><p class=unchecked>Not checked</p></div><p class=has>None is checked</p>
 <form><input id=field placeholder=Field><p class=written>Written</p><p class=valid>Valid</p></form>
 <div><input type=checkbox id=some aria-label=Some><p class=sure>Sure</p></div>
 <div class=group><button id=first>First</button><p class=unfocused>Nothing has the focus</p></div>
 <div class=menu id=menu>Menu <div class=items><a href=/a>One</a><a href=/b>Two</a></div></div>
 <my-state>State</my-state><p class=off>It is off</p>
 <p class=fading>Fading text</p><p class=ruled>Ruled text</p><div class=ruled role=note id=pressed>Pressed</div>
 <div id=popover popover>Popover <button>In it</button></div>
 <div class=scroller id=scroller><p>First part <button>Part</button><p>Second part<span class=far>Far above</span><p class=tall>Third part</div>
 <div class=fixed>Above the window</div>
 <div id=host></div>
 <div id=pane><ul>` + strings.Repeat("<li><b>Thing</b> <a href=/thing>Show</a> <button>Buy</button>", 100) + `</ul></div>
 <div class=tall>A long way</div>
 <section class=later aria-label=Later><div><input type=checkbox id=late aria-label=Late><p class=unchecked>Not yet</p></div><style>#late:checked ~ .unchecked{display:none}</style></section>
 <section class=later aria-label=Last><p>Last but one</p><p id=last>Last</p></section>
</main>
<script>
const $ = (id) => document.getElementById(id), one = (s) => document.querySelector(s), sheet = $('sheet').sheet;
let states;
customElements.define('my-state', class extends HTMLElement { constructor() { super(); states = this.attachInternals().states; } });
const root = $('host').attachShadow({ mode: 'open' });
root.innerHTML = '<style>p{color:black}</style><p>In the shadow</p><button>Shaded</button>';
const rule = (text) => sheet.insertRule(text, sheet.cssRules.length);
const adopted = new CSSStyleSheet();
</script>`

// styledTest is the page, and walks of it as a session makes them.
type styledTest struct {
	*testPage
	d *document
	o walkOptions
}

func newStyledTest(p *testPage) *styledTest {
	p.t.Helper()
	p.load(styledPage)
	d, err := p.frame.document()
	if err != nil {
		p.t.Fatal(err)
	}
	o := newWalkOptions(snapshot.DefaultOptions())
	o.Interactive, o.MaxNodes, o.MaxChars, o.MaxDepth, o.MaxText = false, 1e5, 1e6, 1e3, 1e4
	p.world = p.newWorld("other")
	return &styledTest{p, d, o}
}

// itself has the page do something by itself: browserd does not hear of it.
func (s *styledTest) itself(js string) {
	s.t.Helper()
	var got evaluated
	if s.call("Runtime.evaluate", map[string]any{"expression": js, "replMode": true}, &got); got.ExceptionDetails != nil {
		s.t.Fatalf("%s: %s", js, got.ExceptionDetails.text())
	}
}

// same walks the page and compares with a walk by which nothing is kept.
func (s *styledTest) same(when string) {
	s.t.Helper()
	s.o.Look = s.o.Look%maxLook + 1
	got, err := s.d.walk(s.t.Context(), s.o)
	if err != nil {
		s.t.Fatalf("%s: %v", when, err)
	}
	o := s.o
	o.Look, o.Have, o.Styles = 0, 0, liveStyles
	text, _ := json.Marshal(o)
	want, err := decodeWhole(s.d.doc, s.ask("__bd.now().news(), __bd.walk("+string(text)+")"))
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(unnumbered(got), unnumbered(want)); diff != "" {
		s.t.Fatalf("%s: what was kept - what is there +\n%s", when, diff)
	}
}

// untilKept walks until a walk has taken the styles that another has kept.
func (s *styledTest) untilKept() {
	s.t.Helper()
	for try := 0; !s.takesKept(); try++ {
		if try == 20 {
			s.t.Fatalf("after %d walks no styles are kept: %+v", try, s.d.marks.styled)
		}
		s.same("before")
	}
}

// takesKept tells whether the last walk has taken what was kept, as the next one will.
func (s *styledTest) takesKept() bool {
	m := s.d.marks.styled
	return m.kept && m.asked == nil && m.stirs == s.frame.tab.stirs.Load()
}

// What changes how a page looks and of which browserd does not hear. What was read of
// styles and boxes before is not what is there.
func TestStylesThatChange(t *testing.T) {
	p := launchTestPage(t)
	var s *styledTest
	run := func(js string) func() { return func() { s.itself(js) } }
	mouse := func(x, y float64) func() {
		return func() {
			p.call("Input.dispatchMouseEvent", map[string]any{"type": "mouseMoved", "x": x, "y": y}, nil)
		}
	}
	window := func(width int) func() {
		return func() {
			p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": false}, nil)
		}
	}
	for _, c := range []struct {
		name   string
		before func() // what is known is read after it
		change func()
		heard  bool // Chromium says so
	}{
		{name: "nothing", change: func() {}},
		{name: "a rule comes", change: run(`rule('.ruled{display:none}')`)},
		{name: "a rule goes", change: run(`sheet.deleteRule([...sheet.cssRules].findIndex((r) => r.selectorText === '.menu .items'))`)},
		{name: "a rule says otherwise", change: run(`[...sheet.cssRules].find((r) => r.selectorText === '.box').style.width = '800px'`)},
		{name: "a rule changes a cursor", change: run(`rule('#pressed{cursor:pointer}')`)},
		{name: "a rule writes before", change: run(`rule('li button::before{content:"Now: "}')`)},
		{name: "a rule writes large", change: run(`rule('li a{text-transform:uppercase}')`)},
		{name: "a rule moves away", change: run(`rule('.ruled{position:absolute;left:-9999px}')`)},
		{name: "a rule hides", change: run(`rule('li b{visibility:hidden}')`)},
		{name: "a rule makes transparent", change: run(`rule('li b{opacity:0}')`)},
		{name: "a rule cuts away", change: run(`rule('.ruled{position:absolute;width:1px;height:1px;overflow:hidden}')`)},
		{name: "a variable", change: run(`rule('.ruled{display:var(--d,block)}'); rule(':root{--d:none}')`)},
		{name: "a style sheet off", change: run(`sheet.disabled = true`)},
		{name: "a style sheet adopted", change: run(`adopted.replaceSync('.ruled{display:none}'); document.adoptedStyleSheets = [adopted]`)},
		{name: "a style sheet adopted in a shadow root", change: run(`adopted.replaceSync('p{display:none}'); root.adoptedStyleSheets = [adopted]`)},
		{name: "a rule in a shadow root", change: run(`root.styleSheets[0].insertRule('p{display:none}')`)},
		{name: "checked", change: run(`$('check').checked = true`)},
		{name: "checked where it may be skipped", change: run(`$('late').checked = true`)},
		{name: "a style of its own", change: run(`one('.ruled').style.display = 'none'`)},
		{name: "a style of its own where it may be skipped", change: run(`$('last').style.display = 'none'`)},
		{name: "indeterminate", change: run(`$('some').indeterminate = true`)},
		{name: "written", change: run(`$('field').value = 'x'`)},
		{name: "invalid", change: run(`$('field').setCustomValidity('no')`)},
		{name: "focus", change: run(`$('first').focus()`)},
		{name: "a state", change: run(`states.add('on')`)},
		{name: "a popover", change: run(`$('popover').showPopover()`), heard: true},
		{name: "the mouse", change: func() { run(`$('menu').scrollIntoView()`)(); mouse(60, 10)() }},
		{name: "a class, and the layout of a container", change: run(`$('contained').className = 'wide'`)},
		{name: "the size of the window", change: window(500), heard: true},
		{name: "the night", change: func() {
			p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}}}, nil)
		}},
		{name: "an animation", change: run(`one('.ruled').animate([{opacity: 0}, {opacity: 0}], {duration: 1e6})`)},
		{name: "an animation that has ended", change: run(`one('.ruled').animate([{opacity: 0}], {duration: 1, fill: 'forwards'}).finish()`)},
		{name: "a transition", change: run(`one('.fading').classList.add('moved'); document.getAnimations().forEach((a) => a.finish())`)},
		{name: "the window is scrolled back", before: run(`scrollTo(0, 2500)`), change: run(`scrollTo(0, 0)`)},
		{name: "a scroller is scrolled back", before: run(`$('scroller').scrollTop = 2000`), change: run(`$('scroller').scrollTop = 0`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			defer p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{}}, nil)
			for try := 0; ; try++ {
				window(1200)()
				mouse(0, 600)()
				s = newStyledTest(p)
				if c.before != nil {
					c.before()
				}
				s.untilKept()
				c.change()
				if s.takesKept() != c.heard {
					break
				}
				// An event of the load may come late, such as that the network is idle.
				if try == 5 {
					t.Fatalf("heard of each time: %v", !c.heard)
				}
			}
			for i := range 5 {
				s.same(fmt.Sprintf("the walk %d after", i+1))
			}
		})
	}
}

// Walks of parts of a page, and others that are between.
func TestStylesOfParts(t *testing.T) {
	p := launchTestPage(t)
	for name, play := range map[string]func(s *styledTest){
		"a small part between": func(s *styledTest) {
			for range 3 {
				s.o.Selector = "#contained"
				s.same("the part")
				s.o.Selector = ""
				s.same("the whole")
				s.same("the whole again")
			}
		},
		"a part in what is scrolled": func(s *styledTest) {
			s.o.Selector = "ul"
			s.itself(`$('pane').scrollTop = 3000; $('contained').className = 'wide'`)
			s.same("with other styles")
			s.untilKept()
			s.itself(`$('pane').scrollTop = 0`)
			s.same("scrolled back")
			s.o.Selector = ""
			s.same("the whole")
		},
		"two that are scrolled": func(s *styledTest) {
			s.itself(`$('pane').scrollTop = 3000; scrollTo(0, 100)`)
			s.same("scrolled")
			s.itself(`$('pane').scrollTop = 0`)
			s.same("scrolled back")
		},
		"what is beyond": func(s *styledTest) {
			s.itself(`$('pane').scrollTop = 3000`)
			s.same("scrolled")
			if err := s.d.call(s.t.Context(), "beyond", beyondOptions{walkOptions: s.o}, new(string)); err != nil {
				s.t.Fatal(err)
			}
			s.itself(`$('pane').scrollTop = 0`)
			s.same("scrolled back")
		},
		"without an element": func(s *styledTest) {
			s.itself(`var all = document.documentElement; all.remove()`)
			s.same("empty")
			s.itself(`document.append(all)`)
			s.same("full again")
			s.same("and again")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p.t = t
			s := newStyledTest(p)
			s.untilKept()
			play(s)
		})
	}
}
