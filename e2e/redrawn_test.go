package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// editor is a page that makes all but its heading anew with each click, as a slide editor
// does: 61 controls, one of which shows what was chosen last.
const editor = `<h1>Slides</h1><div id=app></div><script>
let chosen = 'none';
function draw() {
  let html = '<button id=shown>Chosen: ' + chosen + '</button><ul>';
  for (let i = 1; i <= 60; i++) html += '<li><a href="#' + i + '">Slide ' + i + '</a></li>';
  app.innerHTML = html + '</ul>';
}
app.onclick = e => { e.preventDefault(); if (e.target.tagName === 'A') { chosen = e.target.textContent; report(chosen); draw() } };
draw();
</script>`

// What is re-created and is the only one of its kind keeps its ref, and a delta does not
// speak of it. Each page has the function act; the delta of the snapshot after it is compared.
func TestARedrawnElementKeepsItsRef(t *testing.T) {
	t.Parallel()
	d, w := sharedDaemon(t), newPageServer(t)
	for i, c := range []struct{ name, page, act, want string }{
		{"innerHTML = innerHTML", `<main id=m><h1>Cart</h1><button>Buy</button><input aria-label=Code></main>`, `m.innerHTML = m.innerHTML`, ``},
		{"all but one", `<main id=m><button>Buy</button><button>Pay</button></main>`, `m.innerHTML = '<button>Buy</button><button>Later</button>'`,
			"  @e1 [main]\n    @e2 [button] \"Buy\"\n+   @e4 [button] \"Later\"\n-   @e3 [button] \"Pay\""},
		{"another state", `<main id=m><button>Buy</button></main>`, `m.innerHTML = '<button disabled>Buy</button>'`, `~   @e2 [button disabled] "Buy"`},
		{"a container made anew with what is in it", `<div id=m><nav aria-label=Top><a href=/a>A</a></nav></div>`, `m.innerHTML = m.innerHTML`, ``},
		{"rows, by what stands in them", `<ul id=m><li>Ann <button>Edit</button></li><li>Bob <button>Edit</button></li></ul>`,
			`m.innerHTML = '<li>Bob <button>Edit</button></li><li>Cy <button>Edit</button></li>'`,
			"  @e2 [button] \"Edit\"\n+ text \"Cy\"\n+ @e3 [button] \"Edit\"\n- text \"Ann\"\n- @e1 [button] \"Edit\""},
		{"rows in another order", `<ul id=m><li>Ann <button>Edit</button></li><li>Bob <button>Edit</button></li></ul>`,
			`m.innerHTML = '<li>Bob <button>Edit</button></li><li>Ann <button>Edit</button></li>'`,
			"+ text \"Bob\"\n> @e2 [button] \"Edit\"\n- text \"Bob\""},

		// Not by any other rule than that of a ref that moves.
		{"two alike", `<div id=m><button>Tea</button><button>Tea</button></div>`, `m.innerHTML = m.innerHTML`, "2 new"},
		{"two alike, one of them stays", `<button>Tea</button><div id=m><button>Tea</button></div>`, `m.innerHTML = m.innerHTML`, "1 new"},
		{"one of two alike was removed", `<div id=m><button>Tea</button><button>Tea</button></div>`, `m.innerHTML = '<button>Tea</button>'`, "1 new"},
		{"another of its kind came", `<div id=m><button>Tea</button></div>`, `m.innerHTML = '<button>Tea</button><button>Tea</button>'`, "2 new"},
		{"it was there, out of sight", `<div id=m><button>Tea</button></div><div id=n hidden><button>Tea</button></div>`, `m.remove(); n.hidden = false`, ``},
		{"in another group", `<div id=m><div role=group aria-label=Old><button>Delete</button></div></div>`, `m.innerHTML = '<div role=group aria-label=New><button>Delete</button></div>'`, "2 new"},
		{"in another dialog", `<div id=m><div role=dialog aria-label=Old><button>OK</button></div></div>`, `m.innerHTML = '<div role=dialog aria-label=New><button>OK</button></div>'`, "2 new"},
		{"in a dialog without a name", `<div id=m><div role=dialog><button>OK</button></div></div>`, `m.innerHTML = '<div role=dialog><button>OK</button></div>'`, "2 new"},
		{"nothing to know it by", `<div id=m><input></div>`, `m.innerHTML = m.innerHTML`, "1 new"},
		{"another element", `<div id=m><button>Go</button></div>`, `m.innerHTML = '<div role=button tabindex=0>Go</div>'`, "1 new"},
		{"another stable attribute", `<div id=m><button name=a>Go</button></div>`, `m.innerHTML = '<button name=b>Go</button>'`, "1 new"},
		{"a virtual list scrolls on", `<ul id=m><li>Row A <button>Delete</button></li></ul>`, `m.innerHTML = '<li>Row B <button>Delete</button></li>'`, "1 new"},
		{"moved out, and one like it made", `<div id=m><button>Go</button></div>`, `const b = m.firstChild; m.innerHTML = '<button>Go</button>'; window.b = b`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := fmt.Sprint("/redrawn", i)
			w.serve(path, page(path, c.page), "")
			a := newAgent(t, d)
			a.open(w.URL + path)
			before := a.do("snapshot", params{"format": "json"}).Snapshot.Nodes
			a.do("eval", params{"expression": c.act})
			after := a.do("snapshot", params{"delta": true})
			if after.Snapshot != nil {
				t.Logf("a snapshot:\n%s", after.Snapshot.Text)
			} else if n := strings.Index(c.want, " new"); n < 0 {
				if diff := cmp.Diff(after.Delta.Text, c.want); diff != "" {
					t.Errorf("got before want\n%s", diff)
				}
			}
			held, had := a.held.Text(), map[string]bool{}
			for _, n := range before {
				had[n.Ref] = true
			}
			fresh, news := a.do("snapshot", params{"format": "json"}).Snapshot, 0
			for _, n := range fresh.Nodes {
				if !had[n.Ref] {
					news++
				}
			}
			if a.held.Text() != held {
				t.Errorf("the page is\n%s\nand the client holds\n%s", a.held.Text(), held)
			}
			if strings.HasSuffix(c.want, " new") && fmt.Sprint(news, " new") != c.want {
				t.Errorf("%d new refs, want %s:\n%s", news, c.want, fresh.Text)
			}
			if after.Snapshot != nil && !strings.Contains(c.want, " new") {
				t.Error("no delta")
			}
		})
	}
}

// A click in a page that redraws itself costs what has changed, and every ref that was
// kept acts on the element with its name.
func TestAPageThatRedrawsItself(t *testing.T) {
	t.Parallel()
	d, w := sharedDaemon(t), newPageServer(t)
	w.serve("/editor", page("editor", editor), "")
	a := newAgent(t, d)
	a.exact = true
	a.open(w.URL + "/editor")
	refs := map[string]string{}
	first := a.do("snapshot", params{"format": "json"}).Snapshot
	for _, n := range first.Nodes {
		refs[n.Name] = n.Ref
	}
	for _, slide := range []int{7, 60, 7, 1} {
		name := fmt.Sprint("Slide ", slide)
		r := a.do("click", params{"ref": refs[name]})
		if r.Delta == nil || strings.Count(r.Delta.Text, "\n") > 4 || !strings.Contains(r.Delta.Text, `"Chosen: `+name+`"`) {
			t.Errorf("a click on %s answered %+v", name, r)
		}
		if r.Delta != nil {
			t.Logf("%d bytes for a page of %d:\n%s", len(r.Delta.Text), len(first.Text), r.Delta.Text)
		}
		if r.Effect.Hit != refs[name] {
			t.Errorf("%s of %s was hit", r.Effect.Hit, name)
		}
	}
}
