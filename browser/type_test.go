package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// tracked makes an input's value one that a framework controls, as React does:
// it knows of a change only where the value differs from what it has set last.
const tracked = `<script>function track(i){let last=i.value;const d=Object.getOwnPropertyDescriptor(Object.getPrototypeOf(i),'value');
Object.defineProperty(i,'value',{configurable:true,get(){return d.get.call(this)},set(v){last=''+v;d.set.call(this,v)}});
i.addEventListener('input',()=>{if(d.get.call(i)!==last){last=d.get.call(i);report(last)}})}</script>`

// Typing puts into each kind of control what was asked for, in the way that
// works for it, and says so where the page made something else of it.
func TestType(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const value = `i.value`
	long := strings.Repeat("lorem ipsum ", 20)
	for _, c := range []struct {
		name, page, role string
		o                protocol.Type
		want, js, holds  string
	}{
		{"appends", `<input id=i aria-label=N value=ab>`, "textbox", protocol.Type{Text: "cd"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value, "abcd"},
		{"replaces", `<input id=i aria-label=N value=old>`, "textbox", protocol.Type{Text: "new", Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value, "new"},
		{"empties", `<input id=i aria-label=N value=old>`, "textbox", protocol.Type{Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value, ""},
		{"unicode", `<input id=i aria-label=N>`, "textbox", protocol.Type{Text: "żółć 漢字 😀 العربية"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value, "żółć 漢字 😀 العربية"},
		{"a long text", `<textarea id=i aria-label=N></textarea>`, "textbox", protocol.Type{Text: long}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value, long},
		{"lines", `<textarea id=i aria-label=N onkeydown="if(event.key==='Enter')report('sent')"></textarea>`, "textbox", protocol.Type{Text: "a\r\nb\nc"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value + `+log`, "a\nb\nc"},
		{"lines in one line", `<input id=i aria-label=N>`, "textbox", protocol.Type{Text: "a\nb"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value, "a b"},
		{"key events", `<input id=i aria-label=N onkeydown="report(event.key+event.code)">`, "textbox", protocol.Type{Text: "aB!", Mode: "keys"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `log.join()`, "aKeyA,BKeyB,!Digit1"},
		{"key events by default", `<input id=i aria-label=N onkeyup="report(this.value)">`, "textbox", protocol.Type{Text: "ab"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `log.join()`, "a,ab"},
		{"keys that the page refuses", `<input id=i aria-label=N onkeydown="if(event.key==='l')event.preventDefault()">`, "textbox", protocol.Type{Text: "hello"}, `{"hit":"@e1","changed":true,"focused":"@e1","value":"heo"}`, value, "heo"},
		{"too long", `<input id=i aria-label=N maxlength=3>`, "textbox", protocol.Type{Text: "abcdef"}, `{"hit":"@e1","changed":true,"focused":"@e1","value":"abc"}`, value, "abc"},
		{"a mask", `<input id=i aria-label=N oninput="this.value=this.value.replace(/\D/g,'').replace(/(\d{3})(?=\d)/,'$1-')">`, "textbox", protocol.Type{Text: "1234567"}, `{"hit":"@e1","changed":true,"focused":"@e1","value":"123-4567"}`, value, "123-4567"},
		{"a secret that was changed is not said", `<input id=i type=password aria-label=N oninput="this.value=this.value.toUpperCase()">`, "textbox", protocol.Type{Text: "s3cret", Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1","value":"•••"}`, value, "S3CRET"},
		{"submits", `<form onsubmit="report(i.value);return false"><input id=i aria-label=N></form>`, "textbox", protocol.Type{Text: "q", Submit: true}, `{"hit":"@e2","changed":true,"focused":"@e2"}`, `log.join()`, "q"},
		{"contenteditable", `<div id=i contenteditable aria-label=N>old <b>text</b></div>`, "textbox", protocol.Type{Text: "fresh", Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.innerText`, "fresh"},
		{"contenteditable, appended", `<div id=i contenteditable aria-label=N role=textbox><p>one</p><p>two</p></div>`, "textbox", protocol.Type{Text: "3"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.innerText`, "one\n\ntwo3"},
		{"paragraphs", `<div id=i contenteditable aria-label=N><p>One</p></div>`, "textbox", protocol.Type{Text: "L1\r\nL2\n\nL4", Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.innerHTML`, "<p>L1</p><p>L2</p><p><br></p><p>L4</p>"},
		{"paragraphs, appended", `<div id=i contenteditable aria-label=N role=textbox><p>One</p><p>Two</p></div>`, "textbox", protocol.Type{Text: "a\nb"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.innerHTML`, "<p>One</p><p>Twoa</p><p>b</p>"},
		{"paragraphs of a long text", `<div id=i contenteditable aria-label=N><p>One</p></div>`, "textbox", protocol.Type{Text: long + ".\nSecond.\nThird.", Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.innerHTML`, "<p>" + long + ".</p><p>Second.</p><p>Third.</p>"},
		{"lines of an empty editor", `<div id=i contenteditable aria-label=N></div>`, "textbox", protocol.Type{Text: "a\nb"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.innerHTML`, "a<div>b</div>"},
		{"lines of plain text", `<div id=i contenteditable=plaintext-only aria-label=N>One</div>`, "textbox", protocol.Type{Text: "a\n\nb"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.innerText`, "Onea\n\nb"},
		{"a list", `<div id=i contenteditable aria-label=N role=textbox><ul><li>One</ul></div>`, "textbox", protocol.Type{Text: "a\nb"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.innerHTML`, "<ul><li>Onea</li><li>b</li></ul>"},
		{"lines where Enter sends", `<div id=i contenteditable aria-label=N onkeydown="if(event.key==='Enter'&&!event.shiftKey)report('sent')"><p>One</p></div>`, "textbox", protocol.Type{Text: "a\nb", Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.innerHTML+log`, "<p>a</p><p>b</p>"},
		{"number", tracked + `<input id=i type=number aria-label=N onchange="report('change')"><script>track(i)</script>`, "spinbutton", protocol.Type{Text: "4.5", Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.value+' '+log.join()`, "4.5 4.5,change"},
		{"no number", `<input id=i type=number aria-label=N>`, "spinbutton", protocol.Type{Text: "abc", Clear: true}, `{"hit":"@e1","focused":"@e1","value":""}`, value, ""},
		{"range", tracked + `<input id=i type=range min=0 max=10 aria-label=N><script>track(i)</script>`, "slider", protocol.Type{Text: "7", Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `i.value+' '+log.join()`, "7 7"},
		{"beyond the range", `<input id=i type=range min=0 max=10 aria-label=N>`, "slider", protocol.Type{Text: "70", Clear: true}, `{"hit":"@e1","changed":true,"focused":"@e1","value":"10"}`, value, "10"},
		{"a select", `<select id=i aria-label=N onchange="report(this.value)"><option>Oslo<option>Rome</select>`, "combobox", protocol.Type{Text: "Rome"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, `log.join()`, "Rome"},
		{"a label's field", `<label style="padding:9px">Name <input id=i></label>`, "textbox", protocol.Type{Text: "Z"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value, "Z"},
		{"enabled later", `<input id=i aria-label=N disabled><script>setTimeout(()=>i.disabled=false,400)</script>`, "textbox", protocol.Type{Text: "x"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value, "x"},
		{"in a shadow tree", `<x-a></x-a><script>customElements.define('x-a',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<input aria-label=N>'}});window.i=document.querySelector('x-a').shadowRoot.firstChild</script>`, "textbox", protocol.Type{Text: "deep"}, `{"hit":"@e1","changed":true,"focused":"@e1"}`, value, "deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			equal(t, "answer", v.write(v.ref(c.role, labelled(c.page)), c.o), c.want)
			equal(t, "holds", v.text(c.js), c.holds)
		})
	}
}

func labelled(page string) string {
	if strings.Contains(page, "<label") {
		return "Name"
	}
	return "N"
}

// Inputs whose value is set whole take the formats of HTML, and refuse others
// without touching what they hold.
func TestTypeFormats(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct{ kind, text, holds, bad, says string }{
		{"date", "2024-02-29", "2024-02-29", "2023-02-29", "a date such as 2026-03-31"},
		{"time", "13:45", "13:45", "1:45 pm", "a time such as 13:45"},
		{"week", "2024-W05", "2024-W05", "week 5", "a week such as 2026-W05"},
		{"month", "2024-05", "2024-05", "May", "a month such as 2026-03"},
		{"datetime-local", "2024-03-02T05:06", "2024-03-02T05:06", "tomorrow", "a date and time such as 2026-03-31T13:45"},
		{"color", "#E66465", "#e66465", "red", "a colour such as #1a2b3c"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			v := s.open(t, tracked+`<button>x</button><input id=i type=`+c.kind+` aria-label=N><script>track(i)</script>`)
			ref := ""
			for _, n := range v.seen {
				if n.Tag == "input" {
					ref = v.ref(n.Role, n.Name)
				}
			}
			got := v.write(ref, protocol.Type{Text: c.text, Clear: true})
			equal(t, "answer", got, `{"hit":"`+ref+`","changed":true,"focused":"`+ref+`"}`)
			equal(t, "holds", v.text(`i.value+' '+log.join()`), c.holds+" "+c.holds)
			got = v.write(ref, protocol.Type{Text: c.bad, Clear: true})
			if !strings.HasPrefix(got, "invalid_params: text ") || !strings.Contains(got, "accepts "+c.says) {
				t.Errorf("got %s", got)
			}
			equal(t, "still holds", v.text(`i.value`), c.holds)
		})
	}
}

// What accepts no text is refused, and nothing is typed anywhere.
func TestTypeRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct{ name, page, role, want string }{
		{"readonly", `<input aria-label=N readonly value=keep>`, "textbox", `not_actionable: @e1 textbox "N" is readonly {"reason":"readonly"}`},
		{"disabled", `<input aria-label=N disabled>`, "textbox", `not_actionable: @e1 textbox "N" is disabled {"reason":"disabled"}`},
		{"a button", `<button>N</button>`, "button", `invalid_params: ref @e1 button "N" accepts no text {"parameter":"ref"}`},
		{"a checkbox", `<input type=checkbox aria-label=N>`, "checkbox", `invalid_params: ref @e1 checkbox "N" accepts no text {"parameter":"ref"}`},
		{"a file input", `<input type=file aria-label=N>`, "button", `invalid_params: ref @e1 button "N" accepts no text {"parameter":"ref"}`},
		{"the focus goes elsewhere", `<input aria-label=N onfocus="document.querySelector('#o').focus()"><input id=o aria-label=Other>`, "textbox",
			`not_actionable: @e1 textbox "N" was clicked, and the focus went to @e2 textbox "Other"; nothing was typed {"by":{"name":"Other","ref":"@e2","role":"textbox","tag":"input"},"reason":"covered"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, `<body onkeydown="report(event.key)">`+c.page)
			got := v.acts(c.want, protocol.Type{Ref: v.ref(c.role, "N"), Text: "x"})
			equal(t, "answer", got, c.want)
			equal(t, "log", v.log(), "")
		})
	}
}

// A body that is edited is what would have the focus in its document, whether or not
// that has it: keys are typed there only once it has.
func TestTypeEditedBody(t *testing.T) {
	t.Parallel()
	v := newStage(t).open(t, `<input autofocus id=o aria-label=Other><iframe title=F src="/editor"></iframe>`, "/editor", `<body contenteditable>old`)
	equal(t, "answer", v.write(v.ref("textbox", ""), protocol.Type{Text: "new", Clear: true}), `{"hit":"@e3","changed":true,"focused":"@e2"}`)
	equal(t, "holds", v.text(`frames[0].document.body.innerText+' '+o.value`), "new ")
}

// The ref of a frame means what takes text in it, where that is one thing. Nothing
// in the frame is clicked to find out.
func TestTypeIntoFrame(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const tell = `<script>onclick=e=>top.postMessage(e.target.localName,'*')</script>`
	pages := []string{
		"/one", tell + `<button style="width:280px;height:60px">Go</button><input id=i value=a aria-label=N><input type=hidden><input hidden>`,
		"/two", tell + `<button style="width:280px;height:60px">Go</button><input aria-label=N><input id=i aria-label=M autofocus>`,
		"/many", tell + `<button style="width:280px;height:60px">Go</button><input aria-label=N><textarea aria-label=M></textarea>`,
		"/none", tell + `<button style="width:280px;height:140px">Go</button>`,
		"/editor", `<body id=i contenteditable>old`,
		"/design", `<script>document.designMode='on'</script>`,
		"/within", `<p>Around</p><iframe src="/one"></iframe>`,
		"/select", `<select id=i><option>Oslo<option>Rome</select>`,
	}
	const listen = `<script>onmessage=e=>report(e.data)</script>`
	for _, c := range []struct {
		name, frame, role string
		o                 protocol.Type
		want, js, holds   string
	}{
		{"its only field", `<iframe title=F src="/one"></iframe>`, "textbox", protocol.Type{Text: "b"}, `{"hit":"FIELD","changed":true,"focused":"FIELD"}`, `i.value`, "ab"},
		{"its only field, cleared", `<iframe title=F src="/one"></iframe>`, "textbox", protocol.Type{Text: "b", Clear: true}, `{"hit":"FIELD","changed":true,"focused":"FIELD"}`, `i.value`, "b"},
		{"the field that has the focus", `<iframe title=F src="/two"></iframe>`, "textbox M", protocol.Type{Text: "b"}, `{"hit":"FIELD","changed":true}`, `i.value`, "b"},
		{"an editor", `<iframe title=F src="/editor"></iframe>`, "textbox", protocol.Type{Text: "new", Clear: true}, `{"hit":"FIELD","changed":true,"focused":"@e1"}`, `i.innerText`, "new"},
		{"a frame within", `<iframe title=F src="/within"></iframe>`, "textbox", protocol.Type{Text: "b"}, `{"hit":"FIELD","changed":true,"focused":"FIELD"}`, "", ""},
		{"of another site", `<iframe title=F src="ALT/one"></iframe>`, "textbox", protocol.Type{Text: "b"}, `{"hit":"FIELD","changed":true,"focused":"FIELD"}`, "", ""},
		{"a select", `<iframe title=F src="/select"></iframe>`, "combobox", protocol.Type{Text: "Rome"}, `{"hit":"FIELD","changed":true,"focused":"FIELD"}`, `i.value`, "Rome"},
		{"several", `<iframe title=F src="/many"></iframe>`, "", protocol.Type{Text: "b"},
			`invalid_params: ref @e1 iframe "F" has several fields in it {"candidates":[{"name":"N","ref":"@e3","role":"textbox"},{"name":"M","ref":"@e4","role":"textbox"}],"parameter":"ref"}`, "", ""},
		{"nothing", `<iframe title=F src="/none"></iframe>`, "", protocol.Type{Text: "b"}, `invalid_params: ref @e1 iframe "F" has nothing in it that accepts text {"parameter":"ref"}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, listen+replaceAlt(c.frame, s.srv.URL), pages...)
			got := v.write(v.ref("iframe", "F"), c.o)
			if role, name, _ := strings.Cut(c.role, " "); role != "" {
				v.look()
				for _, n := range v.seen {
					if n.Role == role && (name == "" || n.Name == name) {
						name = n.Name
						break
					}
				}
				c.want = strings.ReplaceAll(c.want, "FIELD", v.ref(role, name))
			}
			equal(t, "answer", got, c.want)
			if c.js != "" {
				equal(t, "holds", v.text(`(document=>{let i=document.getElementById('i');return `+c.js+`})(frames[0].document)`), c.holds)
			}
			if pressed := v.log(); strings.Contains(pressed, "button") {
				t.Errorf("pressed %s", pressed)
			}
		})
	}
	t.Run("a page that is edited as a whole", func(t *testing.T) {
		v := s.open(t, `<iframe title=F src="/design"></iframe>`, pages...)
		got := v.write(v.ref("iframe", "F"), protocol.Type{Text: "new\nlines"})
		if !strings.HasPrefix(got, `{"hit":`) || !strings.Contains(got, `"changed":true`) {
			t.Errorf("got %s", got)
		}
		equal(t, "holds", v.text(`frames[0].document.body.innerText`), "new\nlines")
		v.write(v.ref("iframe", "F"), protocol.Type{Text: "other", Clear: true})
		equal(t, "then holds", v.text(`frames[0].document.body.innerText.trim()`), "other")
	})
}

// A key for the ref of a frame goes to the page in it, at its caret where that is an editor.
func TestPressInFrame(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct{ name, page, js, holds string }{
		{"a page", `<body onkeydown="top.postMessage(event.key,'*')"><button>Go</button>`, `log.join()`, "x"},
		{"an editor", `<body contenteditable>`, `frames[0].document.body.innerText`, "x"},
		{"a page that is edited as a whole", `<script>document.designMode='on'</script>`, `frames[0].document.body.innerText`, "x"},
		{"the field that has the focus", `<input><input id=i autofocus>`, `frames[0].document.getElementById('i').value`, "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, `<script>onmessage=e=>report(e.data)</script><iframe title=F src="/in"></iframe>`, "/in", c.page)
			got := answer(v.c.Act(limit(t, 8*time.Second), v.refs, protocol.Act{Action: protocol.Press{Ref: v.ref("iframe", "F"), Key: "x"}}))
			if !strings.HasPrefix(got, `{"hit":"@e1"`) {
				t.Errorf("got %s", got)
			}
			equal(t, "holds", v.text(c.js), c.holds)
		})
	}
}

// What is typed or pressed reaches a field in a closed shadow tree, of whose events listeners
// outside are told the host alone; and no other field of the tree.
func TestTypeIntoAClosedShadowTree(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const element = `<x-f></x-f><script>customElements.define('x-f', class extends HTMLElement { constructor() { super(); window.root = this.attachShadow({mode: 'closed'});
		root.innerHTML = '<div><slot></slot><input aria-label=Word><input aria-label=Other></div>'; %s } })</script>`
	for _, c := range []struct {
		what string
		do   func(v *visit, ref string) string
		want string
	}{
		{"insert", func(v *visit, ref string) string {
			return v.write(ref, protocol.Type{Text: "words that are longer than a short text is, so that they are inserted"})
		}, "words that are longer than a short text is, so that they are inserted|"},
		{"keys", func(v *visit, ref string) string { return v.write(ref, protocol.Type{Text: "words", Mode: "keys"}) }, "words|"},
		{"press", func(v *visit, ref string) string {
			if _, err := v.c.Act(limit(v.t, 20*time.Second), v.refs, protocol.Act{Action: protocol.Press{Ref: ref, Key: "w"}}); err != nil {
				return err.Error()
			}
			return ""
		}, "w|"},
	} {
		t.Run(c.what, func(t *testing.T) {
			const held = `[...root.querySelectorAll('input')].map(e => e.value).join('|')`
			v := s.open(t, fmt.Sprintf(element, ""))
			said := c.do(v, v.ref("textbox", "Word"))
			if got := v.text(held); got != c.want {
				t.Errorf("the fields hold %q, want %q: %s", got, c.want, said)
			}
			v = s.open(t, fmt.Sprintf(element, "root.querySelector('input').onfocus = () => root.querySelectorAll('input')[1].focus()"))
			said = c.do(v, v.ref("textbox", "Word"))
			if got := v.text(held); got != "|" || said == "" {
				t.Errorf("the other field took the focus, and they hold %q: %s", got, said)
			}
		})
	}
}
