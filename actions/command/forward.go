package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/telemetry"
)

// route is where a call runs in a fleet. The zero value is that of a daemon without a fleet.
type route struct {
	params       json.RawMessage // as the client wrote them
	from         *Forwarding     // set if another daemon forwarded the call; nil: this daemon's client sent it
	to           *fleet.Owner    // the daemon to which it is forwarded; nil: it runs here
	session      string          // the session for which it is forwarded
	open         bool            // the session has to be opened there
	pending      *fleet.Pending
	lost         bool // that daemon is lost or is handing the session over, so the session has to be recovered
	recover      bool // that daemon has to recover the session
	tries        int  // how often the call was sent to a daemon that did not have the session any more
	mayHaveActed bool // it may have acted here

	span    *telemetry.Span // the command's
	forward *telemetry.Span // of its part at the daemon to which it was forwarded
}

// Forwarding is what another daemon says of a command that it forwards.
type Forwarding struct {
	Session string         // the session that the command is for; empty: none
	Open    bool           // it is to be opened under that name
	Follows *session.Ended // the client's session before it, which has ended; nil: none
	Recover bool           // its owner is lost or is handing it over, so this daemon has to take it over
	Span    *telemetry.Span
}

// ErrNotHere is the error of a forwarded command whose session was handed over to another
// daemon while the command waited for its turn. The command did not run.
var ErrNotHere = protocol.Errorf(protocol.SessionNotFound, "the session is not here any more")

// NotHere is the error of a command that was forwarded to a daemon which does not have its
// session. The command did not run.
type NotHere struct{ Ended *session.Ended } // nil: nobody knows of it

func (NotHere) Error() string { return "the session is not here" }

// PrepareForwarded is Prepare for a command that another daemon has forwarded. Its error may
// also be a NotHere. It may wait for the fleet's database.
func (r *Runtime) PrepareForwarded(caller *Caller, p Forwarding, method string, params json.RawMessage) (*Job, error) {
	caller.mu.Lock()
	if caller.session = p.Session; p.Open {
		caller.session = ""
	}
	caller.mu.Unlock()
	if p.Session != "" && !p.Open {
		_, err := r.Sessions.Get(caller.Agent, p.Session)
		if err != nil && p.Recover {
			return r.prepare(&Call{Caller: caller, route: route{span: p.Span}}, method, params)
		}
		if err != nil {
			return nil, NotHere{r.Sessions.Ended(caller.Agent, p.Session)}
		}
	}
	return r.prepare(&Call{Caller: caller, route: route{from: &p, span: p.Span}}, method, params)
}

// IsForwarded reports whether the job runs at another daemon.
func (j *Job) IsForwarded() bool { return j.call.route.to != nil }

// ID identifies the caller among those of this daemon; empty for single requests.
func (c *Caller) ID() string {
	if c.Stateless || c.Home != "" {
		return ""
	}
	if c.ForClient != nil {
		return c.ForClient.ID()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id == "" {
		c.id = rand.Text()[:16]
	}
	return c.id
}

// routeToOwner routes the call to the daemon that owns the agent's session of that name, if
// that is another one. A forwarded command is not forwarded again, but its parts, such as
// the commands of a batch, may be.
func routeToOwner(c *Call, name string) (found bool, err error) {
	node := c.Runtime.Fleet
	if node == nil || c.route.from != nil {
		return false, nil
	}
	owner, err := node.Locate(context.Background(), c.Caller.Agent, name)
	switch {
	case err != nil:
		return false, err
	case owner == nil || owner.Node == node.ID() && !owner.Lost && c.route.tries > 0:
		return false, nil
	}
	c.route.to, c.route.session = owner, name
	c.route.lost = owner.Lost || owner.Node == node.ID() // or this daemon is recovering it at the moment
	return true, nil
}

// openOrForward opens a session with these options and returns its name. In a fleet Place may
// choose another daemon: then the call is forwarded, and runs there too.
func openOrForward(c *Call, o session.Options) (name string, err error) {
	if p := c.route.from; p != nil {
		o.Name, c.ended = p.Session, p.Follows
	} else {
		c.ended = lastEnded(c)
	}
	o.Follows = c.ended
	for node := c.Runtime.Fleet; ; node.MarkFull(node.ID()) {
		if node != nil && c.route.from == nil {
			owner, err := placeSession(context.Background(), c, o.Name, false)
			if err != nil {
				return "", err
			}
			if owner.Node != node.ID() {
				if o.Name == "" {
					o.Name = session.NewName()
				}
				c.route.to, c.route.session, c.route.open = &owner, o.Name, true
				return o.Name, nil
			}
		}
		s, err := c.Runtime.Sessions.Open(c.Caller.Agent, o)
		if node != nil && c.route.from == nil && isFull(err) {
			continue // it has become full, or begun to drain, since
		}
		if node == nil && isFull(err) {
			session.RecordRefusal(c.Runtime.Sessions, c.Caller.Agent, o.Name)
		}
		if err != nil {
			return "", err
		}
		c.Session = s
		return s.Name(), nil
	}
}

// lostHomeRace reports whether err says that another daemon has just opened the caller's home session.
func lostHomeRace(c *Call, err error) bool {
	return c.Caller.Home != "" && !c.created && c.route.tries < maxTries && protocol.CodeOf(err) == protocol.InvalidParams
}

// isFull reports whether err says that a daemon takes no further session: it is at its limit, or drains. Another
// one may take it.
func isFull(err error) bool {
	var e *protocol.Error
	return errors.As(err, &e) && e.Details["quota"] == session.QuotaOfDaemon
}

// connectTimeout is how long a call waits for a connection to another node. The client's
// connection is not read meanwhile.
const connectTimeout = time.Second

// placeSession chooses the daemon for a session of that name, new or lost, among those that can be reached.
func placeSession(ctx context.Context, c *Call, name string, lost bool) (fleet.Owner, error) {
	node := c.Runtime.Fleet
	reaching, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for {
		owner, err := node.Place(lost)
		if protocol.CodeOf(err) == protocol.SessionLimit {
			session.RecordRefusal(c.Runtime.Sessions, c.Caller.Agent, name)
		}
		if err != nil || owner.Node == node.ID() || node.EnsureConnected(reaching, owner.Node) == nil {
			return owner, err
		}
		if ctx.Err() != nil {
			return fleet.Owner{}, context.Cause(ctx)
		}
		node.MarkFull(owner.Node)
	}
}

// sendToNode sends a routed call to its node. Calls are sent in the order in which they are
// prepared. After an error nothing was sent.
func sendToNode(c *Call) error {
	if c.route.lost {
		return nil
	}
	c.route.forward = c.route.span.Forward(c.route.to.Number)
	message := fleetCall(c)
	message.Session, message.Open, message.Recover = c.route.session, c.route.open, c.route.recover
	if c.route.open && c.ended != nil {
		message.Follows = &fleet.Ended{Session: c.ended.Session, At: c.ended.At, Reason: c.ended.Reason}
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	var err error
	c.route.pending, err = c.Runtime.Fleet.Send(ctx, c.route.to.Node, message)
	if err != nil {
		c.route.forward.End(string(protocol.FleetUnavailable))
		c.Runtime.Log.Warn("a command could not be forwarded", "node", c.route.to.Number, "error", err)
		c.Runtime.Fleet.ForgetOwner(c.Caller.Agent, c.route.session)
		if !c.route.open {
			c.route.lost = true
			return nil
		}
		return protocol.Errorf(protocol.FleetUnavailable, "node %d is not reached", c.route.to.Number).With("node", c.route.to.Number)
	}
	if c.route.open { // otherwise nobody could say how the session ended
		c.Runtime.Fleet.CacheOwner(c.Caller.Agent, c.route.session, *c.route.to)
	}
	return nil
}

// fleetCall returns the message with which the call is forwarded, without a session.
func fleetCall(c *Call) fleet.Call {
	who := c.Caller
	return fleet.Call{
		Agent: who.Agent, Role: who.Role, Autonomy: string(who.Autonomy), Token: who.Token, TokenID: who.TokenID, Client: who.ID(), Shared: who.Shared,
		Method: c.Command.Name, Params: c.route.params, Trace: cmp.Or(c.route.forward, c.route.span).Parent(),
	}
}

// Forwarded is a result that another daemon made.
type Forwarded struct {
	Result json.RawMessage
	source string
}

// MarshalJSON returns the result as it came.
func (f Forwarded) MarshalJSON() ([]byte, error) { return f.Result, nil }

// ServedBy returns what served the page.
func (f Forwarded) ServedBy() string { return f.source }

const (
	// answerGrace is how long after the command's own timeout its answer may arrive: the
	// other daemon reports the timeout itself.
	answerGrace = 800 * time.Millisecond
	// cancelTimeout is how long to wait for the answer to a cancelled command.
	cancelTimeout = 2 * time.Second
	// maxTries is how often a call follows a session that moves from daemon to daemon.
	maxTries        = 5
	rerouteDelay    = 50 * time.Millisecond
	leaseRetryDelay = 500 * time.Millisecond
)

// runForwarded waits for a forwarded call, or recovers its session if the daemon that had it is lost.
func runForwarded(ctx context.Context, c *Call) (any, error) {
	if c.route.lost {
		return recoverSession(ctx, c)
	}
	return awaitForwarded(ctx, c)
}

// recoverInterval is how often a node that cannot be reached is checked, until its lease is over.
const recoverInterval = 200 * time.Millisecond

// recoverSession waits until the session's owner can be reached again or its lease is over, so
// that another daemon may take the session over. Then the call runs at the daemon that has it.
func recoverSession(ctx context.Context, c *Call) (any, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, c.arrived.Add(c.Common.timeout()), ErrTimeout)
	defer cancel()
	node, agent, name := c.Runtime.Fleet, c.Caller.Agent, c.route.session
	node.ForgetOwner(agent, name)
	for {
		if hasSession(c, name) {
			return reroute(ctx, c, nil)
		}
		owner, err := node.Owner(ctx, agent, name)
		if err != nil {
			return nil, err
		}
		switch own := owner != nil && owner.Node == node.ID(); {
		case own && !owner.Lost:
			busy, err := takeOver(ctx, c, *owner) // an earlier attempt may have succeeded although its answer was lost
			if err != nil && !isFull(err) {
				return nil, c.Failure(ctx, err)
			}
			if !busy {
				return reroute(ctx, c, nil) // the session is here, or is ending here
			}
		case owner == nil, !own && !owner.Lost && node.EnsureConnected(ctx, owner.Node) == nil:
			return reroute(ctx, c, nil) // it has ended, or another daemon has it
		case owner.Lost:
			if owner.Node != node.ID() {
				node.MarkFull(owner.Node) // the last heartbeat may have found it alive
			}
			heir, err := placeSession(ctx, c, name, !owner.Moving)
			if err != nil {
				return nil, c.Failure(ctx, err)
			}
			if heir.Node != node.ID() {
				c.route.to, c.route.lost, c.route.recover = &heir, false, true
				if err := sendToNode(c); err != nil {
					return nil, err
				}
				return runForwarded(ctx, c)
			}
			if _, err := takeOver(ctx, c, *owner); err != nil {
				return nil, c.Failure(ctx, err)
			}
			if hasSession(c, name) {
				continue
			}
		}
		select {
		case <-time.After(recoverInterval):
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), ErrTimeout) {
				return nil, protocol.Errorf(protocol.FleetUnavailable, "node %d, which has the session, is not reached", c.route.to.Number).With("node", c.route.to.Number)
			}
			return nil, c.Failure(ctx, context.Cause(ctx))
		}
	}
}

func hasSession(c *Call, name string) bool {
	_, err := c.Runtime.Sessions.Get(c.Caller.Agent, name)
	return err == nil
}

// takeOver makes this daemon the owner of the call's session, unless another one was faster.
// busy: the session is being opened or recovered here already.
func takeOver(ctx context.Context, c *Call, from fleet.Owner) (busy bool, err error) {
	agent, name := c.Caller.Agent, c.route.session
	return c.Runtime.Sessions.Recover(agent, name, func() (*session.RecoveredSession, error) {
		taken, err := c.Runtime.Fleet.TakeOver(ctx, agent, name, from)
		if err != nil || taken == nil {
			return nil, err
		}
		c.Runtime.Log.Info("a session was taken over", "session", name, "agent", agent, "from", from.Number, "handed_over", taken.Moved)
		return &session.RecoveredSession{Epoch: taken.Epoch, Content: taken.Checkpoint, Storage: taken.Storage, Answers: taken.Answers, Moved: taken.Moved}, nil
	})
}

// runAtNewOwner runs a call whose session was handed over while the call waited for its turn.
func runAtNewOwner(ctx context.Context, c *Call) (any, error) {
	if c.route.from != nil {
		return nil, ErrNotHere
	}
	c.route.session = c.Session.Name()
	return reroute(ctx, c, nil)
}

// jobAtNewOwner returns the job of a call whose session was handed over before the call was queued.
func jobAtNewOwner(c *Call) (*Job, error) {
	if c.route.from != nil {
		return nil, NotHere{}
	}
	c.route.to, c.route.session, c.route.lost = &fleet.Owner{}, c.Session.Name(), true
	return &Job{c}, nil
}

// awaitForwarded waits for the answer to a call that was sent.
func awaitForwarded(ctx context.Context, c *Call) (any, error) {
	left, cancel := context.WithDeadlineCause(context.WithoutCancel(ctx), c.arrived.Add(c.Common.timeout()+answerGrace), ErrTimeout)
	defer cancel()
	left, hurry := context.WithCancelCause(left)
	defer hurry(nil)
	defer context.AfterFunc(ctx, func() {
		c.route.pending.Cancel()
		time.AfterFunc(cancelTimeout, func() { hurry(context.Cause(ctx)) })
	})()
	answer, err := c.route.pending.Wait(left)
	c.route.forward.End(answerCode(answer, err))
	result, err := handleAnswer(ctx, c, answer, err)
	if err != nil && c.created {
		c.Caller.restore(c.route.session, c.before)
	}
	return result, err
}

// cancelledError returns why this daemon cancelled a forwarded call, with the other daemon's details of what the call
// did before.
func cancelledError(ctx context.Context, c *Call, cancelled *protocol.Error) error {
	why := c.Failure(ctx, context.Cause(ctx))
	var e *protocol.Error
	if len(cancelled.Details) == 0 || !errors.As(why, &e) {
		return why
	}
	said := *e // the error may be shared
	said.Details, said.Next = maps.Clone(cancelled.Details), cancelled.Next
	maps.Copy(said.Details, e.Details)
	return &said
}

// answerCode returns the error code of another daemon's answer, outcome_unknown without an answer, empty for a result.
func answerCode(answer fleet.Answer, err error) string {
	switch {
	case err != nil:
		return string(protocol.OutcomeUnknown)
	case answer.Error != nil:
		return string(answer.Error.Code)
	}
	return ""
}

// handleAnswer returns the result or error of an answer, or follows the session if the other daemon does not have it.
// Without an answer a command that changes nothing is sent again; any other is an error.
func handleAnswer(ctx context.Context, c *Call, answer fleet.Answer, err error) (any, error) {
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, fleet.ErrLost):
		c.route.pending.Cancel()
		return nil, noAnswerError(c, "did not answer in time")
	case err != nil && ctx.Err() != nil:
		return nil, c.Failure(ctx, context.Cause(ctx))
	case err != nil && changesNothing(c) && c.route.session != "" && !c.route.open:
		c.route.lost = true // the command changes nothing, and may be sent again
		return recoverSession(ctx, c)
	case err != nil:
		return nil, noAnswerError(c, "was lost while the command ran")
	case answer.NotHere && c.route.open:
		return retryAtOtherNode(ctx, c)
	case answer.NotHere:
		return reroute(ctx, c, answer.Ended)
	case answer.Error != nil && answer.Error.Code == protocol.FleetUnavailable:
		return retryAfterLease(ctx, c, answer.Error.Protocol())
	case answer.Error != nil:
		if answer.Error.Code == protocol.Cancelled && ctx.Err() != nil {
			return nil, cancelledError(ctx, c, answer.Error.Protocol())
		}
		refusal := answer.Error.Protocol()
		if c.route.open && lostHomeRace(c, refusal) {
			return reroute(ctx, c, nil)
		}
		if (c.route.open || c.route.recover) && isFull(refusal) && c.route.tries < maxTries {
			return retryAtOtherNode(ctx, c)
		}
		return nil, refusal
	}
	if answer.Session != "" && answer.Session != c.route.session {
		setCurrentSession(c, answer.Session)
	}
	return Forwarded{answer.Result, answer.Source}, nil
}

// retryAtOtherNode runs a call again whose session could not be opened or taken over, since the
// daemon takes none.
func retryAtOtherNode(ctx context.Context, c *Call) (any, error) {
	c.Runtime.Fleet.MarkFull(c.route.to.Node)
	if c.created {
		c.Caller.restore(c.route.session, c.before)
	}
	return reroute(ctx, c, nil)
}

// retryAfterLease runs a call again after leaseRetryDelay if the owner refused it because its lease
// is over: another daemon may own the session soon. Only calls that change nothing are retried;
// for others the client gets the error.
func retryAfterLease(ctx context.Context, c *Call, err *protocol.Error) (any, error) {
	c.Runtime.Fleet.ForgetOwner(c.Caller.Agent, c.route.session)
	left := time.Until(c.arrived.Add(c.Common.timeout()))
	if !changesNothing(c) || c.route.session == "" || c.route.open || left < 2*leaseRetryDelay || err.Details["reason"] == fleet.ReasonUnreadable || c.Runtime.Fleet.CheckLease() != nil {
		return nil, err
	}
	select {
	case <-time.After(leaseRetryDelay):
	case <-ctx.Done():
		return nil, c.Failure(ctx, context.Cause(ctx))
	}
	c.route.tries-- // reroute counts one
	return reroute(ctx, c, nil)
}

// noAnswerError returns the error of a command whose answer did not arrive: outcome_unknown if it
// may have changed something. Such a command is never sent twice.
func noAnswerError(c *Call, how string) error {
	c.Runtime.Fleet.ForgetOwner(c.Caller.Agent, c.route.session)
	if changesNothing(c) {
		return protocol.Errorf(protocol.FleetUnavailable, "node %d, which has the session, %s", c.route.to.Number, how).With("node", c.route.to.Number)
	}
	return protocol.Errorf(protocol.OutcomeUnknown, "node %d, which has the session, %s", c.route.to.Number, how).With("node", c.route.to.Number)
}

// reroute runs a call again whose session was not at the node that it was sent to: the session
// has ended, or another daemon has it.
func reroute(ctx context.Context, c *Call, ended *fleet.Ended) (any, error) {
	c.Runtime.Fleet.ForgetOwner(c.Caller.Agent, c.route.session)
	if ended != nil {
		c.Runtime.Sessions.Remember(c.Caller.Agent, session.Ended{Session: ended.Session, At: ended.At, Reason: ended.Reason})
	}
	if c.route.tries > 1 { // the session may be about to end or to begin there
		select {
		case <-time.After(rerouteDelay):
		case <-ctx.Done():
			return nil, c.Failure(ctx, context.Cause(ctx))
		}
	}
	if c.route.tries >= maxTries {
		return nil, protocol.Errorf(protocol.FleetUnavailable, "no node has the session %q now", protocol.Cut(c.route.session, 64))
	}
	anew := &Call{Caller: c.Caller, outer: c.outer, script: c.script, arrived: c.arrived}
	anew.route.tries, anew.route.span = c.route.tries+1, c.route.span
	job, err := c.Runtime.prepare(anew, c.Command.Name, c.route.params)
	if err != nil {
		return nil, err
	}
	return job.Run(ctx)
}

// WasForwarded reports whether another daemon has forwarded the call. It then concerns only what
// this daemon has.
func WasForwarded(c *Call) bool { return c.route.from != nil }

// OtherAnswer is what another daemon of the fleet answered.
type OtherAnswer struct {
	Node   string // its name
	Result json.RawMessage
	Err    error
}

// AskOthers sends the call to all other daemons of the fleet and returns their answers, in the
// order of their numbers. There are none without a fleet, or if the call was forwarded.
func AskOthers(ctx context.Context, c *Call) []OtherAnswer {
	node := c.Runtime.Fleet
	if node == nil || WasForwarded(c) {
		return nil
	}
	members := node.Members()
	answers := make([]OtherAnswer, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		if m.ID == node.ID() || m.Lost {
			continue
		}
		all.Go(func() {
			answers[i] = OtherAnswer{Node: m.Name}
			pending, err := node.Send(ctx, m.ID, fleetCall(c))
			if err != nil {
				answers[i].Err = err
				return
			}
			answer, err := pending.Wait(ctx)
			if err == nil && answer.Error != nil {
				err = answer.Error.Protocol()
			}
			answers[i].Result, answers[i].Err = answer.Result, err
		})
	}
	all.Wait()
	asked := answers[:0]
	for _, a := range answers {
		if a.Node != "" {
			asked = append(asked, a)
		}
	}
	return asked
}
