package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// A click reaches what a person would click, with every event of the mouse, and
// says what it hit.
func TestClick(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		name, page, role, label string
		o                       protocol.Click
		want, log               string
	}{
		{"every event", `<button id=b>Go</button><script>for(const e of ["mouseover","pointerdown","mousedown","pointerup","mouseup","click"]) b.addEventListener(e,x=>report(e+(x.isTrusted?'':'!')))</script>`,
			"button", "Go", protocol.Click{}, `{"hit":"@e1","focused":"@e1"}`, "mouseover pointerdown mousedown pointerup mouseup click"},
		{"twice", `<button ondblclick="report('dbl')" onclick="report(event.detail)">Go</button>`, "button", "Go", protocol.Click{Count: 2}, `{"hit":"@e1","focused":"@e1"}`, "1 2 dbl"},
		{"right", `<button oncontextmenu="report(event.button)" onclick="report('click')">Go</button>`, "button", "Go", protocol.Click{Button: "right"}, `{"hit":"@e1","focused":"@e1"}`, "2"},
		{"middle", `<button onauxclick="report(event.button)">Go</button>`, "button", "Go", protocol.Click{Button: "middle"}, `{"hit":"@e1","focused":"@e1"}`, "1"},
		{"modifiers", `<button onclick="report([event.ctrlKey,event.shiftKey,event.altKey].join())">Go</button>`, "button", "Go", protocol.Click{Modifiers: []string{"Control", "Shift"}}, `{"hit":"@e1","focused":"@e1"}`, "true,true,false"},
		{"below the fold, scrolling smoothly", `<style>html{scroll-behavior:smooth}</style><div style="height:3000px"></div><button onclick="report(1)">Go</button>`, "button", "Go", protocol.Click{}, `{"hit":"@e1","focused":"@e1"}`, "1"},
		{"in a scroller that hides its overflow", `<div style="height:60px;overflow:hidden"><div style="height:300px"></div><button onclick="report(1)">Go</button></div>`, "button", "Go", protocol.Click{}, `{"hit":"@e1","focused":"@e1"}`, "1"},
		{"under a sticky header", `<header style="position:fixed;top:0;left:0;right:0;height:80px;background:#ccc" onclick="report('header')">H</header><button style="margin-top:20px" onclick="report(1)">Go</button><div style="height:3000px"></div><script>scrollTo(0,40)</script>`, "button", "Go", protocol.Click{}, `not_actionable: @e2 button "Go" is covered by @e1 banner "H" {"by":{"name":"H","ref":"@e1","role":"banner","tag":"header"},"reason":"covered"}`, ""},
		{"beside what covers its middle", `<button style="width:200px;height:60px" onclick="report(1)">Go</button><div style="position:absolute;left:50px;top:0;width:120px;height:90px;background:red" onclick="report('red')"></div>`, "button", "Go", protocol.Click{}, `{"hit":"@e1","focused":"@e1"}`, "1"},
		{"a wrapped link", `<div style="width:10ch">123321<a href="#" onclick="report(1);return false">link text that wraps</a></div>`, "link", "link text that wraps", protocol.Click{}, `{"hit":"@e1","focused":"@e1"}`, "1"},
		{"without a box of its own", `<div style="height:2000px"></div><div style="display:contents" role=button aria-label=Go onclick="report(1)">text</div>`, "button", "Go", protocol.Click{}, `{"hit":"@e1"}`, "1"},
		{"turned", `<button style="transform:rotate(90deg);margin:80px" onclick="report(1)">Go</button>`, "button", "Go", protocol.Click{}, `{"hit":"@e1","focused":"@e1"}`, "1"},
		{"a checkbox behind its label", `<style>input{position:absolute;width:1px;height:1px;clip:rect(0 0 0 0)}</style><label><input type=checkbox onchange="report(this.checked)"><span>Agree to the <a href="/elsewhere">terms</a></span></label>`, "checkbox", "Agree to the terms", protocol.Click{}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, "true"},
		{"a checkbox under its styled twin", `<style>.s{position:relative;display:inline-block;width:50px;height:24px}.s input{opacity:0;width:0;height:0}.s i{position:absolute;inset:0;background:#ccc}</style><div class=s onclick="const i=this.firstChild;i.checked=!i.checked;report(i.checked)"><input type=checkbox aria-label=Wifi><i></i></div>`, "checkbox", "Wifi", protocol.Click{}, `{"hit":"@e1"}`, "true"},
		{"an option of a list box", `<select aria-label=C size=3 onchange="report(this.value)"><option>Blue<option>Green</select>`, "option", "Green", protocol.Click{}, `{"hit":"@e3","changed":true,"focused":"@e1"}`, "Green"},
		{"an option of a closed select", `<select aria-label=C onchange="report(this.value)"><option>Blue<option>Green</select>`, "option", "Green", protocol.Click{}, `{"hit":"@e3","changed":true,"focused":"@e1"}`, "Green"},
		{"in shadow trees and slots", `<x-o><span slot=a>Slotted</span></x-o><script>customElements.define("x-i",class extends HTMLElement{constructor(){super();this.attachShadow({mode:"open"}).innerHTML="<button><slot></slot></button>";this.shadowRoot.firstChild.onclick=()=>report(1)}});customElements.define("x-o",class extends HTMLElement{constructor(){super();this.attachShadow({mode:"open"}).innerHTML="<x-i><slot name=a></slot></x-i>"}})</script>`, "button", "Slotted", protocol.Click{}, `{"hit":"@e1","focused":"@e1"}`, "1"},
		{"a form that hides its properties", `<form onsubmit="report('sent');return false"><input name=parentNode><input name=isConnected><input name=getBoundingClientRect><img name=elementFromPoint><button>Go</button></form>`, "button", "Go", protocol.Click{}, `{"hit":"@e6","focused":"@e6"}`, "sent"},
		{"what its own mousedown removes", `<button onmousedown="report('down');this.remove()">Go</button>`, "button", "Go", protocol.Click{}, `{"hit":"@e1","changed":true}`, "down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			c.o.Ref = v.ref(c.role, c.label)
			got := answer(v.c.Act(limit(t, 6*time.Second), v.refs, protocol.Act{Action: c.o}))
			equal(t, "answer", got, c.want)
			equal(t, "log", v.log(), c.log)
		})
	}
}

// Who clicks a second time at the same place has no need to move the mouse; what
// has come under it since is entered by the press. A document that is new sees it
// come.
func TestTheMouseMovesWhereItIsNot(t *testing.T) {
	t.Parallel()
	v := newStage(t).open(t, `<style>button{position:fixed;left:10px;top:10px;width:90px;height:30px}#away{top:300px}</style>
		<button id=a onclick="this.remove()">One</button><button id=away>Away</button><script>
		const say = (e) => report((e.target.textContent || '') + ' ' + e.type);
		for (const e of ['mousemove', 'mouseover', 'mousedown', 'click']) addEventListener(e, (x) => { if (x.target.localName === 'button') say(x); }, true);
		document.body.append(Object.assign(document.createElement('button'), { textContent: 'Two', style: 'z-index:-1' }));
	</script>`)
	one, two, away := v.ref("button", "One"), v.ref("button", "Two"), v.ref("button", "Away")
	for _, ref := range []string{one, two, two, away, two} {
		v.click(ref)
	}
	equal(t, "log", v.log(), "One mouseover One mousemove One mousedown One click "+
		"Two mouseover Two mousedown Two click Two mousedown Two click "+
		"Away mouseover Away mousemove Away mousedown Away click "+
		"Two mouseover Two mousemove Two mousedown Two click")
	v.c.Open(limit(t, 5*time.Second), v.c.State().URL, protocol.WaitAuto)
	v.look()
	v.click(v.ref("button", "One"))
	if got := v.log(); !strings.HasPrefix(got, "One mouseover One mousemove One mousedown One click") {
		t.Errorf("in the next document: %s", got)
	}
}

// A click waits for what comes about by itself.
func TestClickWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, page := range map[string]string{
		"enabled":        `<button id=b disabled onclick="report(1)">Go</button><script>setTimeout(()=>b.disabled=false,500)</script>`,
		"fieldset":       `<fieldset id=f disabled><button onclick="report(1)">Go</button></fieldset><script>setTimeout(()=>f.disabled=false,500)</script>`,
		"uncovered":      `<button onclick="report(1)">Go</button><div id=o style="position:fixed;inset:0" onclick="report('cover')"></div><script>setTimeout(()=>o.remove(),500)</script>`,
		"at rest":        `<style>@keyframes m{from{margin-left:0}to{margin-left:500px}}button{animation:m .8s linear forwards}</style><button onclick="report(1)">Go</button>`,
		"pointer events": `<button id=b style="pointer-events:none" onclick="report(1)">Go</button><script>setTimeout(()=>b.style.pointerEvents="auto",500)</script>`,
		"visible again":  `<div id=d><button onclick="report(1)">Go</button></div><script>addEventListener('hide',()=>{d.style.visibility='hidden';setTimeout(()=>d.style.visibility='',500)})</script>`,
	} {
		t.Run(name, func(t *testing.T) {
			v := s.open(t, page)
			ref := v.ref("button", "Go")
			v.eval(`dispatchEvent(new Event('hide'))`)
			equal(t, "answer", v.click(ref), `{"hit":"`+ref+`","focused":"`+ref+`"}`)
			equal(t, "log", v.log(), "1")
		})
	}
}

// What cannot be clicked is refused with the reason, in time, and nothing on
// the page receives anything.
func TestClickRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	all := `<script>for(const e of ["pointerdown","mousedown","mouseup","click"]) addEventListener(e,()=>report(e),true)</script>`
	for _, c := range []struct{ name, page, want string }{
		{"disabled", `<button disabled>Go</button>`, `not_actionable: @e1 button "Go" is disabled {"reason":"disabled"}`},
		{"aria-disabled", `<div aria-disabled=true><button>Go</button></div>`, `not_actionable: @e1 button "Go" is disabled {"reason":"disabled"}`},
		{"covered", `<button>Go</button><div role=dialog aria-label=Cookies style="position:fixed;inset:0">We use cookies</div>`,
			`not_actionable: @e2 button "Go" is covered by @e1 dialog "Cookies" {"by":{"name":"Cookies","ref":"@e1","role":"dialog","tag":"div"},"reason":"covered"}`},
		{"covered by a frame", `<button>Go</button><iframe title=Ad style="position:fixed;inset:0;width:100%;height:100%" srcdoc="<body>ad"></iframe>`,
			`not_actionable: @e2 button "Go" is covered by @e1 iframe "Ad" {"by":{"name":"Ad","ref":"@e1","role":"iframe","tag":"iframe"},"reason":"covered"}`},
		{"covered by what has no name", `<button>Go</button><div style="position:fixed;inset:0">Words</div>`,
			`not_actionable: @e2 button "Go" is covered by @e1 generic that says "Words" {"by":{"name":"","ref":"@e1","role":"generic","says":"Words","tag":"div"},"reason":"covered"}`},
		{"covered by what a dialog lies in", `<button>Go</button><div style="position:fixed;inset:0"><div role=dialog aria-label=Rename style="margin:200px">Words</div></div>`,
			`not_actionable: @e3 button "Go" is covered by @e2 dialog "Rename" {"by":{"name":"Rename","ref":"@e2","role":"dialog","tag":"div"},"reason":"covered"}`},
		{"covered by a backdrop", `<button>Go</button><div style="position:fixed;inset:0"></div><div role=dialog aria-modal=true aria-label=Rename style="position:fixed;top:200px">Words</div>`,
			`not_actionable: @e2 button "Go" is covered by @e1 dialog "Rename" {"by":{"name":"Rename","ref":"@e1","role":"dialog","tag":"div"},"reason":"covered"}`},
		{"covered by a backdrop of a dialog that does not say that it is modal", `<button>Go</button><div style="position:fixed;inset:0"></div><div role=dialog aria-label=Rename style="position:fixed;inset:30%">Words</div>`,
			`not_actionable: @e2 button "Go" is covered by @e1 dialog "Rename" {"by":{"name":"Rename","ref":"@e1","role":"dialog","tag":"div"},"reason":"covered"}`},
		{"takes no pointer events", `<button style="pointer-events:none">Go</button>`, `not_actionable: @e1 button "Go" is disabled {"because":"pointer-events: none","reason":"disabled"}`},
		{"inert", `<button id=b>Go</button><script>addEventListener('hide',()=>{b.inert=true})</script>`, `not_actionable: @e1 button "Go" is disabled {"because":"inert","reason":"disabled"}`},
		{"inert while a list is open", `<div id=b><button>Go</button></div><div role=listbox aria-label=Size id=l tabindex=-1 style="position:absolute;top:200px"><div role=option>Small</div></div><script>addEventListener('hide',()=>{b.inert=true;l.focus()})</script>`,
			`not_actionable: @e1 button "Go" is covered by @e2 listbox "Size" {"because":"inert","by":{"name":"Size","ref":"@e2","role":"listbox","tag":"div"},"reason":"covered"}`},
		{"a menu lets nothing else be touched", `<button>Go</button><div role=menu aria-label=Edit style="position:absolute;top:200px;pointer-events:auto"><button role=menuitem id=m>Copy</button></div><script>addEventListener('hide',()=>{document.body.style.pointerEvents='none';m.focus()})</script>`,
			`not_actionable: @e1 button "Go" is covered by @e2 menu "Edit" {"because":"pointer-events: none","by":{"name":"Edit","ref":"@e2","role":"menu","tag":"div"},"reason":"covered"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, all+c.page)
			ref := v.ref("button", "Go")
			v.eval(`dispatchEvent(new Event('hide'))`)
			equal(t, "answer", v.acts(c.want, protocol.Click{Ref: ref}), c.want)
			equal(t, "log", v.log(), "")
		})
	}
	t.Run("hidden meanwhile", func(t *testing.T) {
		v := s.open(t, `<button id=b>Go</button>`)
		ref := v.ref("button", "Go")
		v.eval(`b.style.display='none'`)
		equal(t, "answer", v.refused(ref), `not_actionable: @e1 button "Go" cannot be seen {"reason":"hidden"}`)
	})
	t.Run("modal dialog", func(t *testing.T) {
		v := s.open(t, all+`<button id=b>Go</button><dialog id=d aria-label=Stop><p>Cookies?</p></dialog>`)
		ref := v.ref("button", "Go")
		v.eval(`d.showModal()`)
		equal(t, "answer", v.refused(ref),
			`not_actionable: @e1 button "Go" is covered by @e2 dialog "Stop" {"by":{"name":"Stop","ref":"@e2","role":"dialog","tag":"dialog"},"reason":"covered"}`)
		equal(t, "log", v.log(), "")
	})
}

// The hit test keeps a press from whatever comes under the pointer locating
// and the press: here when the mouse arrives. The element is then located again, and
// where it stays covered nothing has been clicked.
func TestClickHitTest(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	cover := `<div id=o style="position:fixed;inset:0;display:none" role=menu aria-label=Menu onpointerdown="report('cover')" onmousedown="report('cover')" onclick="report('cover')"></div>`
	t.Run("covers for good", func(t *testing.T) {
		v := s.open(t, `<button id=b onmouseenter="o.style.display='block'" onclick="report(1)">Go</button>`+cover)
		equal(t, "answer", v.refused(v.ref("button", "Go")),
			`not_actionable: @e1 button "Go" is covered by @e2 menu "Menu" {"by":{"name":"Menu","ref":"@e2","role":"menu","tag":"div"},"reason":"covered"}`)
		equal(t, "log", v.log(), "")
	})
	t.Run("covers for a moment", func(t *testing.T) {
		v := s.open(t, `<button id=b onmouseenter="if(window.o)o.style.display='block';setTimeout(()=>window.o&&o.remove(),300)" onclick="report(1)">Go</button>`+cover)
		equal(t, "answer", v.click(v.ref("button", "Go")), `{"hit":"@e1","changed":true,"focused":"@e1"}`)
		equal(t, "log", v.log(), "1")
	})
	t.Run("lets others be clicked afterwards", func(t *testing.T) {
		v := s.open(t, `<button onclick="report(1)">One</button><button onclick="report(2)">Two</button>`)
		v.click(v.ref("button", "One"))
		v.click(v.ref("button", "Two"))
		equal(t, "log", v.log(), "1 2")
	})
}

// An element that jumps away from the pointer is tried for as long as there is time,
// and never said to be covered by what was behind it; nothing else is clicked.
func TestClickJumping(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	jumping := func(times int) string {
		return fmt.Sprintf(`<button id=b style="position:absolute;left:0;top:20px;width:60px" onclick="report(1)">Go</button><script>
let n=0;addEventListener('mousemove',()=>{if(++n<=%d)b.style.left=n%%2*300+'px'});for(const e of ['mousedown','mouseup','click'])document.documentElement.addEventListener(e,x=>{if(x.target!==b)report(e)})</script>`, times)
	}
	t.Run("for good", func(t *testing.T) {
		v := s.open(t, jumping(1e6))
		begun := time.Now()
		equal(t, "answer", v.clickWithin(2*time.Second, v.ref("button", "Go")), `not_actionable: @e1 button "Go" moves and does not come to rest {"reason":"moving"}`)
		if d := time.Since(begun); d < 2*time.Second-reportMargin {
			t.Errorf("given up after %v", d)
		}
		equal(t, "log", v.log(), "")
	})
	t.Run("for a while", func(t *testing.T) {
		v := s.open(t, jumping(8))
		equal(t, "answer", v.click(v.ref("button", "Go")), `{"hit":"@e1","changed":true,"focused":"@e1"}`)
		equal(t, "log", v.log(), "1")
	})
	t.Run("from under the pressed mouse", func(t *testing.T) {
		v := s.open(t, jumping(0)+`<script>let m=0;addEventListener('mousedown',()=>{if(++m<=5)b.style.left=m%2*300+'px'})</script>`)
		equal(t, "answer", v.click(v.ref("button", "Go")), `{"hit":"@e1","changed":true,"focused":"@e1"}`)
		equal(t, "log", v.log(), "1")
	})
	t.Run("and is covered then", func(t *testing.T) {
		v := s.open(t, jumping(6)+`<div id=o hidden role=menu aria-label=Menu style="position:fixed;inset:0"></div><script>addEventListener('mousemove',()=>{if(n===6)o.hidden=false})</script>`)
		equal(t, "answer", v.clickWithin(5*time.Second, v.ref("button", "Go")),
			`not_actionable: @e1 button "Go" is covered by @e2 menu "Menu" {"by":{"name":"Menu","ref":"@e2","role":"menu","tag":"div"},"reason":"covered"}`)
		equal(t, "log", v.log(), "")
	})
}

// What listens in a frame of the same process is told to the frame's own script
// and to no other: one that the document around it is told of first is an
// element of that one's world for good, and no input to it is taken for one. Which
// comes first is chance, so it is tried some times.
func TestListenersOfFramesStayTheirs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range 8 {
		v := s.open(t, `<script>onmessage=e=>report(e.data)</script><button onclick="0">Mine</button><iframe src="/in"></iframe>`, "/in", `<button onclick="top.postMessage('hit','*')">Go</button>`)
		ref := v.ref("button", "Go")
		equal(t, "answer", v.click(ref), `{"hit":"`+ref+`","focused":"`+ref+`"}`)
		equal(t, "log", v.log(), "hit")
	}
}

// Elements in frames are clicked through all the documents above, wherever
// these have been scrolled; what lies over a frame covers what is in it.
func TestClickInFrames(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	button := `<div style="height:900px"></div><button onclick="top.postMessage('hit','*')">Go</button>`
	listen := `<script>onmessage=e=>report(e.data)</script>`
	for _, c := range []struct{ name, page string }{
		{"below the fold", listen + `<div style="height:2500px"></div><iframe height=200 src="/in"></iframe>`},
		{"nested and scaled", listen + `<iframe style="transform:scale(.6)" src="/mid"></iframe>`},
		{"another site", listen + `<div style="height:2500px"></div><iframe height=200 src="ALT/in"></iframe>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := replaceAlt(c.page, s.srv.URL)
			v := s.open(t, page, "/in", button, "/mid", `<iframe style="border:5px solid;padding:7px" src="/in"></iframe>`)
			ref := v.ref("button", "Go")
			equal(t, "answer", v.click(ref), `{"hit":"`+ref+`","focused":"`+ref+`"}`)
			equal(t, "log", v.log(), "hit")
		})
	}
	t.Run("covered", func(t *testing.T) {
		v := s.open(t, listen+`<iframe src="/in"></iframe><div id=veil style="position:fixed;inset:0" onclick="report('veil')">Veil</div>`, "/in", button)
		got := v.refused(v.ref("button", "Go"))
		equal(t, "answer", got, `not_actionable: @e3 button "Go" is covered by @e1 generic "Veil" {"by":{"name":"Veil","ref":"@e1","role":"generic","tag":"div"},"reason":"covered"}`)
		equal(t, "log", v.log(), "")
	})
}

// A frame that is clicked gets one press, in its middle, and so does one that
// stands in what is clicked: its document takes it unseen by the one around it.
func TestClickOnAFrame(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	listen := `<script>onmessage=e=>report(e.data)</script>`
	button := `<style>button{width:100%;height:120px}</style><button onclick="top.postMessage('hit','*')">Pay</button>`
	for _, c := range []struct{ name, page, role, label, want, log string }{
		{"of the same site", listen + `<iframe title=F src="/in"></iframe>`, "iframe", "F", `{"hit":"@e1","focused":"@e1"}`, "hit"},
		{"of another", listen + `<iframe title=F src="ALT/in"></iframe>`, "iframe", "F", `{"hit":"@e1","focused":"@e1"}`, "hit"},
		{"an object", listen + `<object title=F type="text/html" data="/in"></object>`, "iframe", "F", `{"hit":"@e1","focused":"@e1"}`, "hit"},
		{"in a button", listen + `<div role=button aria-label=Ad style="width:310px"><iframe src="/in"></iframe></div>`, "button", "Ad", `{"hit":"@e1","focused":"@e2"}`, "hit"},
		{"covered", listen + `<iframe title=F src="/in"></iframe><button style="position:fixed;inset:0" onclick="report('veil')">Veil</button>`, "iframe", "F",
			`not_actionable: @e2 iframe "F" is covered by @e1 button "Veil" {"by":{"name":"Veil","ref":"@e1","role":"button","tag":"button"},"reason":"covered"}`, ""},
		{"that leaves the page", `<iframe title=F src="/out"></iframe>`, "iframe", "F", `{"hit":"@e1","navigated":"URL/left","changed":true}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, replaceAlt(c.page, s.srv.URL), "/in", button, "/left", "<h1>Left",
				"/out", `<style>button{width:100%;height:120px}</style><button onclick="top.location='/left'">Out</button>`)
			got := strings.ReplaceAll(v.acts(c.want, protocol.Click{Ref: v.ref(c.role, c.label)}), s.srv.URL, "URL")
			equal(t, "answer", got, c.want)
			if c.name != "that leaves the page" {
				equal(t, "log", v.log(), c.log)
			}
		})
	}
}

// A dialog that a click opens does not hold it up.
func TestClickOpensDialog(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<button onclick="report(confirm('sure?'))">Go</button>`)
	equal(t, "answer", v.click(v.ref("button", "Go")), `{"hit":"@e1","dialog":{"kind":"confirm","message":"sure?","answer":"open"}}`)
	if _, _, _, err := v.c.Dialog(limit(t, 5*time.Second), nil, protocol.DialogAnswer{Accept: true}); err != nil {
		t.Fatal(err)
	}
	equal(t, "log", v.log(), "true")
	equal(t, "click afterwards", v.click(v.ref("button", "Go"))[:13], `{"hit":"@e1",`)
}

// A move of the pointer does not wait for a frame, which Chromium has moves wait for (MoveAtOnce). The moves of a
// frame come with its animation, before any other task.
func TestAMoveWaitsForNoFrame(t *testing.T) {
	t.Parallel()
	v := newStage(t).open(t, `<button>A</button><button style="position: absolute; left: 200px">B</button><iframe srcdoc=""></iframe><script>
		onmousemove = () => {
			let first = '';
			const came = (what) => { if (!first) report(first = what) };
			requestAnimationFrame(() => came('frame'));
			const c = new MessageChannel();
			c.port1.onmessage = () => came('task');
			c.port2.postMessage(0);
		}</script>`)
	for range 5 {
		for _, name := range []string{"A", "B"} {
			if _, err := v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Hover{Ref: v.ref("button", name)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if log := v.log(); !strings.Contains(log, "task") {
		t.Errorf("no move came between two frames: %s", log)
	}
}
