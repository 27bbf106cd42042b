package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/internal/corpus"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// everything is what a client can read of the page: lines, what is read of the page and
// of each ref, what is found, and a picture's annotations.
func (v *visit) everything() string {
	v.t.Helper()
	var b strings.Builder
	ctx := limit(v.t, 20*time.Second)
	v.look()
	for _, n := range v.seen {
		fmt.Fprintf(&b, "snapshot %s %q %q %v\n", n.Role, n.Name, n.Value, n.Attrs)
	}
	read := func(ref, kind string) {
		got, err := v.c.Read(ctx, v.refs, ref, kind, "")
		if err != nil && protocol.CodeOf(err) != protocol.InvalidParams {
			v.t.Fatalf("read %s %s: %v", ref, kind, err)
		}
		fmt.Fprintf(&b, "read %s %s %q %v\n", ref, kind, got, err)
	}
	for _, kind := range []string{"text", "markdown", "article", "html"} {
		read("", kind)
	}
	var refs []string
	for _, n := range v.seen {
		if n.Key.Node == 0 {
			continue
		}
		refs = append(refs, fmt.Sprintf("@e%d", v.refs.Number(n)))
		for _, kind := range []string{"text", "value", "attrs", "html", "markdown"} {
			read(refs[len(refs)-1], kind)
		}
	}
	for _, q := range []protocol.Query{{Role: "textbox", Limit: 9}, {Role: "searchbox", Limit: 9}, {Text: "hunter2", Limit: 9}, {Name: "hunter2", Limit: 9}} {
		found, err := v.c.Find(ctx, v.refs, q)
		if err != nil {
			v.t.Fatal(err)
		}
		for _, n := range found {
			fmt.Fprintf(&b, "find %s %q %q %v\n", n.Role, n.Name, n.Value, n.Attrs)
		}
	}
	pic, err := v.c.Screenshot(ctx, v.refs, protocol.Screenshot{Annotate: refs, Format: "jpeg", Scale: 0.1})
	if err != nil {
		v.t.Fatal(err)
	}
	pic.Image = nil
	annotations, _ := json.Marshal(pic)
	fmt.Fprintf(&b, "screenshot %s\n", annotations)
	return b.String()
}

// A field that held a secret is masked as long as its document lives, whatever the page
// makes of it.
func TestOnceSecret(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const field = `<form><label>Word <input id=i type=password></label></form><div id=other></div><button>Show</button>`
	for _, c := range []struct{ name, page, script string }{
		{"its type, by the property", field, `i.type = 'text'`},
		{"its type, by the attribute", field, `i.setAttribute('type', 'search')`},
		{"its type taken away", field, `i.removeAttribute('type')`},
		{"there and back and there", field, `i.type = 'text'; i.type = 'password'; i.type = 'text'`},
		{"a copy", field, `const c = i.cloneNode(); c.type = 'text'; i.replaceWith(c)`},
		{"a copy under another name", field, `const c = i.cloneNode(); c.type = 'text'; c.id = 'j'; i.replaceWith(c)`},
		{"a copy beside it", field, `const c = i.cloneNode(); c.type = 'text'; c.id = 'j'; other.append(c)`},
		{"a copy of the form", field, `const c = document.forms[0].cloneNode(true); c.querySelector('input').type = 'text'; document.forms[0].replaceWith(c)`},
		{"a new field with its value", field, `const n = document.createElement('input'); n.value = i.value; i.replaceWith(n)`},
		{"a new textarea with its value", field, `const n = document.createElement('textarea'); n.value = i.value; i.replaceWith(n)`},
		{"a new field with more around it", field, `const n = document.createElement('input'); n.value = 'It is ' + i.value + '.'; i.replaceWith(n)`},
		{"a new field of another type", field, `const n = document.createElement('input'); n.type = 'search'; n.value = i.value; i.replaceWith(n)`},
		{"what is edited in its place", field, `const n = document.createElement('div'); n.contentEditable = true; n.setAttribute('role', 'textbox'); n.textContent = i.value; i.replaceWith(n)`},
		{"a new textarea with its text", field, `const n = document.createElement('textarea'); n.textContent = i.value; i.replaceWith(n)`},
		{"written again", field, `i.setAttribute('value', i.value); i.outerHTML = i.outerHTML.replace('password', 'text')`},
		{"a new field of the same name, filled later", field, `const n = document.createElement('input'); n.id = 'i'; const v = i.value; i.replaceWith(n); n.value = v + '!'`},
		{"moved", field, `other.append(i); i.type = 'text'`},
		{"taken out, changed, put back", field, `(async () => { const f = i; f.remove(); await new Promise(done => setTimeout(done, 50)); f.type = 'text'; f.id = 'k'; other.append(f) })()`},
		{"into a shadow tree", field, `const r = other.attachShadow({mode: 'open'}); r.append(i); r.firstChild.type = 'text'`},
		{"into a closed shadow tree", field + `<script>root = other.attachShadow({mode: 'closed'}); root.innerHTML = '<b>Here</b>'</script>`, `root.append(i); root.lastChild.type = 'text'`},
		{"in a shadow tree", `<x-f></x-f><script>customElements.define('x-f', class extends HTMLElement { constructor() { super(); this.attachShadow({mode: 'open'}).innerHTML = '<input id=i type=password aria-label=Word>' } })</script>`,
			`document.querySelector('x-f').shadowRoot.querySelector('input').type = 'text'`},
		{"in a closed shadow tree of its own", `<x-f></x-f><script>customElements.define('x-f', class extends HTMLElement { constructor() { super(); window.root = this.attachShadow({mode: 'closed'}); root.innerHTML = '<input type=password aria-label=Word>' } })</script>`,
			`root.querySelector('input').type = 'text'`},
		{"a copy into a closed shadow tree", field, `const c = i.cloneNode(); c.type = 'text'; c.removeAttribute('id'); other.attachShadow({mode: 'closed'}).append(c); i.remove()`},
		{"a new document", field, `const v = i.value; document.open(); document.write('<input id=i aria-label=Word>'); document.close(); i.value = v`},
		{"autocomplete", `<input id=i aria-label=Word autocomplete="section-x one-time-code">`, `i.removeAttribute('autocomplete')`},
		{"a card's number", `<input id=i aria-label=Word autocomplete=cc-number>`, `i.autocomplete = 'off'`},
		{"dots by style", `<style>.dots{-webkit-text-security:disc}</style><input id=i aria-label=Word class=dots>`, `i.className = ''`},
		{"dots by a style around it", `<div id=d style="-webkit-text-security:circle"><input id=i aria-label=Word style="-webkit-text-security:inherit"></div>`, `d.removeAttribute('style')`},
		{"dots over a textarea", `<textarea id=i aria-label=Word style="-webkit-text-security:square"></textarea>`, `i.style.webkitTextSecurity = 'none'`},
		{"dots over what is edited", `<div id=i contenteditable role=textbox aria-label=Word style="-webkit-text-security:disc"></div>`, `i.style.webkitTextSecurity = 'none'`},
		{"its name", `<input id=i name=user_password aria-label=Word>`, `i.name = 'x'`},
		{"its label", `<label id=l for=i>Your password *</label><input id=i>`, `l.textContent = 'Word'`},
		{"its placeholder", `<input id=i placeholder="Passphrase">`, `i.placeholder = 'Word'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := s.open(t, c.page)
			role := "textbox"
			var ref string
			for _, n := range v.seen {
				if n.Role == role {
					ref = fmt.Sprintf("@e%d", v.refs.Number(n))
				}
			}
			if said := v.write(ref, protocol.Type{Text: "hunter2xyz"}); strings.Contains(said, "hunter2xyz") {
				t.Fatalf("typing it says %s", said)
			}
			if all := v.everything(); strings.Contains(all, "hunter2xyz") || !strings.Contains(all, "•••") {
				t.Fatalf("it is told before the page does anything:\n%s", all)
			}
			v.eval(c.script)
			if all := v.everything(); strings.Contains(all, "hunter2xyz") || strings.Contains(all, "snapshot textbox") && !strings.Contains(all, "•••") {
				t.Errorf("it is told:\n%s", all)
			}
			// A second look, and what is typed afterwards.
			v.eval(`void [document, ...[...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)].forEach(r => r.querySelectorAll('input,textarea').forEach(e => e.value = 'hunter2xyz again'))`)
			if all := v.everything(); strings.Contains(all, "hunter2xyz") {
				t.Errorf("another value is told:\n%s", all)
			}
		})
	}
	// Before anybody has looked.
	for _, c := range []struct{ name, page string }{
		{"while it is loaded", `<input id=i type=password aria-label=Word value=hunter2xyz><script>i.type='text'</script>`},
		{"after it is loaded", `<input id=i type=password aria-label=Word value=hunter2xyz><script>addEventListener('load',()=>{const c=i.cloneNode();c.type='text';i.replaceWith(c)})</script>`},
		{"set by a script", `<input id=i type=password aria-label=Word><script>i.value='hunter2'+'xyz';i.type='text'</script>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if all := s.open(t, c.page).everything(); strings.Contains(all, "hunter2xyz") {
				t.Errorf("it is told:\n%s", all)
			}
		})
	}
}

// What is no secret is told, also beside one.
func TestNeverSecret(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<form><input type=password aria-label=Word value=abc><input id=a aria-label=City value=abc><input id=b aria-label=Note value="hunter2xyz and more"><input type=password name=w aria-label=Other value=hunter2xyz></form>`)
	v.eval(`void document.querySelectorAll('[type=password]').forEach(e => e.type = 'text')`)
	all := v.everything()
	for _, want := range []string{`snapshot textbox "City" "abc"`, `snapshot textbox "Note" "hunter2xyz and more"`, `snapshot textbox "Word" "•••"`, `snapshot textbox "Other" "•••"`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
}

// All text that a picture may show is read for it: also what a style sheet adds, what fields hold, and what
// stands for a picture; of a secret field nothing.
func TestWhatAPictureShowsIsRead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, page := range map[string]string{
		"text":                  `<p>hun<b>ter2</b>xyz</p>`,
		"a field":               `<input aria-label=Note value=hunter2xyz>`,
		"a text area":           `<textarea aria-label=Note>hunter2xyz</textarea>`,
		"a button":              `<input type=submit value=hunter2xyz>`,
		"a placeholder":         `<input placeholder=hunter2xyz>`,
		"an option":             `<select size=3><option>a<option>hunter2xyz</select>`,
		"a label of an option":  `<select><option>a<option label=hunter2xyz></select>`,
		"a name":                `<button aria-label=hunter2xyz>x</button>`,
		"a picture that is not": `<img src="data:," alt=hunter2xyz>`,
		"before":                `<style>p::before{content:"hun"}</style><p>ter2xyz</p>`,
		"after":                 `<style>p::after{content:"2\78 yz"}</style><p>hunter</p>`,
		"an attribute":          `<style>p::after{content:attr(data-x)}</style><p data-x=xyz>hunter2</p>`,
		"a shadow tree":         `<div id=h></div><script>h.attachShadow({mode:'open'}).innerHTML='<i>hunter2xyz</i>'</script>`,
		"a closed one":          `<x-h id=h></x-h><script>h.attachShadow({mode:'closed'}).innerHTML='<input value=hunter2xyz>'</script>`,
		"a frame":               `<iframe srcdoc="<p>hunter2xyz</p>"></iframe>`,
		"beside the body":       `<script>document.documentElement.append(Object.assign(document.createElement('div'),{textContent:'hunter2xyz'}))</script>`,
		"a group of options":    `<select size=4><optgroup label=hunter2xyz><option>x</optgroup></select>`,
		"an object":             `<object data="data:text/html,<p>hunter2xyz"></object>`,
		"a frame behind many":   strings.Repeat(`<iframe srcdoc="<p>x</p>"></iframe>`, maxFrames+1) + `<iframe srcdoc="<p>hunter2xyz</p>"></iframe>`,
	} {
		t.Run(name, func(t *testing.T) {
			v := s.open(t, page)
			for _, with := range []bool{true, false} {
				if !with {
					v.eval(`document.querySelectorAll('html>div').forEach(e => e.remove()); document.body.innerHTML = '<input type=password aria-label=Word value=hunter2xyz><p hidden>hunter2xyz</p><iframe style=display:none srcdoc=hunter2xyz>'`)
				}
				got, err := v.c.DrawnText(limit(t, 20*time.Second), "")
				if err != nil || strings.Contains(got, "hunter2xyz") != with {
					t.Errorf("%t: %q, %v", with, got, err)
				}
			}
		})
	}
}

// Where a frame cannot be read, nobody knows what a picture shows. One that has gone shows nothing.
func TestAFrameThatCannotBeReadForAPicture(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	v := s.open(t, `<p>hunter2xyz</p><iframe id=f srcdoc="<p>more</p>"></iframe><iframe srcdoc="<p>others</p>"></iframe>`)
	drawn := func() (string, error) { return v.c.DrawnText(limit(t, 20*time.Second), "") }
	if got, err := drawn(); err != nil || !strings.Contains(got, "more") || !strings.Contains(got, "others") {
		t.Fatalf("%q, %v", got, err)
	}
	for _, f := range v.c.selected.frames.live() {
		if d, err := f.document(); err == nil && f.parent != nil {
			d.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: `__bd.read = () => { throw 1 }`, UniqueContextID: d.isolatedWorld})
		}
	}
	if got, err := drawn(); protocol.CodeOf(err) != protocol.SecretDenied || got != "" {
		t.Errorf("%q, %v", got, err)
	}
	v.eval(`void document.querySelectorAll('iframe').forEach(f => f.srcdoc = '<p>new</p>')`)
	if got, err := drawn(); err != nil || !strings.Contains(got, "hunter2xyz") {
		t.Errorf("with other documents: %q, %v", got, err)
	}
	v.eval(`void setInterval(() => { f.remove(); document.body.append(f); f.srcdoc = '<p>' + Math.random() + '</p>' }, 5)`)
	for range 30 {
		if got, err := drawn(); err != nil || !strings.Contains(got, "hunter2xyz") {
			t.Errorf("while a frame comes and goes: %q, %v", got, err)
		}
	}
}

// A masked value has no character beyond Latin-1 where a page has none: V8 would have the whole answer of a
// walk in two bytes for each, which costs a walk of 1 MB a sixth.
func TestMaskedValuesAreLatin1(t *testing.T) {
	t.Parallel()
	p := openTestPage(t, `<p>Plain</p><input type=password aria-label=Word value=hunter2xyz>`)
	o := walk.NewOptions(snapshot.DefaultOptions())
	raw := p.rawWalk(o)
	if i := strings.IndexFunc(raw, func(r rune) bool { return r > 0xff }); i >= 0 {
		t.Errorf("%q has %q", raw, raw[i:])
	}
	if nodes := p.walk(o).Nodes; !slices.ContainsFunc(nodes, func(n snapshot.Node) bool { return n.Value == "•••" }) {
		t.Errorf("not masked: %+v", nodes)
	}
}

// Which fields are secret, as snapshot/html decides.
func TestSecretFields(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range corpus.Fields {
		t.Run(c.HTML, func(t *testing.T) {
			all := s.open(t, c.HTML).everything()
			if got := !strings.Contains(all, corpus.FieldValue); got != c.Secret {
				t.Errorf("masked: %t, want %t\n%s", got, c.Secret, all)
			}
		})
	}
}
