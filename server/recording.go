package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
	"github.com/browserd/browserd/server/live"
)

// serveRecording answers with a recording of the agent, or with the range that is asked for. In a fleet any
// node may have the recording.
func serveRecording(s *Server, w http.ResponseWriter, r *http.Request, who holder) {
	name := strings.TrimPrefix(r.URL.Path, recording.Path)
	if !hasRecording(s, who.agent, name) && s.peers.node != nil {
		ctx, cancel := context.WithTimeout(r.Context(), overviewTimeout)
		node := findRecording(ctx, s, recorded{who.agent, name})
		cancel()
		if node != "" && s.peers.tunnel.forward(w, r, node+".", who, s) {
			return
		}
	}
	sendRecording(s, w, r, who.agent, name, "")
}

func hasRecording(s *Server, agent, name string) bool {
	store := s.runtime.Sessions.Recordings()
	if store == nil {
		return false
	}
	f, _, err := store.Open(agent, name)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// recorded names a recording. It is sent between nodes as JSON under the names of its fields.
type recorded struct{ Agent, Name string }

// recordingPath is the path at which nodes ask each other whether they have a recording. The answer is true or
// false. Clients cannot reach it.
const recordingPath = "/fleet/recording"

// findRecording returns the ID of the node that has a recording; empty: none answers that it has.
func findRecording(ctx context.Context, s *Server, of recorded) string {
	for _, m := range s.peers.node.Members() {
		var has bool
		if m.ID != s.peers.node.ID() && !m.Lost && s.peers.tunnel.fetchJSON(ctx, m.ID, recordingPath, of, &has) == nil && has {
			return m.ID
		}
	}
	return ""
}

// serveHasRecording tells another node whether a recording is here.
func serveHasRecording(s *Server, w http.ResponseWriter, r *http.Request) {
	var of recorded
	if json.NewDecoder(io.LimitReader(r.Body, maxForm)).Decode(&of) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	json.NewEncoder(w).Encode(hasRecording(s, of.Agent, of.Name))
}

// serveViewRecording answers a viewer with a recording of a session that the view shows.
func serveViewRecording(s *Server, w http.ResponseWriter, r *http.Request, v *live.View) {
	agent, session := r.URL.Query().Get("agent"), r.URL.Query().Get("session")
	if _, err := sessionOfView(s, v, agent, session); err != nil {
		writeError(w, http.StatusNotFound, protocol.Errorf(protocol.SessionNotFound, "the view shows no such session"))
		return
	}
	sendRecording(s, w, r, agent, r.URL.Query().Get("name"), session)
}

// sendRecording answers with a recording of the agent, which must be of the session if one is named. If a
// session is named, a video is sent for a page to play; everything else is sent as a file to save.
func sendRecording(s *Server, w http.ResponseWriter, r *http.Request, agent, name, session string) {
	store := s.runtime.Sessions.Recordings()
	if store == nil {
		writeError(w, http.StatusNotFound, protocol.Errorf(protocol.Unsupported, "there is nowhere to keep recordings: the daemon has no state directory"))
		return
	}
	f, e, err := store.Open(agent, name)
	if err == nil && session != "" && e.Session != session {
		f.Close()
		err = protocol.Errorf(protocol.InvalidParams, "name: the session has no such recording")
	}
	if err != nil {
		said := (*protocol.Error)(nil)
		if !errors.As(err, &said) {
			s.log.ErrorContext(r.Context(), "reading a recording", "error", err)
			said = protocol.Errorf(protocol.Internal, "the recording cannot be read")
		}
		writeError(w, http.StatusNotFound, said)
		return
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", recording.MediaType(e.Name))
	if session == "" || e.Kind != recording.Video {
		h.Set("Content-Disposition", `attachment; filename="`+e.Name+`"`)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime(s.cfg.WriteTimeout, int(e.Bytes))))
	http.ServeContent(w, r, "", e.Time, f)
}
