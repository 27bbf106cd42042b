package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/snapshot"
)

const levelPage = `<!doctype html><html lang=en><title>Level</title>
<style id=sheet>
 .box{width:100%;height:100vh} .over{position:fixed;inset:0;z-index:5}
</style>
<main><h1>Level</h1><button id=first>First</button>
 <div id=box class=box><p>Words</p><button>In the box</button></div>
 <dialog id=dialog><p>Dialog</p><button>In the dialog</button></dialog>
 <div id=popover popover class=box>Popover <button>In the popover</button></div>
 <section id=host></section> <section id=titled></section>
 <label>Size <select id=select><option>Small<option>Large</select></label>
</main>
<script>
const $ = (id) => document.getElementById(id), rule = (text) => $('sheet').sheet.insertRule(text, 0);
const add = (html) => document.body.insertAdjacentHTML('beforeend', html);
</script>`

// A page over which nothing lay is not looked at for what may lie over it; what comes to
// lie there is found all the same, whatever put it there.
func TestWhatComesToLieOverALevelPage(t *testing.T) {
	p := launchTestPage(t)
	for name, change := range map[string]string{
		"nothing":                           ``,
		"a rule":                            `rule('#box{position:fixed;inset:0}')`,
		"a rule for what is absolute":       `rule('#box{position:absolute;inset:0;z-index:1}')`,
		"a class":                           `$('box').classList.add('over')`,
		"an element":                        `add('<div class=over>Over <button>Accept</button></div>')`,
		"a modal dialog":                    `$('dialog').showModal()`,
		"a modal dialog in the flow":        `rule('dialog{position:static!important}'); $('dialog').showModal()`,
		"a popover":                         `rule('#popover{inset:0;margin:0;padding:0;border:0}'); $('popover').showPopover()`,
		"what says that it is modal":        `$('box').setAttribute('role', 'dialog'); $('box').setAttribute('aria-modal', 'true'); $('box').scrollIntoView()`,
		"in a shadow root":                  `$('host').attachShadow({mode: 'open'}).innerHTML = '<div style="position:fixed;inset:0">Over <button>Accept</button></div>'`,
		"in a closed shadow root":           `$('host').attachShadow({mode: 'closed'}).innerHTML = '<div style="position:fixed;inset:0">Over <button>Accept</button></div>'`,
		"in what is transparent":            `add('<div style="opacity:0;pointer-events:none"><div class=over style="pointer-events:auto">Over <button>Accept</button></div></div>')`,
		"a modal dialog in what is inert":   `const m = document.querySelector('main'); m.inert = true; $('dialog').showModal()`,
		"in a slot that is a heading":       `$('titled').attachShadow({mode: 'open'}).innerHTML = '<slot role=heading aria-level=2></slot>'; $('titled').innerHTML = 'Title <dialog>In the title <button>Close</button></dialog>'; $('titled').lastElementChild.showModal()`,
		"in a closed details that is shown": `rule('details::details-content{content-visibility:visible}'); add('<details><summary>More</summary><div class=over>Over <button>Accept</button></div></details>')`,
		"in the picker of a select":         `rule('select,::picker(select){appearance:base-select}'); rule('::picker(select){position:fixed;inset:0;width:100vw;height:100vh}'); $('select').insertAdjacentHTML('afterbegin', '<div class=over>Over</div>'); $('select').showPicker()`,
		"in a picture":                      `add('<div role=img aria-label=Picture><div class=over>Over <button>Accept</button></div></div>')`,
		"behind the budget":                 `add('<button>More</button>'.repeat(40) + '<div class=over>Over <button>Accept</button></div>')`,
	} {
		t.Run(name, func(t *testing.T) {
			p.t = t
			p.load(levelPage)
			d, err := p.frame.document()
			if err != nil {
				t.Fatal(err)
			}
			o := newWalkOptions(snapshot.DefaultOptions())
			o.MaxNodes = 20
			text, _ := json.Marshal(o)
			look := func(when string) {
				t.Helper()
				got, err := d.walk(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				p.world = p.newWorld(when) // which has never walked
				want, err := decodeWhole(d.doc, p.ask("__bd.now().news(), __bd.walk("+string(text)+")"))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(unnumbered(got), unnumbered(want)); diff != "" {
					t.Fatalf("%s: as it was found - as it is +\n%s", when, diff)
				}
			}
			look("before")
			look("before, taken for level")
			p.run(change)
			for i := range 3 {
				look(fmt.Sprintf("the walk %d after", i+1))
			}
		})
	}
}

// What lies over a page and has no place among what a walk looks at is not found where the
// page was level before: nothing has looked for it.
func TestALevelPageIsNotHit(t *testing.T) {
	p := launchTestPage(t)
	p.load(levelPage)
	d, err := p.frame.document()
	if err != nil {
		t.Fatal(err)
	}
	covered := func(walk func() (walked, error)) bool {
		t.Helper()
		got, err := walk()
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(got.Nodes, func(n snapshot.Node) bool { return n.Name == "First" && slices.Contains(n.States, "covered") })
	}
	o := newWalkOptions(snapshot.DefaultOptions())
	look := func() (walked, error) { return d.walk(t.Context(), o) }
	if covered(look) {
		t.Error("covered before anything is there")
	}
	p.run(`add('<style class=over style="display:block">p{}</style>')`)
	if covered(look) {
		t.Error("it was looked for")
	}
	p.world = p.newWorld("other")
	text, _ := json.Marshal(o)
	if !covered(func() (walked, error) {
		return decodeWhole(d.doc, p.ask("__bd.now().news(), __bd.walk("+string(text)+")"))
	}) {
		t.Error("it lies over nothing")
	}
}
