package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/snapshot"
)

// A page that can be changed in ways of which no mutation record tells.
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
 .fading{transition:opacity 10s} .moved{opacity:0}
 .ruled{color:black}
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
 <div id=slotted>Slotted <i>words</i></div>
 <p class=fading>Fading text</p><p class=ruled>Ruled text</p><div class=ruled role=note id=pressed>Pressed</div>
 <div id=popover popover>Popover <button>In it</button></div>
 <div class=scroller id=scroller><p>First part <button>Part</button><p>Second part<span class=far>Far above</span><p class=tall>Third part</div>
 <div class=fixed>Above the window</div>
 <div id=host></div>
 <div id=pane><ul>` + strings.Repeat("<li><b>Thing</b> <a href=/thing>Show</a> <button>Buy</button>", 100) + `</ul></div>
 <div class=tall>A long way</div>
</main>
<script>
const $ = (id) => document.getElementById(id), one = (s) => document.querySelector(s), sheet = $('sheet').sheet;
const root = $('host').attachShadow({ mode: 'open' });
root.innerHTML = '<style>p{color:black}</style><p>In the shadow</p><button>Shaded</button>';
const rule = (text) => sheet.insertRule(text, sheet.cssRules.length);
const adopted = new CSSStyleSheet();
</script>`

// Parts that Blink lays out late.
const skippedParts = `<style>.later{content-visibility:auto;contain-intrinsic-size:10px 50px} #late:checked ~ .unchecked{display:none}</style>
<div class=tall></div><section class=later aria-label=Later><div><input type=checkbox id=late aria-label=Late><p class=unchecked>Not yet</p></div></section>
<section class=later aria-label=Last><p>Last but one</p><p id=last>Last</p></section>`

const manyShadows = `<script>
const roots = Array.from({length: 310}, () => document.body.appendChild(document.createElement('div')).attachShadow({mode: 'open'}));
for (const r of roots) r.innerHTML = '<button>In a shadow</button>';
</script>`

// rewalk is the page, and walks of it as a session makes them.
type rewalk struct {
	*testPage
	d *document
	o script.WalkOptions
}

func newRewalk(p *testPage, html string, o snapshot.Options) *rewalk {
	p.t.Helper()
	p.load(html)
	d, err := p.frame.document()
	if err != nil {
		p.t.Fatal(err)
	}
	p.world = p.newWorld("other")
	return &rewalk{p, d, walk.NewOptions(o)}
}

// wholePage are the options of a snapshot that leaves nothing out.
func wholePage() snapshot.Options {
	o := snapshot.DefaultOptions()
	o.InteractiveOnly, o.MaxNodes, o.MaxChars, o.MaxDepth, o.MaxText = false, 1e5, 1e6, 1e3, 1e4
	return o
}

// itself has the page do something by itself: browserd does not hear of it.
func (s *rewalk) itself(js string) {
	s.t.Helper()
	var got evaluated
	if s.call("Runtime.evaluate", map[string]any{"expression": js, "replMode": true, "userGesture": true}, &got); got.ExceptionDetails != nil {
		s.t.Fatalf("%s: %s", js, got.ExceptionDetails.text())
	}
}

// same walks the page, and compares with the walk of a world that knows nothing.
func (s *rewalk) same(when string) {
	s.t.Helper()
	s.o.Capture = walk.NextCapture(s.o.Capture)
	got, err := s.d.walk(s.t.Context(), s.o)
	if err != nil {
		s.t.Fatalf("%s: %v", when, err)
	}
	o := s.o
	o.Capture = 0
	text, _ := json.Marshal(o)
	want, err := walk.Decode(s.d.doc, s.ask("__bd.now().pendingListeners(), __bd.walk("+string(text)+")"))
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(unnumbered(got), unnumbered(want)); diff != "" {
		s.t.Fatalf("%s: what was found - what is there +\n%s", when, diff)
	}
}

// walkedBefore walks the page, so that its lines are kept.
func (s *rewalk) walkedBefore() {
	s.t.Helper()
	for range 2 {
		s.same("before")
	}
}

// meanwhile is itself for what is not waited for: what Chromium says of it comes behind.
func (s *rewalk) meanwhile(js string) {
	s.d.cdp.Send("Runtime.evaluate", map[string]any{"expression": js, "replMode": true, "userGesture": true})
}

// What changes in a page that has been walk.Result, and of which no mutation record tells: the
// next walk shows what is there.
func TestWhatChangesUnheard(t *testing.T) {
	p := launchTestPage(t)
	var s *rewalk
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
	}{
		{name: "an element", change: run(`document.querySelector('main').append('More')`)},
		{name: "a text", change: run(`one('.ruled').firstChild.data = 'Otherwise'`)},
		{name: "an attribute", change: run(`$('first').setAttribute('aria-label', 'Otherwise')`)},
		{name: "a text in a shadow root", change: run(`root.querySelector('p').firstChild.data = 'Otherwise'`)},
		{name: "a text there and back", change: run(`const n = one('.ruled').firstChild, was = n.data; n.data = 'Otherwise'; n.data = was`)},
		{name: "a shadow root", change: run(`$('slotted').attachShadow({mode: 'open'}).innerHTML = '<b>Instead</b>'`)},
		{name: "a slot", before: run(`var slots = $('slotted').attachShadow({mode: 'open', slotAssignment: 'manual'}); slots.innerHTML = '<slot></slot>'`),
			change: run(`slots.firstChild.assign(one('#slotted i'))`)},
		{name: "the title", change: run(`document.title = 'Otherwise'`)},
		{name: "the address, told behind the walk", change: func() { s.meanwhile(`history.replaceState(null, '', '#otherwise')`) }},
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
		{name: "a style of its own", change: run(`one('.ruled').style.display = 'none'`)},
		{name: "indeterminate", change: run(`$('some').indeterminate = true`)},
		{name: "written", change: run(`$('field').value = 'x'`)},
		{name: "invalid", change: run(`$('field').setCustomValidity('no')`)},
		{name: "focus", change: run(`$('first').focus()`)},
		{name: "a popover", change: run(`$('popover').showPopover()`)},
		{name: "the mouse", change: func() { run(`$('menu').scrollIntoView()`)(); mouse(60, 10)() }},
		{name: "a class, and the layout of a container", change: run(`$('contained').className = 'wide'`)},
		{name: "the size of the window", change: window(500)},
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
			window(1200)()
			mouse(0, 600)()
			s = newRewalk(p, styledPage, wholePage())
			if c.before != nil {
				c.before()
			}
			s.walkedBefore()
			c.change()
			for i := range 3 {
				s.same(fmt.Sprintf("the walk %d after", i+1))
			}
		})
	}
}

// What form controls hold, and what has the focus, where no rule of a style sheet asks for
// it: Blink works out nothing.
func TestWhatIsHeldChanges(t *testing.T) {
	const page = `<!doctype html><html lang=en><title>Held</title><input id=field aria-label=Field><form onsubmit="return false"><input id=must required aria-label=Must></form>
<textarea id=text aria-label=Text></textarea><input type=range id=range aria-label=Range><input type=file id=file aria-label=File>
<select id=size aria-label=Size><option>Small<option>Large<option>Large</select><select id=several multiple aria-label=Several><option>One<option>Two<option>Three</select>
<input type=checkbox id=check aria-label=Check><input type=radio name=r id=radio aria-label=Radio><button id=first>First</button>
<div tabindex=0 id=quiet>Quiet</div>
<div role=button aria-labelledby="word inner">Named by <span id=word>word</span><input id=inner aria-label=Inner value=one></div>
<style>my-state:state(on) + .off{display:none}</style><my-state tabindex=0>State</my-state><p class=off>It is off</p><my-later tabindex=0>Later</my-later>
<p hidden id=hidden>Hidden</p><button aria-labelledby=hidden></button><label>Kept<input type=hidden value=1><input id=kept></label>
<script>
const $ = (id) => document.getElementById(id), internals = [];
class Told extends HTMLElement { constructor() { super(); this.told = this.attachInternals(); internals.push(this.told); this.told.role = 'button'; } }
customElements.define('my-state', class extends Told {});
const later = class extends HTMLElement { constructor() { super(); const i = this.attachInternals(); i.role = 'button'; i.ariaLabel = 'Now'; } };
</script>`
	p := launchTestPage(t)
	for name, change := range map[string]string{
		"written":                           `$('field').value = 'x'`,
		"written in lines":                  `$('text').value = 'x'`,
		"written in a name":                 `$('inner').value = 'two'`,
		"a range":                           `$('range').value = 7`,
		"a file":                            `const files = new DataTransfer(); files.items.add(new File(['x'], 'name.txt')); $('file').files = files.files`,
		"checked":                           `$('check').checked = true`,
		"chosen":                            `$('radio').checked = true`,
		"indeterminate":                     `$('check').indeterminate = true`,
		"selected":                          `$('size').selectedIndex = 1`,
		"another of the same name selected": `$('size').selectedIndex = 2`,
		"several selected":                  `$('several').options[0].selected = $('several').options[2].selected = true`,
		"found invalid":                     `$('must').form.requestSubmit()`,
		"a focus":                           `$('check').focus()`,
		"a focus that goes":                 `document.activeElement.blur()`,
		"a focus that is not to be seen":    `$('quiet').focus()`,
		"a state of a custom element":       `internals[0].states.add('on')`,
		"a role of a custom element":        `internals[0].role = 'checkbox'`,
		"a name of a custom element":        `internals[0].ariaLabel = 'Otherwise'`,
		"a custom element that is defined":  `customElements.define('my-later', later)`,
		"a picker":                          `$('size').showPicker()`,
	} {
		t.Run(name, func(t *testing.T) {
			p.t = t
			s := newRewalk(p, page, snapshot.DefaultOptions())
			if name == "a focus that goes" {
				s.itself(`$('first').focus()`)
			}
			if name == "found invalid" {
				s.itself(`$('must').focus()`)
			}
			if name == "another of the same name selected" {
				s.itself(`$('size').selectedIndex = 1`)
			}
			if name == "a focus that is not to be seen" { // as behind a click
				for _, kind := range []string{"mousePressed", "mouseReleased"} {
					p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": 5, "y": 500, "button": "left", "clickCount": 1}, nil)
				}
			}
			s.walkedBefore()
			s.meanwhile(change)
			for i := range 2 {
				s.same(fmt.Sprintf("the walk %d after", i+1))
			}
		})
	}
}

// What an animation shows is found while nobody does anything.
func TestAnAnimationInFlight(t *testing.T) {
	p := launchTestPage(t)
	s := newRewalk(p, `<h1>Start</h1><p id=fading>Fading in`, snapshot.DefaultOptions())
	for _, effect := range []string{
		`animate([{opacity: 0}, {opacity: 0, offset: 0.9}, {opacity: 1}], 400)`,
		`animate([{transform: 'translateX(-9999px)'}, {transform: 'translateX(-9999px)', offset: 0.9}, {transform: 'none'}], 400)`,
	} {
		s.itself(`document.getElementById('fading').` + effect)
		shown := func() bool {
			got, err := s.d.walk(t.Context(), s.o)
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(got.Nodes, func(n snapshot.Node) bool { return n.Name == "Fading in" })
		}
		if shown() {
			t.Fatalf("%s: it is there at once", effect)
		}
		eventually(t, 20*time.Second, "the paragraph behind "+effect, shown)
	}
}

// An element that begins to listen is told to the script, which it has not changed for.
func TestAListenerThatComesLate(t *testing.T) {
	p := launchTestPage(t)
	s := newRewalk(p, `<h1>Late</h1><div id=late>Press me</div>`, snapshot.DefaultOptions())
	s.walkedBefore()
	s.itself(`document.getElementById('late').addEventListener('click', () => {})`)
	s.d.captured.listeners.Expire() // it is time to ask again
	got, err := s.d.walk(t.Context(), s.o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(got.Nodes, func(n snapshot.Node) bool { return slices.Contains(n.States, "clickable") }) {
		t.Errorf("nothing is clickable: %+v", got.Nodes)
	}
}

// What changes in what is skipped, in what names from outside of the walk, in many shadow
// roots, and in more lines than are kept.
func TestChangesWithoutRecords(t *testing.T) {
	p := launchTestPage(t)
	for _, c := range []struct{ name, html, change string }{
		{"skipped", skippedParts, `$('late').checked = true`},
		{"skipped at the end", skippedParts, `$('last').style.display = 'none'`},
		{"more lines than are kept", strings.Repeat("<p>"+strings.Repeat("words ", 100), 1000), `one('.ruled').style.display = 'none'`},
		{"a hidden field that names", `<div hidden id=names>Named <input id=named value=one></div><button aria-labelledby=names></button>`, `$('named').value = 'two'`},
		{"a hidden field in a label", `<label for=of hidden>Named <input id=named value=one></label><input id=of>`, `$('named').value = 'two'`},
		{"an inert label", `<div inert><label for=of>Named <input id=named value=one></label></div><input id=of>`, `$('named').value = 'two'`},
		{"a hidden shadow root that names", `<div hidden id=names></div><button aria-labelledby=names></button><script>
			$('names').attachShadow({mode: 'open'}).innerHTML = '<b>One</b>'</script>`, `$('names').shadowRoot.firstChild.textContent = 'Two'`},
		{"a hidden custom element that names", `<div hidden id=names>Named <my-named></my-named></div><button aria-labelledby=names></button><script>
			let named; customElements.define('my-named', class extends HTMLElement { constructor() { super(); named = this.attachInternals(); } })</script>`, `named.ariaLabel = 'Otherwise'`},
		{"an area", `<img src="data:," usemap="#m" width=50 height=50 alt=Map><map name=m><area href=/a coords="0,0,9,9" aria-labelledby=names></map><div hidden id=names>Named <input id=named value=one></div>`, `$('named').value = 'two'`},
		{"more shadow roots than are watched", manyShadows, `roots[309].firstChild.setAttribute('aria-label', 'Otherwise')`},
		{"more custom elements than are asked", `<script>let last; customElements.define('my-one', class extends HTMLElement { constructor() { super(); last = this.attachInternals(); } });
			document.body.append(...Array.from({length: 101}, () => document.createElement('my-one')))</script>`, `last.role = 'button'; last.ariaLabel = 'Otherwise'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			s := newRewalk(p, styledPage+c.html, wholePage())
			s.walkedBefore()
			s.itself(c.change)
			s.same("after")
		})
	}
}

// Walks of parts of a page, and others that are between.
func TestWalksOfPartsBetween(t *testing.T) {
	p := launchTestPage(t)
	for name, play := range map[string]func(s *rewalk){
		"a small part between": func(s *rewalk) {
			for range 3 {
				s.o.Selector = "#contained"
				s.same("the part")
				s.o.Selector = ""
				s.same("the whole")
				s.same("the whole again")
			}
		},
		"other options between": func(s *rewalk) {
			for range 4 {
				s.o.Interactive = !s.o.Interactive
				s.same("with the others")
				s.same("with the others again")
			}
		},
		"a part of what is scrolled": func(s *rewalk) {
			s.o.Selector = "#scroller p + p"
			s.itself(`$('scroller').scrollTop = 2000`)
			for range 4 {
				s.same("the part")
			}
			s.itself(`$('scroller').scrollTop = 0`)
			s.same("the part, scrolled back")
		},
		"a part in what is scrolled": func(s *rewalk) {
			s.o.Selector = "ul"
			s.itself(`$('pane').scrollTop = 3000; $('contained').className = 'wide'`)
			s.same("with other styles")
			s.same("again")
			s.same("once more")
			s.itself(`$('pane').scrollTop = 0`)
			s.same("scrolled back")
			s.o.Selector = ""
			s.same("the whole")
		},
		"two that are scrolled": func(s *rewalk) {
			s.itself(`$('pane').scrollTop = 3000; scrollTo(0, 100)`)
			s.same("scrolled")
			s.itself(`$('pane').scrollTop = 0`)
			s.same("scrolled back")
		},
		"what is beyond": func(s *rewalk) {
			s.itself(`$('pane').scrollTop = 3000`)
			s.same("scrolled")
			if _, err := evaluate(s.t.Context(), s.d, script.OffScope, script.OffScopeOptions{WalkOptions: s.o}); err != nil {
				s.t.Fatal(err)
			}
			s.itself(`$('pane').scrollTop = 0`)
			s.same("scrolled back")
		},
		"without an element": func(s *rewalk) {
			s.itself(`var all = document.documentElement; all.remove()`)
			s.same("empty")
			s.itself(`document.append(all)`)
			s.same("full again")
			s.same("and again")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p.t = t
			s := newRewalk(p, styledPage, wholePage())
			s.walkedBefore()
			play(s)
		})
	}
}
