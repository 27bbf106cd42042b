package server

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
)

// serveRecording answers with a whole recording of the agent's, or with the range that is asked for.
func serveRecording(s *Server, w http.ResponseWriter, r *http.Request, agent string) {
	name := strings.TrimPrefix(r.URL.Path, recording.Path)
	store := s.runtime.Sessions.Recordings()
	if store == nil {
		writeError(w, http.StatusNotFound, protocol.Errorf(protocol.Unsupported, "recordings have no place: the daemon has no state directory"))
		return
	}
	f, e, err := store.Open(agent, name)
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
	h.Set("Content-Disposition", `attachment; filename="`+e.Name+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime(s.cfg.WriteTimeout, int(e.Bytes))))
	http.ServeContent(w, r, "", e.Time, f)
}
