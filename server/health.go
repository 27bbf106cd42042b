package server

import (
	"io"
	"net/http"
	"slices"
)

// Source is a source of documents and its state.
type Source struct {
	Name string // chromium, jina, http
	OK   bool
	Why  string // why it does not work, in one sentence; empty if OK
}

// working returns the names of the sources that work now.
func (s *Server) working() []string {
	names := []string{}
	for _, source := range s.sources() {
		if source.OK {
			names = append(names, source.Name)
		}
	}
	return names
}

// serveHealth always answers ok.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	io.WriteString(w, "ok\n")
}

// serveReady answers 200 if the daemon accepts commands and at least one source works, else
// 503 with the reason. The body has the state of each source.
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

// notReady returns why no command could get a page now; empty if one could.
func (s *Server) notReady(sources []Source) string {
	switch {
	case s.dispatch.isDraining():
		return "the daemon is shutting down"
	case s.peers.draining.Load():
		return "the node is draining: its sessions go to others"
	case s.runtime.Sessions.CheckLease() != nil:
		return "the lease of this node is over: it does not reach the fleet's database"
	case !slices.ContainsFunc(sources, func(s Source) bool { return s.OK }):
		return "no source of pages works"
	}
	return ""
}
