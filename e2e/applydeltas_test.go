package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpages"
)

// changingPage is a page whose button changes a list by chance, from a fixed seed: rows are
// added, removed, moved to another list, sorted, renamed, re-created, hidden and covered.
const changingPage = `<!doctype html><title>Changing</title><button id=go>Go on</button>
<h2>Todo</h2><ul id=todo></ul><h2>Done</h2><ul id=done></ul><p id=count></p>
<dialog id=d><p>Sure?</p><button onclick="d.close()">Close</button></dialog>
<script>
let seed = SEED, n = 0;
const chance = k => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % k };
const rows = l => [...l.children];
const any = l => rows(l)[chance(l.children.length)];
function row() {
  const li = document.createElement('li');
  li.innerHTML = '<label><input type=checkbox> Item ' + n++ + '</label><span>in stock</span><button>Edit</button><button>Delete</button>';
  return li;
}
const acts = [
  () => todo.insertBefore(row(), any(todo) || null),
  () => todo.append(row(), row()),
  () => any(todo)?.remove(),
  () => { const li = any(todo); li && done.insertBefore(li, any(done) || null) },
  () => { const li = any(done); li && todo.prepend(li) },
  () => todo.append(...rows(todo).sort(() => chance(3) - 1)),
  () => { const li = any(todo); if (li) li.querySelector('span').textContent = chance(2) ? 'sold out' : 'in stock' },
  () => { todo.innerHTML = todo.innerHTML },
  () => { done.hidden = !done.hidden },
  () => { for (const b of todo.querySelectorAll('button')) b.disabled = !b.disabled },
  () => { d.open ? d.close() : d.showModal() },
];
for (let i = 0; i < 8; i++) acts[1]();
onkeydown = e => { if (e.key === 'F2') { acts[chance(acts.length)](); count.textContent = rows(todo).length + ' left' } };
</script>`

// A client that applies every delta has the page as Chromium shows it, whatever its script does.
func TestAppliedDeltasMatchAChangingPage(t *testing.T) {
	t.Parallel()
	d, w := testdaemon.Start(t, testdaemon.Options{}), newPageServer(t)
	for seed := 1; seed <= 3; seed++ {
		w.serve(fmt.Sprint("/changing", seed), strings.Replace(changingPage, "SEED", fmt.Sprint(seed), 1), "")
		for _, maxNodes := range []int{200, 30} {
			t.Run(fmt.Sprint(seed, maxNodes), func(t *testing.T) {
				a := newAgent(t, d)
				a.do("open", params{"url": w.URL + fmt.Sprint("/changing", seed), "snapshot": "none"})
				fresh := params{"max_nodes": maxNodes}
				a.do("snapshot", fresh)
				deltas, bytes, whole := 0, 0, 0
				for range 40 {
					r := a.do("press", params{"key": "F2"})
					held := a.held.Text()
					if r.Delta != nil {
						deltas++
						bytes += len(r.Delta.Text)
					} else {
						bytes += len(r.Snapshot.Text)
					}
					whole += len(a.do("snapshot", fresh).Snapshot.Text)
					if a.held.Text() != held {
						t.Fatalf("the page is\n%s\nand the client holds\n%s\nafter\n%+v", a.held.Text(), held, r.Delta)
					}
				}
				t.Logf("%d deltas and %d snapshots, %d bytes for %d", deltas, 40-deltas, bytes, whole)
				if deltas < 20 {
					t.Errorf("only %d deltas", deltas)
				}
			})
		}
	}
}

// The same with the generated pages, each control of which is used.
func TestAppliedDeltasMatchTheGeneratedPages(t *testing.T) {
	t.Parallel()
	d, w := testdaemon.Start(t, testdaemon.Options{}), newPageServer(t)
	for _, elements := range []int{30, 300, 1500} {
		w.serve(fmt.Sprint("/page", elements), testpages.Page(elements), "")
		a := newAgent(t, d)
		a.exact = true
		a.do("open", params{"url": w.URL + fmt.Sprint("/page", elements)})
		used := 0
		for _, n := range a.do("snapshot", params{"format": "json"}).Snapshot.Nodes {
			switch n.Role {
			case "button":
				a.try("click", params{"ref": n.Ref})
			case "textbox", "searchbox":
				a.do("type", params{"ref": n.Ref, "text": "words"})
			case "checkbox":
				a.do("click", params{"ref": n.Ref})
			default:
				continue
			}
			if used++; used == 12 {
				break
			}
		}
		if used < 2 {
			t.Errorf("only %d controls on the page of %d elements", used, elements)
		}
	}
}
