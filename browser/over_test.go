package browser

import (
	"fmt"
	"testing"

	"github.com/browserd/browserd/snapshot"
)

const overPage = `<!doctype html><html lang=en><title>Over</title>
<style id=sheet>
 .box{width:100%;height:100vh} .over{position:fixed;inset:0;z-index:5}
</style>
<main><h1>Over</h1><button id=first>First</button>
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

// What comes to lie over a page is found, whatever put it there, also where the page
// has been walked before.
func TestWhatComesToLieOverAPage(t *testing.T) {
	p := launchTestPage(t)
	for name, change := range map[string]string{
		"nothing":                           ``,
		"a style that is displayed":         `add('<style class=over style="display:block">p{}</style>')`,
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
			o := snapshot.DefaultOptions()
			o.MaxNodes = 20
			s := newRewalk(p, overPage, o)
			s.walkedBefore()
			s.itself(change)
			for i := range 3 {
				s.same(fmt.Sprintf("the walk %d after", i+1))
			}
		})
	}
}
