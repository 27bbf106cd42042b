package e2e_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// withoutChromium is a daemon on a machine whose Chromium is not installed.
func withoutChromium(t *testing.T) *testdaemon.Daemon {
	t.Helper()
	return testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__PATH": "/nowhere/chromium"}})
}

// renderedPrints are what an example prints on renderedServer's app, in order.
var renderedPrints = []string{`[link`, `"Items"`, `[textbox`, `"New item"`, `"Oat milk"`, "Oat milk"}

// renderedServer is a small app that a server renders: a home page with a
// search form, a list that a form adds to, and a page for each thing on it. Its
// basket is kept for the cookie that it sets.
func renderedServer(t *testing.T) string {
	var mu sync.Mutex
	items := map[string][]string{} // by cookie
	visitors := 0
	mux := http.NewServeMux()
	show := func(w http.ResponseWriter, title, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><title>%[1]s</title><nav><a href=/>Home</a> <a href=/items>Items</a></nav><main><h1>%[1]s</h1>%[2]s</main>`, title, body)
	}
	visitor := func(w http.ResponseWriter, r *http.Request) string {
		c, err := r.Cookie("visitor")
		if err == nil {
			return c.Value
		}
		visitors++
		id := fmt.Sprint(visitors)
		http.SetCookie(w, &http.Cookie{Name: "visitor", Value: id, Path: "/", MaxAge: 3600})
		return id
	}
	list := func(items []string) string {
		out := "<ul>"
		for i, item := range items {
			out += fmt.Sprintf("<li><a href=/items/%d>%s</a></li>", i, html.EscapeString(item))
		}
		return out + "</ul>"
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := visitor(w, r)
		show(w, "Shop", `<p>Visitor `+id+`</p><form action=/search role=search><label>Query <input type=search name=q required></label><button>Search</button></form>`)
	})
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		q := r.FormValue("q")
		show(w, "Results", "<p>For "+html.EscapeString(q)+"</p>"+list([]string{q + " one", q + " two"}))
	})
	mux.HandleFunc("GET /items", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		show(w, "Items", `<form method=post action=/items><label>New item <input name=item required></label><button>Add</button></form>`+list(items[visitor(w, r)]))
	})
	mux.HandleFunc("POST /items", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := visitor(w, r)
		items[id] = append(items[id], r.FormValue("item"))
		http.Redirect(w, r, "/items", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) { show(w, "Item "+r.PathValue("id"), "<p>A thing.</p>") })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/"
}
