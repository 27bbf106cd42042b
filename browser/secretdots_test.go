package browser

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// A field that was given a secret is drawn as dots, and what is copied out of it is dots or nothing, whatever the
// page makes of it. Where the page has its way, what a picture shows is known.
func TestAGivenSecretIsDrawnAsDots(t *testing.T) {
	t.Parallel()
	const field, text = `<form><label>Word <input id=i type=password></label></form><div id=other></div>`, `<form><label>Word <input id=i></label></form><div id=other></div>`
	const edited = `<div id=i contenteditable role=textbox aria-label=Word></div><div id=other></div>`
	values := []string{"hunter2xyz", "WWWiiii,,,"}
	cases := []struct {
		name, page, script string
		dots               bool // a picture can be given
	}{
		{"as it is", field, ``, true},
		{"as it is, a text field", text, ``, true},
		{"as it is, what is edited", edited, ``, true},
		{"its type", field, `i.type = 'text'`, true},
		{"its type, again and again", field, `for (let n = 0; n < 9; n++) i.type = n % 2 ? 'password' : 'search'`, true},
		{"its type, later", field, `new Promise(done => setTimeout(() => { i.type = 'text'; done() }, 50))`, true},
		{"its style", text, `i.style = ''`, true},
		{"its style and its type", field, `i.type = 'text'; i.style.cssText = '-webkit-text-security: none !important'`, true},
		{"its style, edited", edited, `i.removeAttribute('style')`, true},
		{"a style sheet", field, `i.type = 'text'; document.head.insertAdjacentHTML('beforeend', '<style>* { -webkit-text-security: none !important }</style>')`, true},
		{"taken out and put back", field, `const f = i; f.remove(); f.type = 'text'; other.append(f)`, true},
		{"a copy", field, `const c = i.cloneNode(); c.type = 'text'; c.style = ''; i.replaceWith(c)`, true},
		{"a copy of another type", text, `const c = i.cloneNode(); c.removeAttribute('style'); c.type = 'search'; i.replaceWith(c)`, true},
		{"a copy of the form", field, `const c = document.forms[0].cloneNode(true); c.querySelector('input').type = 'text'; c.querySelector('input').style = ''; document.forms[0].replaceWith(c)`, true},
		{"a new field", field, `const n = document.createElement('input'); n.value = i.value; i.replaceWith(n)`, true},
		{"a new textarea", text, `const n = document.createElement('textarea'); n.value = i.value; i.replaceWith(n)`, true},
		{"a new field of the same name", field, `const n = document.createElement('input'), v = i.value; n.id = 'i'; i.replaceWith(n); n.value = v`, true},
		{"what is edited in its place", field, `const n = document.createElement('div'); n.contentEditable = true; n.textContent = i.value; i.replaceWith(n)`, true},
		{"a copy of the copy", field, `const n = document.createElement('input'), v = i.value; n.value = v; i.replaceWith(n); setTimeout(() => { const m = document.createElement('input'); m.value = v; n.replaceWith(m) })`, true},
		{"a new field, filled later", field, `const n = document.createElement('input'), v = i.value; i.replaceWith(n); new Promise(done => setTimeout(() => { n.value = v; done() }, 50))`, false},
		{"a field that was there", field + `<input id=j>`, `j.value = i.value; i.remove()`, false},
		{"a text area that was there", field + `<textarea id=j></textarea>`, `j.value = i.value; i.remove()`, false},
		{"in a shadow tree", field, `const r = other.attachShadow({mode: 'open'}); r.innerHTML = '<input>'; r.firstChild.value = i.value; i.remove()`, false},
		{"in a closed shadow tree", field + `<x-h></x-h><script>customElements.define('x-h', class extends HTMLElement { constructor() { super(); window.root = this.attachShadow({mode: 'closed'}); root.innerHTML = '<b>Here</b>' } })</script>`, `root.innerHTML = '<input>'; root.firstChild.value = i.value; i.remove()`, false},
		{"a part that is edited", edited, `i.innerHTML = '<span style="-webkit-text-security: none">' + i.textContent + '</span>'`, false},
		{"a copy behind an element of SVG named input", text, `const e = document.createElementNS('http://www.w3.org/2000/svg', 'input'); e.setAttribute('contenteditable', ''); other.append(e); const n = document.createElement('input'); n.value = i.value; i.replaceWith(n)`, true},
		{"a copy behind an element of no language", text, `const e = document.createElementNS('urn:x', 'y'); e.setAttribute('contenteditable', ''); e.textContent = i.value; e.style = 'display:none'; other.hidden = true; other.append(e); const n = document.createElement('input'); n.value = i.value; i.replaceWith(n)`, true},
		{"a form that is edited, with a field named style", `<form id=i contenteditable role=textbox aria-label=Word><input type=hidden name=style></form><div id=other></div>`, ``, true},
		{"an edited form in its place, with a field named style", field, `const n = document.createElement('form'), h = document.createElement('input'); n.contentEditable = true; n.textContent = i.value; h.type = 'hidden'; h.name = 'style'; n.append(h); i.replaceWith(n)`, true},
		{"as a hidden field, for a while", text, `i.type = 'hidden'; new Promise(done => setTimeout(() => { i.type = 'text'; i.style = ''; done() }, 50))`, true},
		{"its style, time and again", text, `new Promise(async done => { for (let n = 0; n < 150; n++) { i.style = ''; await new Promise(next => setTimeout(next)) } done() })`, true},
		{"in a document that was opened anew", field, `const v = i.value; document.open(); document.write('<input id=j><textarea id=own aria-label=Own></textarea>'); document.close(); new Promise(done => setTimeout(() => { j.value = v; done() }, 50))`, false},
		{"a field in the place of what was edited", edited, `const n = document.createElement('input'); n.value = i.textContent; i.replaceWith(n)`, true},
		{"what is edited in the place of what was edited", edited, `const n = document.createElement('div'); n.contentEditable = true; n.textContent = 'It is ' + i.textContent + '.'; i.replaceWith(n)`, true},
		{"a field in the place of a part of what was edited", `<div contenteditable><p id=i role=textbox aria-label=Word tabindex=0>x</div><div id=other></div>`, `const n = document.createElement('input'); n.value = i.textContent; other.append(n)`, true},
		{"a field in a page that is edited as a whole", `<div id=i role=textbox aria-label=Word tabindex=0>x</div><script>document.designMode = 'on'</script>`, `const n = document.createElement('input'); n.value = i.textContent; i.replaceWith(n)`, true},
		{"another part of what is edited", `<div contenteditable><p id=i role=textbox aria-label=Word tabindex=0>x</p><p id=other></div>`, `other.textContent = i.textContent; i.remove()`, true},
		{"another part of a page that is edited as a whole", `<p id=i role=textbox aria-label=Word tabindex=0>x</p><p id=other></p><script>document.designMode = 'on'</script>`, `other.textContent = i.textContent; i.remove()`, true},
		{"emptied, and a new field", text, `const n = document.createElement('input'), v = i.value; i.value = 'something else'; i.dispatchEvent(new Event('input', {bubbles: true})); n.value = v; i.replaceWith(n)`, true},
		{"a new field behind 150 of its name", text, `const v = i.value; i.remove(); for (let n = 0; n < 150; n++) { const e = document.createElement('input'); e.id = 'i'; e.value = 'x' + n; e.hidden = true; other.append(e) }
			new Promise(done => setTimeout(() => { const e = document.createElement('input'); e.value = v; document.body.append(e); done() }, 50))`, true},
		{"a new field behind 150 copies", text, `const v = i.value; i.remove(); for (let n = 0; n < 150; n++) { const e = document.createElement('input'); e.value = 'x' + v; e.hidden = true; other.append(e) }
			new Promise(done => setTimeout(() => { const e = document.createElement('input'); e.value = v; document.body.append(e); done() }, 50))`, true},
		{"its style for ever", text, `let left = 1000; new MutationObserver(() => { if (left-- > 0) i.style = '' }).observe(i, {attributes: true}); i.style = ''`, false},
	}
	buildStages(t, func(t *testing.T, s *stage) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				var pictures [][]byte
				for _, value := range values {
					v := s.open(t, c.page+`<textarea id=own aria-label=Own></textarea>`)
					if got := v.write(v.ref("textbox", "Word"), protocol.Type{Text: value, Secret: true}); !strings.HasPrefix(got, `{"hit"`) {
						t.Fatal(got)
					}
					v.eval(`(() => { ` + strings.Replace(c.script, "new Promise", "return new Promise", 1) + ` })()`)
					v.eval(`void document.activeElement.blur()`)
					ctx := limit(t, 20*time.Second)
					picture, err := v.c.Screenshot(ctx, v.refs, protocol.Screenshot{})
					if err != nil {
						t.Fatal(err)
					}
					pictures = append(pictures, picture.Image)
					v.look() // which finds closed shadow trees
					drawn, err := v.c.DrawnText(ctx, "")
					if err != nil || strings.Contains(drawn, value) == c.dots {
						t.Errorf("what is drawn is %q, %v", drawn, err)
					}
					for _, keys := range []string{"Control+c", "Control+Insert", "Control+x"} {
						v.eval(`(() => { const all = [...document.querySelectorAll('*')], e = [...all, ...all.flatMap(e => e.shadowRoot ? [...e.shadowRoot.querySelectorAll('*')] : [])].find(e => e.matches('input,[contenteditable],textarea'));
							if (e) { e.focus(); if (e.select) e.select(); else getSelection().selectAllChildren(e) } })()`)
						for _, key := range []string{keys, "Control+v"} {
							if key == "Control+v" {
								v.eval(`void own.focus()`)
							}
							if _, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Press{Key: key}}); err != nil {
								t.Fatal(err)
							}
						}
						if got := v.text(`own.value`); strings.Contains(got, value) {
							t.Errorf("%s: %q was copied", keys, got)
						}
					}
				}
				if c.dots && (len(pictures[0]) == 0 || !bytes.Equal(pictures[0], pictures[1])) {
					t.Error("the pictures differ")
				}
			})
		}
	})
}

// One field has come in the place of another that is gone, and one in its place: others of its name are others.
func TestOneFieldReplacesAnother(t *testing.T) {
	t.Parallel()
	v := newStage(t).open(t, `<input id=i name=n aria-label=Word>`)
	if got := v.write(v.ref("textbox", "Word"), protocol.Type{Text: "hunter2xyz", Secret: true}); !strings.HasPrefix(got, `{"hit"`) {
		t.Fatal(got)
	}
	const add = `const dotted = e => getComputedStyle(e).webkitTextSecurity + ' '; const add = async (k, v) => { const e = document.createElement('input'); e[k] = v; document.body.append(e); await null; return e };`
	equal(t, "which have dots", v.text(`(async () => { `+add+` i.remove(); const e = [await add('name', 'n'), await add('name', 'n'), await add('id', 'i')];
		const before = e.map(dotted); e[0].remove(); e.push(await add('name', 'n'), await add('name', 'n')); return before + e.slice(1).map(dotted) })()`), "disc ,none ,none none ,none ,disc ,none ")
	v.look()
	var masked []string
	for _, n := range v.seen {
		if n.Role == "textbox" {
			masked = append(masked, n.Value)
		}
	}
	v.eval(`void document.querySelectorAll('input').forEach((e, n) => { e.value = 'v' + n })`)
	v.look()
	for _, n := range v.seen {
		if n.Role == "textbox" {
			masked = append(masked, n.Value)
		}
	}
	equal(t, "which are masked", strings.Join(masked, ","), ",,,,v0,v1,•••,v3")
}

// What a page adds is looked at once, however much stands in each other: the page is held up little longer than one
// in which no secret is.
func TestManyAdditionsBesideAGivenSecret(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct{ name, script string }{
		{"each in the one before", `let at = other; for (let n = 0; n < 2000; n++) { const e = make(); at.append(e); at = e }`},
		{"each around the one before", `let at = make(); other.append(at); for (let n = 0; n < 2000; n++) { const e = make(); other.append(e); e.append(at); at = e }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			held := func(secret bool) (ms float64, dots string) {
				v := s.open(t, `<input id=i aria-label=Word><div id=other hidden></div>`)
				if got := v.write(v.ref("textbox", "Word"), protocol.Type{Text: "hunter2xyz", Secret: secret}); !strings.HasPrefix(got, `{"hit"`) {
					t.Fatal(got)
				}
				var took []any
				if err := json.Unmarshal([]byte(v.eval(`new Promise(done => { const make = () => Object.assign(document.createElement('b'), {contentEditable: true}); `+c.script+`
					const e = document.createElement('input'); e.value = i.value; document.body.append(e);
					const begun = performance.now(); setTimeout(() => done([performance.now() - begun, getComputedStyle(e).webkitTextSecurity])) })`)), &took); err != nil {
					t.Fatal(err)
				}
				return took[0].(float64), took[1].(string)
			}
			without, _ := held(false)
			with, dots := held(true)
			equal(t, "what shows the copy behind them", dots, "disc")
			if with > 2*without+1000 {
				t.Errorf("the page was held for %.0f ms, without a secret for %.0f ms", with, without)
			}
		})
	}
}

// A document that is not left changes nothing in the fields that hold a copy, whatever events the page makes.
func TestAGivenSecretIsNotLookedForByThePage(t *testing.T) {
	t.Parallel()
	v := newStage(t).open(t, `<input id=i aria-label=Word><input id=j>`)
	if got := v.write(v.ref("textbox", "Word"), protocol.Type{Text: "hunter2xyz", Secret: true}); !strings.HasPrefix(got, `{"hit"`) {
		t.Fatal(got)
	}
	equal(t, "the copy's autocomplete", v.text(`(() => { j.value = i.value; for (const type of ['pagehide', 'visibilitychange']) dispatchEvent(new Event(type)); return j.autocomplete })()`), "")
}

// A secret that an agent was given is not in the fields that Chromium fills in again where the page is gone back to.
func TestAGivenSecretIsNotRestored(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	// A page that is not kept whole, so that it is loaded again.
	const kept = `<script>new WebSocket(location.origin.replace('http', 'ws') + '/none'); navigator.locks.request('held', () => new Promise(() => {}))</script>`
	const own = `<input id=own aria-label=Own>`
	for _, c := range []struct{ name, field, script string }{
		{"a text field", `<input id=i aria-label=Word>`, ``},
		{"a search", `<input id=i type=search role=textbox aria-label=Word>`, ``},
		{"an address", `<input id=i type=email aria-label=Word>`, ``},
		{"a text area", `<textarea id=i aria-label=Word></textarea>`, ``},
		{"a password that the page shows", `<input id=i type=password aria-label=Word>`, `i.type = 'text'`},
		{"a field that the page has filled in", `<input id=i aria-label=Word>`, `i.autocomplete = 'on'; i.form`},
		{"a copy in its place", `<input id=i aria-label=Word>`, `(n => { n.value = i.value; i.replaceWith(n) })(document.createElement('input'))`},
		{"a field that was there", `<input id=i aria-label=Word><input id=j>`, `j.value = i.value`},
		{"a hidden field", `<input id=i aria-label=Word><input id=j type=hidden>`, `j.value = i.value`},
		{"a field that was there, when it is left", `<input id=i aria-label=Word><textarea id=j></textarea>`, `addEventListener('pagehide', () => { j.value = i.value })`},
		{"a field that was there, behind shadow trees that stand in each other", `<input id=i aria-label=Word><div id=d hidden></div><textarea id=j></textarea><script>
			const of = e => e.attachShadow({mode: 'open'}); let at = d; for (let n = 0; n < 12000; n++) { const e = document.createElement('div'); of(at).append(e); at = e }</script>`, `j.value = i.value`},
		{"in a shadow tree", `<x-f></x-f><script>document.querySelector('x-f').attachShadow({mode: 'open'}).innerHTML = '<input aria-label=Word>'</script>`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.field+own+kept, "/away", `<p>elsewhere`)
			for _, o := range []protocol.Type{{Ref: v.ref("textbox", "Own"), Text: "an agent's"}, {Ref: v.ref("textbox", "Word"), Text: "hunter2@xyz", Secret: true}} {
				if got := v.write(o.Ref, o); !strings.HasPrefix(got, `{"hit"`) {
					t.Fatal(got)
				}
			}
			v.eval(`(() => { ` + c.script + ` })()`)
			if _, err := v.c.Open(limit(t, 20*time.Second), s.srv.URL+"/away", protocol.WaitAuto); err != nil {
				t.Fatal(err)
			}
			if _, err := v.c.History(limit(t, 20*time.Second), -1); err != nil {
				t.Fatal(err)
			}
			got := v.text(`[...document.querySelectorAll('input, textarea'), ...(document.querySelector('x-f')?.shadowRoot.querySelectorAll('input') || [])].map(e => e.value).join()`)
			if !strings.Contains(got, "an agent's") || strings.Contains(got, "hunter2") {
				t.Errorf("restored: %q", got)
			}
		})
	}
}
