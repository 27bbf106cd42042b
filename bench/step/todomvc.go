package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// todoApps are the apps of TodoMVC that are played, each a way to render of its own.
var todoApps = []string{"backbone", "knockoutjs", "mithril", "react"}

const todoPrefix = "todomvc-"

// todoGame is what is asked of one episode.
type todoGame struct {
	first, second, third, renamed string
}

func newTodoGame(seed int) todoGame {
	dice := rand.New(rand.NewPCG(uint64(seed), 0))
	verbs, things := []string{"Buy", "Wash", "Paint", "Sell", "Fix", "Draw"}, []string{"milk", "the car", "a chair", "two boats", "the roof", "my bike"}
	dice.Shuffle(len(verbs), func(i, j int) { verbs[i], verbs[j] = verbs[j], verbs[i] })
	word := func(i int) string { return verbs[i] + " " + things[dice.IntN(len(things))] }
	return todoGame{word(0), word(1), word(2), word(3)}
}

func (g todoGame) words() string {
	return fmt.Sprintf("Add %q, %q and %q. Mark %q as done. Rename %q to %q by a double click. Show only the active ones.",
		g.first, g.second, g.third, g.second, g.first, g.renamed)
}

// todoHead empties what an earlier episode has stored, before the app reads it.
const todoHead = `<script>localStorage.clear()</script>`

// todoHook tells the words of an episode, and its end: the app shows what is wanted.
const todoHook = `<script>
(() => {
  const q = new URLSearchParams(location.search), wanted = %s;
  const tell = (what) => {
    const x = new XMLHttpRequest();
    x.open('POST', '/harness?episode=' + q.get('episode'), false);
    x.send(JSON.stringify(what));
  };
  let over = false;
  const look = () => {
    const shown = [...document.querySelectorAll('#todo-list li, .todo-list li')].filter((li) => li.checkVisibility() && !li.classList.contains('editing'));
    if (over || !location.hash.endsWith('active') || JSON.stringify(shown.map((li) => li.querySelector('label').textContent.trim())) !== JSON.stringify(wanted)) return;
    over = true;
    tell({done: true, reward: 1});
  };
  addEventListener('load', () => {
    const start = () => {
      if (!document.querySelector('#new-todo, .new-todo')) { setTimeout(start, 5); return; }
      tell({words: %s});
    };
    start();
    new MutationObserver(look).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
    addEventListener('hashchange', look);
  });
})();
</script>`

// todoPage serves an app, with the hook in its page.
func (s *site) todoPage(w http.ResponseWriter, r *http.Request) {
	path := filepath.Join(s.todo, filepath.FromSlash(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(r.URL.Path)), "/todomvc/")))
	if filepath.Base(path) != "index.html" {
		http.ServeFile(w, r, path)
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	var seed int
	fmt.Sscan(r.URL.Query().Get("seed"), &seed)
	g := newTodoGame(seed)
	wanted, _ := json.Marshal([]string{g.renamed, g.third})
	words, _ := json.Marshal(g.words())
	b = bytes.Replace(b, []byte("<head>"), []byte("<head>"+todoHead), 1)
	b = bytes.Replace(b, []byte("</body>"), fmt.Appendf(nil, todoHook+"</body>", wanted, words), 1)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b)
}

// playTodo adds, marks, renames and filters.
func playTodo(p *play) {
	q := p.quoted()
	if len(q) != 6 {
		p.fail("does not understand %q", p.ask)
		return
	}
	p.snapshot()
	for _, todo := range q[:3] {
		p.write(p.newTodo(), todo)
		p.press("Enter")
		p.snapshot()
	}
	p.click(p.boxOf(q[1]))
	p.snapshot()
	label := p.find(q[0])
	p.do("double click", func() error { return p.tool.DoubleClick(p.ctx, label.Ref) })
	p.snapshot()
	p.write(p.editor(q[0]), q[5])
	p.press("Enter")
	p.snapshot()
	p.finish(func() Node { return p.named("Active") })
}

// newTodo is the field for a new todo: the first there is, also where it has no name.
func (p *play) newTodo() Node { return p.nth(1, "textbox", "searchbox") }

// editor is the field in which a todo is renamed.
func (p *play) editor(todo string) Node {
	for _, n := range p.of("textbox") {
		if n.Value == todo || n.Has("focused") || n.Has("active") {
			return n
		}
	}
	return p.nth(2, "textbox")
}

// boxOf is the checkbox that stands last before a todo's words, or bears them.
func (p *play) boxOf(todo string) Node {
	var last, box Node
	for _, n := range p.nodes {
		if n.Role == "checkbox" {
			last = n
		}
		if fold(n.Name) == todo { // an item may bear its words as well: the label comes behind
			box = last
		}
	}
	if !box.Is() && p.ok() {
		p.fail("no checkbox before %q", todo)
	}
	return box
}
