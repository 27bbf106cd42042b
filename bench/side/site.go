package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/browserd/browserd/bench/driver"
	"github.com/browserd/browserd/internal/testpages"
)

// docEntries make the documentation page some 7,500 elements.
const docEntries = 200

// site serves the pages, on loopback.
type site struct {
	*httptest.Server
	todo bool // TodoMVC is here
}

func newSite(peers string) *site {
	mux := http.NewServeMux()
	page := func(text func(r *http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, text(r))
		}
	}
	var made sync.Map // the generator's pages: their making is not what is timed
	mux.HandleFunc("GET /shop/{n}", page(func(r *http.Request) string {
		n, _ := strconv.Atoi(r.PathValue("n"))
		text, ok := made.Load(n)
		if !ok {
			text, _ = made.LoadOrStore(n, testpages.Page(max(n, 30)))
		}
		return text.(string)
	}))
	still := testpages.Page(30) + "<button onclick=';'>Still</button>"
	mux.HandleFunc("GET /still", page(func(*http.Request) string { return still }))
	doc := testpages.DocPage(docEntries)
	mux.HandleFunc("GET /doc", page(func(*http.Request) string { return doc }))
	mux.HandleFunc("GET /cards", page(func(*http.Request) string { return cards }))
	mux.HandleFunc("GET /spa/", page(func(*http.Request) string { return testpages.SPA }))
	mux.HandleFunc("GET /spa/frame", page(func(*http.Request) string { return testpages.SPAFrame }))
	s := &site{}
	if dir := driver.TodoMVC(peers); dir != "" {
		s.todo = true
		mux.Handle("GET /todo/", http.StripPrefix("/todo/", http.FileServer(http.Dir(filepath.Join(dir, "react")))))
	}
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s.Server = httptest.NewServer(mux)
	return s
}

func (s *site) close() { s.Close() }

// shop is the address of the page of so many elements.
func (s *site) shop(elements int) string { return s.URL + "/shop/" + strconv.Itoa(elements) }

// others are the addresses of the pages that are no generator's size.
func (s *site) others() (names []string, urls map[string]string) {
	names = []string{"documentation", "app with shadow roots"}
	urls = map[string]string{"documentation": s.URL + "/doc", "app with shadow roots": s.URL + "/spa/"}
	if s.todo {
		names = append(names, "TodoMVC")
		urls["TodoMVC"] = s.URL + "/todo/index.html"
	}
	return names, urls
}
