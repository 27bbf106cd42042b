package server

import (
	"io"
	"net/http"
	"slices"
)

// Source is where documents come from, and whether it works now.
type Source struct {
	Name string // chromium, jina, http
	OK   bool
	Why  string // what is wrong with it, in one sentence; empty where OK
}

// working names the sources that work now.
func (s *Server) working() []string {
	names := []string{}
	for _, source := range s.sources() {
		if source.OK {
			names = append(names, source.Name)
		}
	}
	return names
}

// serveHealth answers ok for as long as the daemon answers at all.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	io.WriteString(w, "ok\n")
}

// serveReady answers 200 where commands are taken and some source works, else
// 503 with the reason, and says of each source whether it works and why not.
func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	type state struct {
		OK  bool   `json:"ok"`
		Why string `json:"why,omitempty"`
	}
	answer := struct {
		Ready   bool             `json:"ready"`
		Why     string           `json:"why,omitempty"`
		Sources map[string]state `json:"sources"`
	}{Sources: map[string]state{}}
	sources := s.sources()
	for _, source := range sources {
		answer.Sources[source.Name] = state{source.OK, source.Why}
	}
	answer.Why = s.notReady(sources)
	answer.Ready = answer.Why == ""
	status := http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	body, _ := encode(answer) // strings and booleans only
	writeJSON(w, status, body)
}

// notReady is why no command would get a page now; empty: it would.
func (s *Server) notReady(sources []Source) string {
	switch {
	case s.dispatch.isDraining():
		return "the daemon is shutting down"
	case !slices.ContainsFunc(sources, func(s Source) bool { return s.OK }):
		return "no source of pages works"
	}
	return ""
}
