package e2e_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
)

// foldedPage has a list of n items that listen, and controls behind it.
func foldedPage(n int) string {
	var b strings.Builder
	b.WriteString("<!doctype html><title>Items</title><h1>Items</h1><ul id=list>")
	for i := range n {
		fmt.Fprintf(&b, "<li><a href=/%d>Item %d</a> <button onclick='this.nextElementSibling.textContent = \"Bought %d\"'>Buy %d</button><p></p></li>", i, i, i, i)
	}
	return b.String() + `</ul><button onclick="list.children[500].querySelector('p').textContent = 'Changed by the page'">Save</button>
<button onclick="list.children[500].querySelector('a').focus()">Focus</button><button onclick="late.showModal()">Ask</button>
<footer><a href=/imprint>Imprint</a></footer><dialog id=late><button onclick="late.close()">Close</button></dialog>`
}

var foldLine = regexp.MustCompile(`\n *\[more\] 979 like siblings not shown here: "Item 20" to "Item 998"; continue with after=(@e[0-9]+)\n`)

// A frame keeps its place beside a list that is folded: its lines stand below its own, and
// are left out with the item that it is in.
func TestFramesBesideAFold(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	const frame = `<iframe width=300 height=60 title="Frame %s" srcdoc="<button>In %[1]s</button>"></iframe>`
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><title>Items</title>"+frame+"<ul>", "before")
	for i := range 1000 {
		fmt.Fprintf(&b, "<li><button>Buy %d</button>", i)
		if i == 150 {
			fmt.Fprintf(&b, frame, "an item")
		}
	}
	fmt.Fprintf(&b, "</ul>"+frame+"<button>Save</button>", "after")
	w.serve("/items", b.String(), "")
	got := a.do("open", params{"url": w.URL + "/items"}).Snapshot.Text
	_, got, _ = strings.Cut(got, "\n")
	got = regexp.MustCompile(`@e[0-9]+`).ReplaceAllString(got, "@e")
	got = regexp.MustCompile(`(?:@e \[button\] "Buy [0-9]+"\n)+`).ReplaceAllString(got, "Items\n")
	const want = `@e [iframe] "Frame before"
  @e [button] "In before"
Items
[more] 979 like siblings not shown here: "Buy 20" to "Buy 998"; continue with after=@e
Items
@e [iframe] "Frame after"
  @e [button] "In after"
@e [button] "Save"`
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
}

// A list of 1,000 items leaves space for what stands behind it; what happens within the fold is
// told, and what is in it is found and acted on as anything else.
func TestALongListIsFolded(t *testing.T) {
	t.Parallel()
	a, w := newAgent(t, sharedDaemon(t)), newPageServer(t)
	a.exact = true
	w.serve("/items", foldedPage(1000), "")
	first := a.do("open", params{"url": w.URL + "/items"}).Snapshot
	fold := foldLine.FindStringSubmatch(first.Text)
	if fold == nil || fold[1] != first.Stats.After {
		t.Fatalf("after %q, %v: %s", first.Stats.After, fold, first.Text)
	}
	for _, want := range []string{`"Item 0"`, `"Item 19"`, `"Item 999"`, `"Save"`, `"Imprint"`} {
		if strings.Count(first.Text, want) != 1 {
			t.Errorf("%d times %s in %s", strings.Count(first.Text, want), want, first.Text)
		}
	}

	refs := a.refsOf("Buy 500", "Save", "Focus")
	buy, save, focus := refs["Buy 500"], refs["Save"], refs["Focus"]
	if d := a.do("click", params{"ref": buy}).Delta; d == nil || !strings.Contains(d.Text, `* text "Bought 500"`) {
		t.Errorf("a click within the fold: %+v", d)
	}
	if d := a.do("click", params{"ref": save}).Delta; d == nil || !strings.Contains(d.Text, `* text "Changed by the page"`) {
		t.Errorf("a change within the fold: %+v", d)
	}
	a.do("wait", params{"text": "Changed by the page"})
	if d := a.do("click", params{"ref": focus}).Delta; d == nil || !strings.Contains(d.Text, `[link href="/500" focused] "Item 500"`) {
		t.Errorf("what the page gave the focus to within the fold: %+v", d)
	}

	for _, p := range []params{{"after": fold[1]}, {"scope": "#list"}} {
		s := a.do("snapshot", p).Snapshot
		if strings.Contains(s.Text, "like siblings") || !strings.Contains(s.Text, `"Item 20"`) || !strings.Contains(s.Text, `"Item 50"`) {
			t.Errorf("with %v: %s", p, s.Text)
		}
	}
	if s := a.do("snapshot", params{"max_nodes": 5000, "max_chars": 400000}).Snapshot; strings.Contains(s.Text, "[more]") || !strings.Contains(s.Text, `"Item 998"`) {
		t.Errorf("with enough space: %d characters", len(s.Text))
	}
}

// changingRun is changingPage with lists that are folded and change within the fold too.
const changingRun = `<!doctype html><title>Changing</title><button id=go>Go on</button><p id=toast></p>
<h2>Todo</h2><ul id=todo></ul><h2>Done</h2><ul id=done></ul><p id=count></p>
<button>Save</button><footer><a href=/imprint>Imprint</a></footer>
<script>
let seed = SEED, n = 0;
const chance = k => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % k };
const rows = l => [...l.children];
const any = l => rows(l)[chance(l.children.length)];
function row() {
  const li = document.createElement('li');
  li.innerHTML = '<a href=/' + n + '>Item ' + n++ + '</a><button>Edit</button><span></span>';
  return li;
}
const acts = [
  () => todo.insertBefore(row(), any(todo) || null),
  () => { for (let i = chance(80); i >= 0; i--) todo.append(row()) },
  () => { for (let i = chance(30); i >= 0; i--) any(todo)?.remove() },
  () => { for (let i = chance(40); i >= 0; i--) { const li = any(todo); li && done.insertBefore(li, any(done) || null) } },
  () => { const li = any(done); li && todo.prepend(li) },
  () => todo.append(...rows(todo).reverse()),
  () => { const li = any(todo); if (li) li.querySelector('span').textContent = chance(2) ? 'sold out' : 'in stock' },
  () => { done.hidden = !done.hidden },
  () => { for (const li of rows(todo)) li.hidden = chance(3) === 0 },
  () => { toast.innerHTML = toast.firstChild ? '' : '<button>Undo</button> Done' },
  () => { const b = any(todo)?.querySelector('a'); b && b.focus() },
  () => todo.firstElementChild?.replaceChildren(),
  () => todo.lastElementChild?.replaceChildren('Nothing'),
];
for (let i = 0; i < 150; i++) acts[0]();
onkeydown = e => { if (e.key === 'F2') { acts[chance(acts.length)](); count.textContent = rows(todo).length + ' left' } };
</script>`

// A client that applies every delta has the page, with its folds, as a fresh snapshot shows it.
func TestAppliedDeltasMatchAFoldedPage(t *testing.T) {
	t.Parallel()
	d, w := testdaemon.Start(t, testdaemon.Options{}), newPageServer(t)
	folds := 0
	for seed := 1; seed <= 2; seed++ {
		w.serve(fmt.Sprint("/run", seed), strings.Replace(changingRun, "SEED", fmt.Sprint(seed), 1), "")
		for name, fresh := range map[string]params{"default": {}, "whole": {"interactive_only": false}, "4000": {"max_chars": 4000}, "60 nodes": {"max_nodes": 60}} {
			t.Run(fmt.Sprint(seed, " ", name), func(t *testing.T) {
				a := newAgent(t, d)
				a.do("open", params{"url": w.URL + fmt.Sprint("/run", seed), "snapshot": "none"})
				a.do("snapshot", fresh)
				deltas := 0
				for range 25 {
					r := a.do("press", params{"key": "F2"})
					if r.Delta != nil {
						deltas++
					}
					held := a.held.Text()
					if strings.Contains(held, " like siblings not shown here") {
						folds++
					}
					a.do("snapshot", fresh)
					if a.held.Text() != held {
						t.Fatalf("the page is\n%s\nand the client holds\n%s\nafter\n%+v", a.held.Text(), held, r.Delta)
					}
				}
				if deltas < 10 {
					t.Errorf("only %d deltas", deltas)
				}
			})
		}
	}
	if folds < 100 {
		t.Errorf("only %d folded texts", folds)
	}
}
