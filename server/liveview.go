package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/live"
	"github.com/browserd/browserd/session"
)

// serveLive answers with the live view of the caller's sessions or, for an operator, of all agents' sessions.
// In a fleet these are the sessions of all nodes. It asks no page, and does not count as use of a session.
func (s *Server) serveLive(w http.ResponseWriter, who holder) {
	viewer := live.Viewer{Agent: who.agent, Everybody: who.role == RoleOperator}
	others := fetchOverviews(s, viewerScope{Agent: viewer.Agent, Everybody: viewer.Everybody})
	s.writeLive(w, viewer, s.runtime.Sessions.Overviews(viewer.Agent, viewer.Everybody), others)
}

// daemonNow returns what the live view shows of the daemon.
func (s *Server) daemonNow() live.Daemon {
	sources := s.sources()
	d := live.Daemon{
		Version: s.runtime.Version, Began: s.began, NotReady: s.notReady(sources),
		Open: s.runtime.Sessions.Count(), Max: s.runtime.Sessions.Max(),
	}
	for _, source := range sources {
		d.Sources = append(d.Sources, live.Source(source))
	}
	return d
}

func (s *Server) writeLive(w http.ResponseWriter, viewer live.Viewer, sessions []session.Overview, others []live.NodeOverview) {
	now := time.Now()
	page, err := live.Page(now, s.daemonNow(), viewer, sessions, others)
	if err != nil {
		s.log.Error("the live view", "error", err)
		writeError(w, http.StatusInternalServerError, protocol.Errorf(protocol.Internal, "the live view failed for a reason of browserd's own"))
		return
	}
	page = []byte(s.runtime.Secrets.RedactText(viewer.Agent, string(page)))
	if viewer.Everybody {
		page = s.runtime.Secrets.RedactAll(page)
	}
	http.NewResponseController(w).SetWriteDeadline(now.Add(writeTime(s.cfg.WriteTimeout, len(page))))
	live.SetHeader(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.Write(page)
}
