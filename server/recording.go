package server

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
	"github.com/browserd/browserd/server/live"
)

// serveRecording answers with a whole recording of the agent's, or with the range that is asked for.
func serveRecording(s *Server, w http.ResponseWriter, r *http.Request, agent string) {
	sendRecording(s, w, r, agent, strings.TrimPrefix(r.URL.Path, recording.Path), "")
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

// sendRecording answers with a recording of the agent's, and of the session, if one is named. A video is
// for a page to play, where a session is named, all else to be kept as a file.
func sendRecording(s *Server, w http.ResponseWriter, r *http.Request, agent, name, session string) {
	store := s.runtime.Sessions.Recordings()
	if store == nil {
		writeError(w, http.StatusNotFound, protocol.Errorf(protocol.Unsupported, "recordings have no place: the daemon has no state directory"))
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
