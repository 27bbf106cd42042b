package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/browser/person"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/server/live"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/telemetry"
)

// peers is the transport for the other daemons of the fleet: they pass on the commands of
// their clients, and are told what those clients want to know. It is a fleet.Handler. Where
// the daemon serves alone, it does nothing.
type peers struct {
	dispatch *dispatcher
	node     *fleet.Node // nil: the daemon serves alone
	tunnel   *tunnel

	draining  atomic.Bool
	wanting   sync.Mutex // held while this daemon's interests are put together and sent
	operators int        // connections of operators, ever: each is told what waits

	mu      sync.Mutex
	callers map[string]map[string]*command.Caller // by connection and client
	told    map[string]map[fleet.Interest]func()  // what each connection wants, with what ends it
}

// servePeers makes the transport, and serves where the daemon is a node.
func servePeers(d *dispatcher, t *tunnel) (*peers, error) {
	p := &peers{dispatch: d, node: d.runtime.Fleet, tunnel: t, callers: map[string]map[string]*command.Caller{}, told: map[string]map[fleet.Interest]func(){}}
	if p.node == nil {
		return p, nil
	}
	return p, p.node.Serve(p)
}

// Call runs a command that another node passes on.
func (p *peers) Call(ctx context.Context, from string, c fleet.Call, answer func(fleet.Answer)) {
	caller := p.caller(from, c)
	passed := command.Forwarding{Session: c.Session, Open: c.Open, Recover: c.Recover}
	if c.Follows != nil {
		passed.Follows = &session.Ended{Session: c.Follows.Session, At: c.Follows.At, Reason: c.Follows.Reason}
	}
	var missing command.NotHere
	gone := false
	t, err := p.dispatch.admit(c.Agent, c.Trace, c.Method, func(span *telemetry.Span) (*command.Job, error) {
		passed.Span = span
		job, err := p.dispatch.runtime.PrepareForwarded(caller, passed, c.Method, c.Params)
		if gone = errors.As(err, &missing); gone {
			err = protocol.Errorf(protocol.SessionNotFound, "the session is not here")
		}
		return job, err
	})
	switch {
	case err == command.ErrShuttingDown && c.Session != "": // its session is another's by now, or has ended
		answer(fleet.Answer{NotHere: true})
		return
	case gone:
		a := fleet.Answer{NotHere: true}
		if e := missing.Ended; e != nil {
			a.Ended = &fleet.Ended{Session: e.Session, At: e.At, Reason: e.Reason}
		}
		answer(a)
		return
	case err != nil:
		answer(fleet.Answer{Error: fleet.WireError(err)})
		return
	}
	living, cancel := context.WithCancelCause(p.dispatch.life)
	stop := context.AfterFunc(ctx, func() { cancel(command.ErrCancelled) })
	go func() {
		defer cancel(nil)
		defer stop()
		t.run(living, func(result json.RawMessage, err *protocol.Error) {
			a := fleet.Answer{Result: result, Session: caller.Session(), NotHere: err == command.ErrNotHere}
			if err != nil {
				if caller.Stateless && t.job.OpenedSession() && !t.job.Failed(ctx.Err() != nil) {
					said := *err // err may be shared: copy it
					said.Details = maps.Clone(err.Details)
					err = said.With("session", t.job.SessionName())
				}
				a.Error = fleet.WireError(err)
			}
			answer(a)
		})
	}()
}

// Card shows a session here in a live view at another node.
func (p *peers) Card(ctx context.Context, c fleet.Card, show func(fleet.Picture) error) error {
	of, err := p.dispatch.runtime.Sessions.Get(c.Agent, c.Session)
	if err != nil {
		return protocol.Errorf(protocol.SessionNotFound, "the session is not at that node any more")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.dispatch.life, cancel)()
	return live.ShowCard(ctx, of, c.Tab, func(f *person.Frame) error {
		return show(fleet.Picture{Width: int(f.Width), Height: int(f.Height), JPEG: f.JPEG})
	})
}

// Requests serves requests that another node passes on.
func (p *peers) Requests(conn net.Conn) { p.tunnel.requests(conn) }

// caller returns the caller of one command of a client of another node.
func (p *peers) caller(from string, c fleet.Call) *command.Caller {
	fresh := func() *command.Caller {
		return &command.Caller{Agent: c.Agent, Role: c.Role, Autonomy: policy.Autonomy(c.Autonomy), Token: c.Token, Shared: c.Shared, Stateless: c.Client == ""}
	}
	if c.Client == "" {
		return fresh()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.callers[from]
	if of == nil {
		of = map[string]*command.Caller{}
		p.callers[from] = of
	}
	caller := of[c.Client]
	if caller == nil || caller.Agent != c.Agent {
		caller = fresh()
		of[c.Client] = caller
	}
	one := fresh()
	one.Of = caller
	return one
}

// Hide removes what the agent was given at another node from what it is sent here.
func (p *peers) Hide(agent string, given []secret.Given) {
	p.dispatch.runtime.Secrets.Hide(agent, given)
}

// Gone forgets a client of another node.
func (p *peers) Gone(from, client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.callers[from], client)
}

// Left forgets a connection of another node.
func (p *peers) Left(from string) {
	p.Interested(from, nil, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.callers, from)
	delete(p.told, from)
}

// Interested tells another node what its clients want to know from now on.
func (p *peers) Interested(from string, interests []fleet.Interest, tell func(fleet.Event)) {
	p.mu.Lock()
	was := p.told[from]
	p.mu.Unlock()
	now := map[fleet.Interest]func(){}
	for _, i := range interests {
		if stop := was[i]; stop != nil {
			now[i] = stop
			continue
		}
		now[i] = p.tell(i, tell)
	}
	for i, stop := range was {
		if now[i] == nil {
			stop()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told[from] = now
}

// tell begins to tell another node's clients what they want to know.
func (p *peers) tell(i fleet.Interest, tell func(fleet.Event)) (stop func()) {
	r := p.dispatch.runtime
	pass := func(e protocol.Event) {
		fields, err := encode(e.Fields)
		if err != nil {
			return
		}
		tell(fleet.Event{Agent: i.Agent, Session: e.Session, Type: e.Type, Fields: r.Secrets.Redact(i.Agent, fields)})
	}
	if i.Agent != "" {
		wants := func(_, typ string) bool { return i.Commands || typ != protocol.EventCommand }
		return r.Sessions.Relay(i.Agent, wants, func(e protocol.Event) {
			if wants(e.Session, e.Type) {
				pass(e)
			}
		})
	}
	// Operators are told of questions and hand-offs, of all agents.
	stopEvents := r.Sessions.Relay("", func(_, typ string) bool { return typ == protocol.EventHandoff }, pass)
	if r.Rules.Confirmations == nil {
		return stopEvents
	}
	stopQuestions := r.Rules.Confirmations.Relay(pass)
	return func() {
		stopEvents()
		stopQuestions()
	}
}

// Tell passes an event of another node to the clients here.
func (p *peers) Tell(e fleet.Event) {
	event := protocol.Event{Session: e.Session, Type: e.Type}
	d := json.NewDecoder(bytes.NewReader(e.Fields))
	d.UseNumber()
	if d.Decode(&event.Fields) != nil {
		return
	}
	if e.Agent != "" || e.Type == protocol.EventHandoff {
		p.dispatch.runtime.Sessions.Tell(e.Agent, event)
	} else if c := p.dispatch.runtime.Rules.Confirmations; c != nil {
		c.Tell(event)
	}
}

// want tells the other nodes what this one's clients want to know. begun is a connection that
// has just begun, or nil.
func (p *peers) want(begun *socket) {
	if p.node == nil {
		return
	}
	p.wanting.Lock()
	defer p.wanting.Unlock()
	if begun != nil && begun.caller.Role == RoleOperator {
		p.operators++
	}
	interests := []fleet.Interest{}
	for agent, commands := range p.dispatch.runtime.Sessions.Listening(protocol.EventCommand) {
		if agent != "" {
			interests = append(interests, fleet.Interest{Agent: agent, Commands: commands})
		}
	}
	if p.operators > 0 {
		interests = append(interests, fleet.Interest{Nth: p.operators})
	}
	slices.SortFunc(interests, func(a, b fleet.Interest) int { return cmp.Compare(a.Agent, b.Agent) })
	p.node.Want(interests)
}

// left forgets a connection that has ended.
func (p *peers) left(c *socket) {
	if p.node != nil {
		p.want(nil)
		p.node.Forget(c.caller.ID())
	}
}

// ErrAlone is the error of Drain where the daemon serves alone: nobody could go on with its
// sessions.
var ErrAlone = errors.New("fleet.dsn is not set: no other daemon could go on with the sessions")

// Drain hands the daemon's sessions over to the other daemons of the fleet, each between two
// commands. From its beginning /readyz is 503 and no session opens here; commands are still
// answered, by the daemons that have the sessions by then. stay is how many could not be handed
// over before ctx ended.
func Drain(ctx context.Context, s *Server) (moved, stay int, err error) {
	if s.peers.node == nil {
		return 0, 0, ErrAlone
	}
	s.peers.draining.Store(true)
	if err := s.peers.node.Drain(ctx); err != nil {
		s.log.Warn("the fleet's database does not know that this node drains", "error", err)
	}
	moved, stay = session.HandOverAll(ctx, s.runtime.Sessions)
	s.log.Info("drained", "moved", moved, "stayed", stay)
	return moved, stay, nil
}
