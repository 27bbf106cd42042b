// Package demoapp is the page that the daemon is shown with: a small
// single-page app, embedded, that needs no network. It has what pages are made
// of: client-side routing, a list that is built anew on every change, a form
// with validation, open and closed shadow roots, a frame, and a modal dialog.
//
// It owns the app and the transcript that is played on it, and knows nothing of
// browsers. Handler keeps no state: every load of the page starts the same.
package demoapp

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed static
var static embed.FS

// maxMessage bounds the body of POST /api/contact, in bytes.
const maxMessage = 64 << 10

// Handler serves the app at the root of whatever it is mounted on. It is safe
// for any number of goroutines.
func Handler() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the directory is compiled in
	}
	mux := http.NewServeMux()
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(files)))
	page := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, static, "static/"+name) }
	}
	// The router in app.js knows the same paths.
	for _, path := range []string{"/{$}", "/items", "/items/{id}", "/contact", "/about"} {
		mux.Handle("GET "+path, page("index.html"))
	}
	mux.Handle("GET /frame", page("frame.html"))
	mux.HandleFunc("POST /api/contact", contact)
	return withPolicy(mux)
}

// withPolicy says on every answer that the page loads nothing from elsewhere,
// and that nothing is kept.
func withPolicy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// message is what the contact form sends.
type message struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Topic   string `json:"topic"`
	Reply   string `json:"reply"`
	Date    string `json:"date"`
	Copy    bool   `json:"copy"`
}

// contact takes a message and keeps nothing of it: 204, or 400 where it is not
// whole.
func contact(w http.ResponseWriter, r *http.Request) {
	var m message
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage))
	body.DisallowUnknownFields()
	if err := body.Decode(&m); err != nil {
		http.Error(w, "not a message: "+err.Error(), http.StatusBadRequest)
		return
	}
	if strings.TrimSpace(m.Name) == "" || strings.TrimSpace(m.Message) == "" {
		http.Error(w, "name and message are required", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
