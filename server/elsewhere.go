package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/live"
)

// The paths at which nodes ask each other for what their live views show. No client reaches them.
const (
	lookPath = "/fleet/look" // what there is to see: live.Elsewhere
	viewOn   = "/fleet/view" // a view of one session, for whoever asked at another node
)

// How long another node may take to say what there is to see, how old that may be, and how long
// somebody waits for it who looks for the first time.
const (
	lookWithin = time.Second
	lookEvery  = time.Second
	lookFirst  = 500 * time.Millisecond
	maxLook    = 8 << 20
)

// viewerScope is which sessions and questions a viewer is shown, so that other nodes tell those.
type viewerScope struct {
	Agent     string `json:"agent,omitempty"`
	Everybody bool   `json:"everybody,omitempty"`
	Answers   bool   `json:"answers,omitempty"`
}

// others is what the other nodes of the fleet showed last, by who looks. Any goroutine may call its
// methods.
type others struct {
	mu   sync.Mutex
	seen map[viewerScope]map[string]*look // by node
}

// look is what one node showed somebody.
type look struct {
	at     time.Time
	last   live.Elsewhere
	asking chan struct{} // closed when the node has answered, or has not in time; nil: it is not being asked
}

// maxScopes is how many are remembered.
const maxScopes = 100

// now returns what the other nodes show. Each is asked for itself, so that one that is slow holds up no other. It
// waits for them only the first time, and not for long. Of a node that does not answer it returns the sessions that it
// showed before.
func (o *others) now(s *Server, who viewerScope) []live.Elsewhere {
	members := otherNodes(s)
	var first []chan struct{}
	o.mu.Lock()
	looks := map[string]*look{}
	for _, m := range members {
		l := o.seen[who][m.ID]
		if l == nil {
			l = &look{}
		}
		looks[m.ID] = l
		if l.asking == nil && time.Since(l.at) > lookEvery && s.begin() {
			l.asking = make(chan struct{})
			go func() {
				defer s.open.Done()
				ctx, cancel := context.WithTimeout(s.dispatch.life, lookWithin)
				defer cancel()
				seen := askOne(ctx, s, m, who)
				o.mu.Lock()
				defer o.mu.Unlock()
				if seen.Silent {
					seen.Sessions = l.last.Sessions
				}
				close(l.asking)
				l.at, l.last, l.asking = time.Now(), seen, nil
			}()
		}
		if l.at.IsZero() && l.asking != nil {
			first = append(first, l.asking)
		}
	}
	if len(o.seen) >= maxScopes || o.seen == nil {
		o.seen = map[viewerScope]map[string]*look{}
	}
	o.seen[who] = looks
	o.mu.Unlock()
	if len(first) > 0 {
		late := time.NewTimer(lookFirst)
		defer late.Stop()
		for _, asking := range first {
			select {
			case <-asking:
				continue
			case <-late.C:
			}
			break
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	list := []live.Elsewhere{}
	for _, m := range members {
		if l := looks[m.ID]; !l.at.IsZero() {
			list = append(list, l.last)
		}
	}
	return list
}

// begin counts something that Shutdown waits for, and returns false, without counting it, once that
// has begun.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.open.Add(1)
	}
	return !s.closed
}

// otherNodes returns the other nodes of the fleet that have their leases.
func otherNodes(s *Server) []fleet.Member {
	if s.peers.node == nil {
		return nil
	}
	return slices.DeleteFunc(s.peers.node.Members(), func(m fleet.Member) bool { return m.ID == s.peers.node.ID() || m.Lost })
}

// askAll asks all other nodes, at once.
func askAll(s *Server, who viewerScope) []live.Elsewhere {
	ctx, cancel := context.WithTimeout(s.dispatch.life, lookWithin)
	defer cancel()
	members := otherNodes(s)
	list := make([]live.Elsewhere, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { list[i] = askOne(ctx, s, m, who) })
	}
	all.Wait()
	return list
}

// askOne asks a node.
func askOne(ctx context.Context, s *Server, m fleet.Member, who viewerScope) live.Elsewhere {
	var seen live.Elsewhere
	if err := s.peers.tunnel.ask(ctx, m.ID, lookPath, who, &seen); err != nil {
		s.log.Debug("a node does not say what it shows", "node", m.Number, "error", err)
		return live.Elsewhere{Node: m.Name, ID: m.ID, Silent: true}
	}
	seen.Node, seen.ID = m.Name, m.ID
	return seen
}

// serveLook tells another node what there is to see here.
func serveLook(s *Server, w http.ResponseWriter, r *http.Request) {
	var who viewerScope
	if json.NewDecoder(io.LimitReader(r.Body, maxForm)).Decode(&who) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e := live.Elsewhere{Sessions: s.runtime.Sessions.Overviews(who.Agent, who.Everybody), Open: s.runtime.Sessions.Count(), Max: s.runtime.Sessions.Max(), Questions: []policy.Question{}}
	for i, o := range e.Sessions {
		if o.Handoff.Driver != "" {
			e.Sessions[i].Tabs = nil // nobody watches a person
		}
	}
	if confirmations := s.runtime.Rules.Confirmations; who.Answers && confirmations != nil {
		e.Questions = confirmations.Pending()
	}
	text, err := json.Marshal(e)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if who.Everybody {
		text = s.runtime.Secrets.RedactAll(text)
	} else {
		text = s.runtime.Secrets.Redact(who.Agent, text)
	}
	w.Write(text)
}

// viewing is a view of one session that a node wants of another, with the rights of the view that
// its viewer has there.
type viewing struct {
	Owner, Session           string
	Agent                    string
	Token                    int
	Operator, Answers, Drive bool
}

// opened is a view that another node opened: the cookie is for the path of its ID.
type opened struct {
	ID, Cookie string
	Expires    time.Time
}

// serveViewOn opens a view of a session here for somebody at another node.
func serveViewOn(s *Server, w http.ResponseWriter, r *http.Request) {
	var of viewing
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
	now := time.Now()
	ticket, _ := s.view.access.Ticket(command.Viewing{
		Agent: of.Agent, Token: of.Token, Session: session, Owner: of.Owner, Operator: of.Operator, Answers: of.Answers, Drives: of.Drive,
	}, now)
	v, cookie := s.view.access.Redeem(ticket, now)
	if v == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.log.Info("a live view was opened", "agent", v.Agent, "session", nameOf(v), "remote", "another node", "drives", v.Drives)
	json.NewEncoder(w).Encode(opened{v.ID, cookie, v.Expires})
}

// serveElsewhere opens a view of a session at another node for whoever sees all sessions, and
// answers where it is.
func serveElsewhere(s *Server, w http.ResponseWriter, r *http.Request, v *live.View) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !s.gate.ownOrigin(r) || r.ParseForm() != nil || !live.SameToken(r.PostForm.Get("csrf"), v.CSRF) || v.Session != nil || s.peers.node == nil {
		s.noView(w, r, http.StatusForbidden)
		return
	}
	of := viewing{Owner: r.PostForm.Get("agent"), Session: r.PostForm.Get("session"), Agent: v.Agent, Token: v.Token, Operator: v.Operator, Answers: v.Answers, Drive: v.Drives}
	ctx, cancel := context.WithTimeout(r.Context(), doTime)
	defer cancel()
	owner, err := s.peers.node.Locate(ctx, of.Owner, of.Session)
	var at opened
	switch {
	case err == nil && (owner == nil || owner.Node == s.peers.node.ID()):
		err = protocol.Errorf(protocol.SessionNotFound, "there is no such session any more")
	case err == nil:
		if failed := s.peers.tunnel.ask(ctx, owner.Node, viewOn, of, &at); failed != nil {
			s.peers.node.Unlocate(of.Owner, of.Session)
			s.log.Debug("a view at another node", "error", failed)
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

// ask asks another node for something of its live view.
func (t *tunnel) ask(ctx context.Context, node, path string, what, into any) error {
	answer, err := t.post(ctx, node, path, passedOn{}, what)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(io.LimitReader(answer.Body, maxLook)).Decode(into)
}

// post sends another node what it asks, for whom said says, and returns an answer of status 200, whose
// body the caller closes.
func (t *tunnel) post(ctx context.Context, node, path string, said passedOn, what any) (*http.Response, error) {
	body, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+node+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	who, _ := json.Marshal(said) // strings and numbers only
	r.Header.Set(passedHeader, string(who))
	answer, err := t.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, protocol.Errorf(protocol.Internal, "the node answers %s", strconv.Itoa(answer.StatusCode))
	}
	return answer, nil
}

// asks reports whether a name is the ID of another node of the fleet that has its lease.
func (t *tunnel) asks(node string) bool {
	return node != t.node.ID() && slices.ContainsFunc(t.node.Members(), func(m fleet.Member) bool { return m.ID == node && !m.Lost })
}

// confirmElsewhere answers a question that waits at another node.
func confirmElsewhere(ctx context.Context, s *Server, v *live.View, id string, a policy.Answer) error {
	params, err := json.Marshal(actions.ConfirmParams{ID: id, Allow: a.Allow, Remember: a.Remember})
	if err != nil {
		return err
	}
	caller := &command.Caller{Agent: v.Agent, Role: RoleOperator, Token: v.Token, Stateless: true}
	t, failed := s.dispatch.prepare(caller, "", actions.Confirm.Name, params)
	if failed != nil {
		return failed
	}
	var answered *protocol.Error
	t.run(ctx, func(_ json.RawMessage, err *protocol.Error) { answered = err })
	if answered != nil {
		return answered
	}
	return nil
}
