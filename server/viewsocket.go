package server

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/server/live"
	"github.com/browserd/browserd/session"
)

// serveViewSocket serves the WebSocket of a view's page. The view has been found by its cookie. The request
// must come from the daemon's own page.
func serveViewSocket(s *Server, w http.ResponseWriter, r *http.Request, v *live.View) {
	if !s.gate.ownOrigin(r) {
		s.denyView(w, r, http.StatusForbidden)
		return
	}
	upgrader := websocket.Upgrader{HandshakeTimeout: s.cfg.WriteTimeout, CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(w, r, tokenHeaderFor(r, v.Token))
	if err != nil {
		return
	}
	defer ws.Close()
	if !s.begin() {
		return
	}
	defer s.open.Done()
	live.Serve(s.dispatch.life, ws, v, hostOfView(s, v))
}

// hostOfView returns what the live package needs to serve a view.
func hostOfView(s *Server, v *live.View) live.Host {
	var credits credits
	var secrets *live.Secrets
	if !v.Operator {
		secrets = &live.Secrets{HasGiven: s.runtime.Secrets.HasGiven, PageShows: s.runtime.PictureShows}
	}
	var watch func(context.Context, string, fleet.Card) (*fleet.CardStream, error)
	if node := s.peers.node; node != nil && v.Session == nil && v.Operator {
		watch = func(ctx context.Context, at string, c fleet.Card) (*fleet.CardStream, error) {
			return fleet.WatchCard(ctx, node, at, c)
		}
	}
	return live.Host{
		Secrets:  secrets,
		Sessions: func() []session.Overview { return s.viewOverviews(v) },
		Find:     func(agent, name string) (*session.Session, error) { return sessionOfView(s, v, agent, name) },
		Questions: func() []policy.Question {
			if confirmations := s.runtime.Rules.Confirmations; v.Answers && confirmations != nil {
				return confirmations.Pending()
			}
			return []policy.Question{}
		},
		Others: func() []live.NodeOverview {
			if v.Session != nil {
				return nil
			}
			return s.view.others.overviews(s, viewerScope{Everybody: true, Answers: v.Answers})
		},
		Watch:    watch,
		Daemon:   s.daemonNow,
		Timeline: s.view.timeline, Recordings: s.view.recordings,
		Credits:  func(agent string) any { return credits.balance(s, agent) },
		CheckURL: s.runtime.CheckURL,
		Log:      s.runtime.Log,
		Redact: func(text []byte) []byte {
			if v.Answers {
				return s.runtime.Secrets.RedactAll(text)
			}
			return s.runtime.Secrets.Redact(v.Owner, text)
		},
	}
}

// credits caches the credits that agents have left.
type credits struct {
	mu   sync.Mutex
	at   map[string]time.Time
	left map[string]any
}

const (
	creditsEvery = 5 * time.Second
	creditsWait  = 200 * time.Millisecond
)

func (c *credits) balance(s *Server, agent string) any {
	if s.runtime.Ledger == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at, c.left = map[string]time.Time{}, map[string]any{}
	}
	if now := time.Now(); now.Sub(c.at[agent]) > creditsEvery {
		ctx, cancel := context.WithTimeout(context.Background(), creditsWait)
		defer cancel()
		c.at[agent] = now
		if left, err := s.runtime.Ledger.Balance(ctx, agent); err == nil {
			c.left[agent] = left
		}
	}
	return c.left[agent]
}

// serveApp answers with the page of a view.
func serveApp(s *Server, w http.ResponseWriter, r *http.Request, v *live.View) {
	host := hostOfView(s, v)
	page, err := live.App(v, host.State(v))
	if err != nil {
		s.log.Error("the live view", "error", err)
		s.denyView(w, r, http.StatusInternalServerError)
		return
	}
	page = host.Redact(page)
	live.SetAppHeader(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.Write(page)
}

// answerForm answers a request that runs an action of the view.
func answerForm(s *Server, w http.ResponseWriter, err error) {
	http.NewResponseController(w).SetReadDeadline(time.Time{})
	w.Header().Del("Connection")
	if err != nil {
		e := s.dispatch.toProtocolError(context.Background(), "", "", "view", err)
		http.Error(w, e.Message, e.Code.Row().HTTP)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
