package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// clobbers hides every property of a form behind a field of that name, and of the
// document behind a picture (HTML, 4.10.3 and 3.1.6: both are legacy overrides of
// built-ins), in a copy of the form too that comes when the page is there.
const clobbers = `<title>Clobbered</title>
<style>form{height:120px;overflow:auto} form input.x{display:block;width:200px} img{display:none}</style>
<div id=d></div><p hidden id=called>Form</p><form id=f aria-labelledby=called tabindex=0 onclick="" aria-live=polite><label>City<input class=x id=city></label><input class=x type=checkbox id=tick aria-label=Tick>
<select aria-label=Pick><option>One<option>Two</select><input type=file id=up aria-label=File><button type=button onclick="report('go')">Go</button>
<p contenteditable aria-label=Note>Note</p></form><p draggable=true tabindex=0>Drag me</p><script>
const names = (o) => { const all = new Set(); for (; o && o !== Object.prototype; o = Object.getPrototypeOf(o)) for (const n of Object.getOwnPropertyNames(o)) all.add(n); return all; };
const form = document.getElementById('f'), make = document.createElement.bind(document), into = document.getElementById('d'), later = [];
for (const name of names(form)) if (name !== 'constructor') later.push(Object.assign(make('input'), { type: 'hidden' }), name);
const pictures = [];
for (const name of names(document)) if (name !== 'location') { const i = make('img'); i.setAttribute('name', name); pictures.push(i); }
const append = Element.prototype.append;
for (let i = 0; i < later.length; i += 2) { later[i].setAttribute('name', later[i + 1]); append.call(form, later[i]); }
append.call(into, ...pictures);
window.again = () => { const c = Node.prototype.cloneNode.call(form, true); append.call(into, c); };
</script>`

// Whatever a page hides by the names of its fields and pictures, it is seen, read and
// acted on as any other.
func TestAClobberedPage(t *testing.T) {
	t.Parallel()
	v := newStage(t).open(t, clobbers)
	if got := v.eval(`[typeof document.body.localName, document.getElementById.name, HTMLFormElement.prototype === Object.getPrototypeOf(f), f.localName === f.elements].join()`); got == "" {
		t.Fatal("nothing is hidden")
	}
	var lines []string
	for _, n := range v.seen {
		lines = append(lines, n.Role+" "+n.Name)
	}
	equal(t, "what is seen", strings.Join(lines, "|"), "form Form|textbox City|checkbox Tick|combobox Pick|option One|option Two|button File|button Go|textbox Note|paragraph Drag me")
	o := snapshot.DefaultOptions()
	for _, interactive := range []bool{true, false} {
		o.InteractiveOnly = interactive
		for range 4 { // of which the last are those of a page that is as it was
			if _, err := v.c.Capture(limit(t, 10*time.Second), o, v.refs); err != nil {
				t.Fatalf("snapshot, interactive %v: %v", interactive, err)
			}
		}
	}
	ctx := limit(t, 60*time.Second)
	ref := v.ref
	for name, do := range map[string]func() error{
		"click": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Click{Ref: ref("button", "Go")}})
			return err
		},
		"type": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Type{Ref: ref("textbox", "City"), Text: "Oslo"}})
			return err
		},
		"edit": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Type{Ref: ref("textbox", "Note"), Text: "more"}})
			return err
		},
		"check": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Check{Ref: ref("checkbox", "Tick"), Checked: true}})
			return err
		},
		"select": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Select{Ref: ref("combobox", "Pick"), Values: []string{"Two"}}})
			return err
		},
		"press": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Press{Key: "Tab"}})
			return err
		},
		"hover": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Hover{Ref: ref("button", "Go")}})
			return err
		},
		"focus": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Focus{Ref: ref("form", "Form")}})
			return err
		},
		"scroll": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Scroll{Ref: ref("form", "Form")}})
			return err
		},
		"down": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Scroll{Ref: ref("form", "Form"), Direction: "down"}})
			return err
		},
		"page": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Scroll{Direction: "down"}})
			return err
		},
		"drag": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Drag{Ref: ref("button", "Go"), To: ref("textbox", "City")}})
			return err
		},
		"upload": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Upload{Ref: ref("button", "File"), Files: []protocol.File{{Name: "a.txt", Content: []byte("a")}}}})
			return err
		},
		"mouse": func() error {
			_, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Mouse{Action: "click", X: 20, Y: 20}})
			return err
		},
		"text":     func() error { _, err := v.c.Read(ctx, v.refs, ref("form", "Form"), "text", ""); return err },
		"markdown": func() error { _, err := v.c.Read(ctx, v.refs, "", "markdown", ""); return err },
		"html":     func() error { _, err := v.c.Read(ctx, v.refs, ref("form", "Form"), "html", ""); return err },
		"attrs":    func() error { _, err := v.c.Read(ctx, v.refs, ref("form", "Form"), "attrs", ""); return err },
		"value":    func() error { _, err := v.c.Read(ctx, v.refs, ref("textbox", "Note"), "value", ""); return err },
		"find":     func() error { _, err := v.c.Find(ctx, v.refs, protocol.Query{Text: "Go", Limit: 10}); return err },
		"wait":     func() error { _, err := v.c.Wait(ctx, v.refs, protocol.Wait{Text: "Note"}, nil, nil); return err },
		"picture": func() error {
			_, err := v.c.Screenshot(ctx, v.refs, protocol.Screenshot{Annotate: []string{ref("button", "Go")}, Format: "png"})
			return err
		},
		"eval": func() error { _, err := v.c.Eval(ctx, v.refs, ref("form", "Form"), "1"); return err },
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, "log", v.log(), "go")
	equal(t, "state", v.eval(`[city.value, tick.checked, up.files.length].join()`), `"Oslo,true,1"`)
	v.eval(`again()`)
	v.look()
	if _, err := v.c.Act(ctx, v.refs, protocol.Act{Action: protocol.Click{Ref: ref("button", "Go")}}); err != nil {
		t.Error("a click on the copy's:", err)
	}
}

// The text right in a form is seen whatever its fields are called: a page with that alone has loaded.
func TestTheTextOfAClobberedForm(t *testing.T) {
	t.Parallel()
	v := newStage(t)
	began := time.Now()
	v.open(t, `<script></script><form>Thank you<input type=hidden name=checkVisibility><input type=hidden name=getBoundingClientRect></form>`)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("opening took %v", took)
	}
}
