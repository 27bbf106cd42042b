package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// todoApps are the apps of tastejs/todomvc that are played, wherever they run
// without a build: in the npm package the sources themselves, in a checkout the
// dist folders that it holds.
var todoApps = []string{
	"angularjs", "backbone", "canjs", "dojo", "javascript-es5", "javascript-es6", "jquery",
	"knockoutjs", "lit", "mithril", "preact", "react", "vanillajs", "vue",
}

// todoEntries are where an app's index.html may lie, the built one first.
var todoEntries = []string{"dist", "dist/browser", "."}

// needsBuild are apps whose folder in the npm package lacks what they load.
var needsBuild = map[string]bool{"jquery": true}

// todoDir is a checkout of tastejs/todomvc in TODOMVC_DIR, or its npm package.
func todoDir(t *testing.T) (dir string, isPackage bool) {
	if dir := os.Getenv("TODOMVC_DIR"); dir != "" {
		return dir, false
	}
	return npmPackage(t, "todomvc@0.1.1"), true
}

// An agent plays TodoMVC by refs alone: add, toggle, edit by double click,
// filter, mark all, clear.
func TestTodoMVC(t *testing.T) {
	t.Parallel()
	dir, isPackage := todoDir(t)
	w := newPageServer(t)
	w.mux.Handle("GET /examples/", http.FileServer(http.Dir(dir)))
	var apps []string
	for _, app := range todoApps {
		for _, entry := range todoEntries {
			at := path.Join("examples", app, entry)
			if exists(filepath.Join(dir, at, "index.html")) && !(isPackage && needsBuild[app]) {
				apps = append(apps, at)
				break
			}
		}
	}
	if len(apps) < 4 {
		t.Fatalf("only %v of the apps %v are in %s", apps, todoApps, dir)
	}
	d := sharedDaemon(t)
	for _, app := range apps {
		t.Run(strings.Split(app, "/")[1], func(t *testing.T) {
			g := todoGame{newAgent(t, d)}
			g.exact = true
			g.open(w.URL + "/" + app + "/")
			g.play()
			g.do("session_close", nil)
		})
	}
}

// todoGame is one app being played.
type todoGame struct{ *agent }

func (g todoGame) play() {
	g.t.Helper()
	for _, todo := range []string{"Buy milk", "Walk dog", "Write code"} {
		field := g.find("the field for a new todo", func(v view) string { return v.input("", newTodo) })
		g.do("type", params{"ref": field, "text": todo, "clear": true})
		g.do("press", params{"key": "Enter", "ref": field})
		g.shows("a todo is added", todo)
	}
	g.left(3)

	g.toggle("Buy milk")
	g.left(2)

	label := g.find("the label to edit", func(v view) string { return v.row("Walk dog").label })
	g.do("click", click(label, params{"count": 2}))
	edit := g.find("the edit field", func(v view) string { return v.input("Walk dog", nil) })
	g.do("type", params{"ref": edit, "text": "Walk cat", "clear": true}) // its delta shows what the row says now
	g.do("press", params{"key": "Enter", "ref": edit})
	g.shows("a todo is edited", "Walk cat")
	g.hides("a todo is edited", "Walk dog")

	g.click("link", "Active")
	g.hides("active", "Buy milk")
	g.shows("active", "Walk cat")
	g.click("link", "Completed")
	g.shows("completed", "Buy milk")
	g.hides("completed", "Walk cat")
	g.click("link", "All")
	g.shows("all", "Buy milk", "Walk cat", "Write code")

	all := g.find("the box that marks all", view.markAll)
	g.do("click", click(all, nil))
	g.left(0)

	clear := g.find("the button that clears", func(v view) string { return v.named("button", clearCompleted) })
	g.do("click", click(clear, nil))
	g.hides("cleared", "Buy milk", "Walk cat", "Write code")
}

var (
	newTodo        = regexp.MustCompile(`(?i)what needs to be done|new todo`)
	clearCompleted = regexp.MustCompile(`(?i)clear completed`)
)

// within is how long an app may take to show what was done.
const within = 3 * time.Second

// find takes snapshots until pick finds a ref.
func (g todoGame) find(what string, pick func(view) string) string {
	g.t.Helper()
	var v view
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		v = g.snapshot()
		if ref := pick(v); ref != "" {
			return ref
		}
	}
	g.t.Fatalf("%s is not in the snapshot:\n%s", what, v.Text)
	return ""
}

func (g todoGame) click(role, name string) {
	g.t.Helper()
	ref := g.find(role+" "+name, func(v view) string {
		if refs := v.all(role, name); len(refs) > 0 {
			return refs[0]
		}
		return ""
	})
	g.do("click", click(ref, nil))
}

func (g todoGame) toggle(todo string) {
	g.t.Helper()
	box := g.find("the checkbox of "+todo, func(v view) string { return v.row(todo).box })
	g.do("click", click(box, nil))
}

// left holds the app to counting n todos that are not done.
func (g todoGame) left(n int) {
	g.t.Helper()
	want := regexp.MustCompile(fmt.Sprintf(`(?i)\b%d( items?)+ left`, n))
	g.eventually(fmt.Sprintf("%d left", n), func(v view) bool { return want.MatchString(v.prose()) })
}

func (g todoGame) shows(when string, todos ...string) {
	g.t.Helper()
	for _, todo := range todos {
		g.eventually(when+": "+todo+" is shown", func(v view) bool { return strings.Contains(v.prose(), todo) })
	}
}

func (g todoGame) hides(when string, todos ...string) {
	g.t.Helper()
	for _, todo := range todos {
		g.eventually(when+": "+todo+" is not shown", func(v view) bool { return !strings.Contains(v.prose(), todo) })
	}
}

func (g todoGame) eventually(what string, holds func(view) bool) {
	g.t.Helper()
	var v view
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		if v = g.snapshot(); holds(v) {
			return
		}
	}
	g.t.Fatalf("not so: %s; in:\n%s\nconsole: %+v\nrequests: %+v", what, v.Text,
		ask[consoleAnswer](g.agent, "console", nil).Entries, ask[networkAnswer](g.agent, "network", nil).Entries)
}

// prose is all that the snapshot says, names and texts, in one line.
func (v view) prose() string {
	var words []string
	for _, n := range v.Nodes {
		words = append(words, n.Name)
	}
	return fold(strings.Join(words, " "))
}

func (v view) named(role string, name *regexp.Regexp) string {
	for _, n := range v.Nodes {
		if n.Ref != "" && n.Role == role && name.MatchString(n.Name) {
			return n.Ref
		}
	}
	return ""
}

// input is the text field that holds the value, or whose name or placeholder
// fits where a pattern is given.
func (v view) input(value string, name *regexp.Regexp) string {
	for _, n := range v.Nodes {
		if n.Ref == "" || n.Role != "textbox" && n.Role != "searchbox" && n.Role != "combobox" {
			continue
		}
		if name != nil && (name.MatchString(n.Name) || name.MatchString(n.Attrs["placeholder"])) || name == nil && n.Value == value {
			return n.Ref
		}
	}
	return ""
}

// todoRow is where a todo can be acted on.
type todoRow struct{ box, label string }

// row finds a todo's list item, and in it the checkbox and what carries its
// name: the node itself, or the item where the name is plain text.
func (v view) row(todo string) todoRow {
	for i, n := range v.Nodes {
		if n.Role != "listitem" {
			continue
		}
		r := todoRow{label: n.Ref}
		end := i + 1
		for end < len(v.Nodes) && v.Nodes[end].Depth > n.Depth {
			end++
		}
		inside := v.Nodes[i+1 : end]
		found := strings.Contains(n.Name, todo)
		for _, in := range inside {
			if in.Role == "checkbox" && r.box == "" {
				r.box = in.Ref
				found = found || fold(in.Name) == todo
				continue
			}
			if fold(in.Name) == todo {
				found = true
				if in.Ref != "" {
					r.label = in.Ref
				}
			}
		}
		if found {
			return r
		}
	}
	return todoRow{}
}

var markAllName = regexp.MustCompile(`(?i)mark all as complete`)

// markAll is what carries the words and can be seen, as a person would choose:
// the box, or its label where the app hides the box. Where nothing carries
// them, it is the checkbox that stands in no list item.
func (v view) markAll() string {
	inItem, box := -1, ""
	for _, n := range v.Nodes {
		if n.Ref == "" {
			continue
		}
		if markAllName.MatchString(n.Name) && !slices.Contains(n.States, "invisible") {
			return n.Ref
		}
		if inItem >= 0 && n.Depth <= inItem {
			inItem = -1
		}
		if inItem < 0 && n.Role == "listitem" {
			inItem = n.Depth
		}
		if inItem < 0 && n.Role == "checkbox" && box == "" {
			box = n.Ref
		}
	}
	return box
}
