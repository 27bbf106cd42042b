package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/live"
)

// A view of all sessions opens views of single sessions at their own nodes (Look there). These end with it: each
// node that has one asks the node of the first view, which answers when that has ended.
//
// Nodes speak of them at these paths. No client reaches them.
const (
	remoteViewPath = "/fleet/view"     // opens a view of one session for a viewer at another node
	viewEndPath    = "/fleet/view/end" // answers with a viewEnd
)

const (
	viewEndWait    = 5 * time.Second        // how long a node waits for the end of its view before it answers that it has not ended
	viewEndAnswer  = 2 * time.Second        // for the answer after that
	viewEndRetry   = 500 * time.Millisecond // between questions that are not answered
	viewEndSilence = 10 * time.Second       // a view ends when questions are not answered for so long
)

// remoteViewRequest asks another node for a view of one session, with the rights that the viewer's view
// has here.
type remoteViewRequest struct {
	Owner, Session           string
	Agent                    string
	Token                    int
	TokenID                  string
	Operator, Answers, Drive bool
	// From is the ID of the viewer's view, and Expires when that expires. Nodes of older versions leave
	// them out.
	From    string
	Expires time.Time
}

// remoteView is a view that another node opened. The cookie is for the path of its ID.
type remoteView struct {
	ID, Cookie string
	Expires    time.Time
}

// viewEndQuestion asks a node whether the view of that ID has ended.
type viewEndQuestion struct {
	ID   string
	Wait bool // for viewEndWait, if it has not
}

type viewEnd struct{ Ended bool }

// serveRemoteView opens a view of a session here for a viewer at another node.
func serveRemoteView(s *Server, w http.ResponseWriter, r *http.Request) {
	var of remoteViewRequest
	if json.NewDecoder(io.LimitReader(r.Body, maxForm)).Decode(&of) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	session, err := s.runtime.Sessions.Get(of.Owner, of.Session)
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.view.timeline.Begin()
	v, cookie := s.view.access.Open(command.Viewing{
		Agent: of.Agent, Token: of.Token, TokenID: of.TokenID, Session: session, Owner: of.Owner, Operator: of.Operator, Answers: of.Answers, Drives: of.Drive,
	}, of.Expires, time.Now())
	if v == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if of.From != "" {
		if !s.begin() {
			v.End()
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		go func() {
			defer s.open.Done()
			endWith(s, v, of.From)
		}()
	}
	s.log.Info("a live view was opened", "agent", v.Agent, "session", nameOf(v), "remote", "another node", "drives", v.Drives)
	json.NewEncoder(w).Encode(remoteView{v.ID, cookie, v.Expires})
}

// endWith ends a view here when the view of the ID from, at another node, has ended, or when that node is silent
// for too long: then nobody knows. It returns when v has ended.
func endWith(s *Server, v *live.View, from string) {
	ctx, cancel := context.WithCancel(s.dispatch.life)
	defer cancel()
	go func() {
		v.AwaitEnd(ctx)
		cancel()
	}()
	node, _, _ := strings.Cut(from, ".")
	var silent time.Time // since when it does not answer; zero: it does
	for ctx.Err() == nil {
		question, limit := viewEndQuestion{from, silent.IsZero()}, viewEndAnswer
		if question.Wait {
			limit += viewEndWait
		}
		var now viewEnd
		asking, cancel := context.WithTimeout(ctx, limit)
		err := s.peers.tunnel.fetchJSON(asking, node, viewEndPath, question, &now)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case now.Ended:
			s.log.Info("a live view ended with the one at another node that opened it", "agent", v.Agent, "session", nameOf(v))
			v.End()
			return
		case err == nil:
			silent = time.Time{}
			continue
		case silent.IsZero():
			silent = time.Now()
		case time.Since(silent) > viewEndSilence:
			s.log.Warn("a live view ended, since the node of the view that opened it does not answer", "agent", v.Agent, "session", nameOf(v), "error", err)
			v.End()
			return
		}
		select {
		case <-time.After(viewEndRetry):
		case <-ctx.Done():
		}
	}
}

// serveViewEnd tells another node when a view has ended, or after viewEndWait that it has not.
func serveViewEnd(s *Server, w http.ResponseWriter, r *http.Request) {
	var of viewEndQuestion
	if json.NewDecoder(io.LimitReader(r.Body, maxForm)).Decode(&of) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(viewEndWait + s.cfg.WriteTimeout))
	ctx, cancel := context.WithTimeout(r.Context(), viewEndWait)
	defer cancel()
	defer context.AfterFunc(s.dispatch.life, cancel)()
	if !of.Wait {
		cancel()
	}
	ended := s.view.access.AwaitEnd(ctx, of.ID)
	if !ended && s.dispatch.life.Err() != nil { // its views end with the daemon, which the other node sees
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	json.NewEncoder(w).Encode(viewEnd{ended})
}

// openRemoteView opens a view of a session at another node, for the viewer of a view of all sessions. It
// answers with the view's path.
func openRemoteView(s *Server, w http.ResponseWriter, r *http.Request, v *live.View) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !s.gate.ownOrigin(r) || r.ParseForm() != nil || !live.SameToken(r.PostForm.Get("csrf"), v.CSRF) || v.Session != nil || s.peers.node == nil {
		s.denyView(w, r, http.StatusForbidden)
		return
	}
	of := remoteViewRequest{
		Owner: r.PostForm.Get("agent"), Session: r.PostForm.Get("session"), Agent: v.Agent, Token: v.Token, TokenID: v.TokenID,
		Operator: v.Operator, Answers: v.Answers, Drive: v.Drives, From: v.ID, Expires: v.Expires,
	}
	ctx, cancel := context.WithTimeout(r.Context(), formTimeout)
	defer cancel()
	owner, err := s.peers.node.Locate(ctx, of.Owner, of.Session)
	var at remoteView
	switch {
	case err == nil && (owner == nil || owner.Node == s.peers.node.ID()):
		err = protocol.Errorf(protocol.SessionNotFound, "there is no such session any more")
	case err == nil:
		if failed := s.peers.tunnel.fetchJSON(ctx, owner.Node, remoteViewPath, of, &at); failed != nil {
			s.peers.node.ForgetOwner(of.Owner, of.Session)
			s.log.Debug("opening a view at another node", "error", failed)
			err = protocol.Errorf(protocol.SessionNotFound, "the session is not at that node any more: look again in a moment")
		}
	}
	if err != nil {
		answerForm(s, w, err)
		return
	}
	setViewCookie(s, w, r, at.ID, at.Cookie, at.Expires)
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]string{"path": viewPath + at.ID + "/"})
}
