package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// peers is the transport for the other daemons of the fleet: they forward commands of their
// clients, and receive the events to which those clients subscribe. It is a fleet.Handler. If
// the daemon serves alone, it does nothing.
type peers struct {
	dispatch *dispatcher
	node     *fleet.Node // nil: the daemon serves alone
	tunnel   *tunnel

	draining  atomic.Bool
	updating  sync.Mutex // held while this daemon's subscriptions are collected and sent
	operators int        // connections of operators since the start: each new one is sent the questions that wait

	mu            sync.Mutex
	callers       map[string]map[string]*command.Caller    // by connection and client
	subscriptions map[string]map[fleet.Subscription]func() // by connection of a node: each subscription with the function that ends it
}

// servePeers makes the transport, and starts to serve if the daemon is a node.
func servePeers(d *dispatcher, t *tunnel) (*peers, error) {
	p := &peers{dispatch: d, node: d.runtime.Fleet, tunnel: t, callers: map[string]map[string]*command.Caller{}, subscriptions: map[string]map[fleet.Subscription]func(){}}
	if p.node == nil {
		return p, nil
	}
	return p, p.node.Serve(p)
}

// Call runs a command that another node forwards.
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
				if caller.Stateless && t.job.OpenedSession() && !t.job.CloseFailedSession(ctx.Err() != nil) {
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

// StreamCard sends pictures of a session here to a live view at another node.
func (p *peers) StreamCard(ctx context.Context, c fleet.Card, send func(fleet.Picture) error) error {
	of, err := p.dispatch.runtime.Sessions.Get(c.Agent, c.Session)
	if err != nil {
		return protocol.Errorf(protocol.SessionNotFound, "the session is not at that node any more")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.dispatch.life, cancel)()
	return live.StreamCard(ctx, of, c.Tab, func(f *person.Frame) error {
		return send(fleet.Picture{Width: int(f.Width), Height: int(f.Height), JPEG: f.JPEG})
	})
}

// ServeHTTPConn serves HTTP requests that another node forwards.
func (p *peers) ServeHTTPConn(conn net.Conn) { p.tunnel.serveConn(conn) }

// caller returns the caller of one command of a client of another node.
func (p *peers) caller(from string, c fleet.Call) *command.Caller {
	fresh := func() *command.Caller {
		return &command.Caller{Agent: c.Agent, Role: c.Role, Autonomy: policy.Autonomy(c.Autonomy), Token: c.Token, TokenID: c.TokenID, Shared: c.Shared, Stateless: c.Client == ""}
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
	one.ForClient = caller
	return one
}

// Hide redacts what the agent was given at another node from whatever it is sent here.
func (p *peers) Hide(agent string, given []secret.Given) {
	p.dispatch.runtime.Secrets.Hide(agent, given)
}

// ClientGone removes a client of another node.
func (p *peers) ClientGone(from, client string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.callers[from], client)
}

// Disconnected removes a connection of another node.
func (p *peers) Disconnected(from string) {
	p.Subscribe(from, nil, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.callers, from)
	delete(p.subscriptions, from)
}

// Subscribe replaces the subscriptions of another node's clients.
func (p *peers) Subscribe(from string, subscriptions []fleet.Subscription, publish func(fleet.Event)) {
	p.mu.Lock()
	was := p.subscriptions[from]
	p.mu.Unlock()
	now := map[fleet.Subscription]func(){}
	for _, s := range subscriptions {
		if stop := was[s]; stop != nil {
			now[s] = stop
			continue
		}
		now[s] = p.relay(s, publish)
	}
	for s, stop := range was {
		if now[s] == nil {
			stop()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subscriptions[from] = now
}

// relay starts to publish the events of one subscription to another node, until stop.
func (p *peers) relay(s fleet.Subscription, publish func(fleet.Event)) (stop func()) {
	r := p.dispatch.runtime
	pass := func(e protocol.Event) {
		fields, err := encode(e.Fields)
		if err != nil {
			return
		}
		publish(fleet.Event{Agent: s.Agent, Session: e.Session, Type: e.Type, Fields: r.Secrets.Redact(s.Agent, fields)})
	}
	if s.Agent != "" {
		wants := func(_, typ string) bool { return s.Commands || typ != protocol.EventCommand }
		return r.Sessions.Relay(s.Agent, wants, func(e protocol.Event) {
			if wants(e.Session, e.Type) {
				pass(e)
			}
		})
	}
	// Operators receive questions and hand-offs of all agents.
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

// HandleEvent passes an event of another node to the clients here.
func (p *peers) HandleEvent(e fleet.Event) {
	event := protocol.Event{Session: e.Session, Type: e.Type}
	d := json.NewDecoder(bytes.NewReader(e.Fields))
	d.UseNumber()
	if d.Decode(&event.Fields) != nil {
		return
	}
	if e.Agent != "" || e.Type == protocol.EventHandoff {
		p.dispatch.runtime.Sessions.DeliverRemote(e.Agent, event)
	} else if c := p.dispatch.runtime.Rules.Confirmations; c != nil {
		c.Tell(event)
	}
}

// updateSubscriptions sends the other nodes what this node's clients subscribe to. begun is a
// connection that has just begun, or nil.
func (p *peers) updateSubscriptions(begun *socket) {
	if p.node == nil {
		return
	}
	p.updating.Lock()
	defer p.updating.Unlock()
	if begun != nil && begun.caller.Role == RoleOperator {
		p.operators++
	}
	subscriptions := []fleet.Subscription{}
	for agent, commands := range p.dispatch.runtime.Sessions.ListenedAgents(protocol.EventCommand) {
		if agent != "" {
			subscriptions = append(subscriptions, fleet.Subscription{Agent: agent, Commands: commands})
		}
	}
	if p.operators > 0 {
		subscriptions = append(subscriptions, fleet.Subscription{Nth: p.operators})
	}
	slices.SortFunc(subscriptions, func(a, b fleet.Subscription) int { return cmp.Compare(a.Agent, b.Agent) })
	p.node.SetSubscriptions(subscriptions)
}

// connectionEnded removes a client's connection, and tells the other nodes.
func (p *peers) connectionEnded(c *socket) {
	if p.node != nil {
		p.updateSubscriptions(nil)
		p.node.ClientGone(c.caller.ID())
	}
}

// ErrAlone is the error of Drain if the daemon serves alone: no other daemon could continue its
// sessions.
var ErrAlone = errors.New("fleet.dsn is not set: no other daemon could go on with the sessions")

// Drain hands the daemon's sessions over to the other daemons of the fleet, each between two
// commands. From the start of the drain /readyz is 503 and no session opens here. Commands are still
// answered: they are forwarded to the new owners. stay is how many sessions could not be handed
// over before ctx ended. err says that the database does not answer: then the drain ends with the
// node's lease, if not before. If the daemon goes on, those sessions are its own again when the
// database answers, unless another daemon has taken them over.
func Drain(ctx context.Context, s *Server) (moved, stay int, err error) {
	if s.peers.node == nil {
		return 0, 0, ErrAlone
	}
	s.peers.draining.Store(true)
	silent := false // the database did not answer in all of ctx's time
	if err := s.peers.node.Drain(ctx); err != nil {
		silent = ctx.Err() != nil
		s.log.Warn("the fleet's database does not know that this node drains", "error", err)
	}
	moved, stay, err = session.HandOverAll(ctx, s.runtime.Sessions)
	s.log.Info("drained", "moved", moved, "stayed", stay)
	if code := protocol.CodeOf(err); stay > 0 && (silent || code == protocol.FleetUnavailable || code == protocol.OutcomeUnknown) {
		s.log.Warn("the drain was given up: the fleet's database does not answer", "stayed", stay)
		return moved, stay, fmt.Errorf("the fleet's database does not answer: %d of this node's sessions were not handed over: run browserd drain again when it answers", stay)
	}
	return moved, stay, nil
}

// drainToStop is Drain for a daemon that stops. The sessions that stay since the database does not
// answer are left to the other daemons.
func drainToStop(s *Server) {
	if s.peers.node == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if _, stay, err := Drain(ctx, s); err != nil {
		s.peers.node.LeaveSessions() // the database may answer again before the daemon has ended
		s.log.Warn(fmt.Sprintf("%d of this node's sessions were not handed over, and their last checkpoints are given up; other nodes continue them from the checkpoints before", stay))
	}
}
