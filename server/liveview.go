package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/live"
)

// serveLive answers with the live view of the caller's sessions, or, for an operator, of all
// agents' sessions. It asks no page, and does not count as use of a session.
func (s *Server) serveLive(w http.ResponseWriter, who holder) {
	now, sources := time.Now(), s.sources()
	d := live.Daemon{
		Version: s.runtime.Version, Began: s.began, NotReady: s.notReady(sources),
		Open: s.runtime.Sessions.Count(), Max: s.runtime.Sessions.Max(),
	}
	for _, source := range sources {
		d.Sources = append(d.Sources, live.Source(source))
	}
	viewer := live.Viewer{Agent: who.agent, Everybody: who.role == RoleOperator}
	page, err := live.Page(now, d, viewer, s.runtime.Sessions.Overviews(viewer.Agent, viewer.Everybody))
	if err != nil {
		s.log.Error("the live view", "error", err)
		writeError(w, http.StatusInternalServerError, protocol.Errorf(protocol.Internal, "the live view failed for a reason of browserd's own"))
		return
	}
	http.NewResponseController(w).SetWriteDeadline(now.Add(writeTime(s.cfg.WriteTimeout, len(page))))
	live.SetHeader(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.Write(page)
}
