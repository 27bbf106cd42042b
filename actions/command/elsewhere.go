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

// route is where a call goes in a fleet. The zero value is a call of a daemon that serves alone.
type route struct {
	params  json.RawMessage // as the client wrote them
	passed  *Passed         // another daemon passed the call on; nil: this daemon's client sent it
	to      *fleet.Owner    // the daemon that it is passed on to; nil: it is done here
	session string          // for which it is passed on
	open    bool            // which has to be opened there
	pending *fleet.Pending
	lost    bool // that daemon is lost, or hands the session over: it has to be recovered
	recover bool // that daemon has to recover it
	tries   int  // after daemons that did not have the session any more
	begun   bool // it may have acted here

	span    *telemetry.Span // the command's
	forward *telemetry.Span // of its part at the daemon that it was passed on to
}

// Passed is what another daemon says of a command that it passes on.
type Passed struct {
	Session string         // which the command is for; empty: none
	Open    bool           // it is to be opened under that name
	Follows *session.Ended // the client's session before it, which has ended; nil: none
	Recover bool           // its owner is lost, or hands it over: this daemon takes it over
	Span    *telemetry.Span
}

// ErrNotHere is the error of a command that was passed on, and whose session was handed over
// while it waited. Nothing was done.
var ErrNotHere = protocol.Errorf(protocol.SessionNotFound, "the session is not here any more")

// NotHere is the error of a command that was passed on to a daemon without its session. Nothing
// was done.
type NotHere struct{ Ended *session.Ended } // nil: nobody knows of it

func (NotHere) Error() string { return "the session is not here" }

// PreparePassed is Prepare for a command that another daemon has passed on. Its error may be a
// NotHere too. It may wait for the fleet's database.
func (r *Runtime) PreparePassed(caller *Caller, p Passed, method string, params json.RawMessage) (*Job, error) {
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
	return r.prepare(&Call{Caller: caller, route: route{passed: &p, span: p.Span}}, method, params)
}

// Elsewhere reports whether the job is done by another daemon.
func (j *Job) Elsewhere() bool { return j.call.route.to != nil }

// ID identifies the caller among those of this daemon; empty for single requests.
func (c *Caller) ID() string {
	if c.Stateless || c.Home != "" {
		return ""
	}
	if c.Of != nil {
		return c.Of.ID()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id == "" {
		c.id = rand.Text()[:16]
	}
	return c.id
}

// findElsewhere routes the call to the daemon that has the agent's session of that name, if
// another one has. A command that was passed on once is not passed on again, but its parts
// may be, such as those of a batch.
func findElsewhere(c *Call, name string) (found bool, err error) {
	node := c.Runtime.Fleet
	if node == nil || c.route.passed != nil {
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
	c.route.lost = owner.Lost || owner.Node == node.ID() // or it is recovered here just now
	return true, nil
}

// openAnywhere opens a session with these options, here or, in a fleet, at the daemon whose
// turn it is, and returns its name. Then the call is done there too.
func openAnywhere(c *Call, o session.Options) (name string, err error) {
	if p := c.route.passed; p != nil {
		o.Name, c.ended = p.Session, p.Follows
	} else {
		c.ended = lastEnded(c)
	}
	o.Follows = c.ended
	for node := c.Runtime.Fleet; ; node.Full(node.ID()) {
		if node != nil && c.route.passed == nil {
			owner, err := place(context.Background(), c, o.Name, false)
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
		if node != nil && c.route.passed == nil && full(err) {
			continue // it has become full, or begun to drain, since
		}
		if node == nil && full(err) {
			session.Refused(c.Runtime.Sessions, c.Caller.Agent, o.Name)
		}
		if err != nil {
			return "", err
		}
		c.Session = s
		return s.Name(), nil
	}
}

// opensHome reports whether err says that another daemon was faster to open the caller's home.
func opensHome(c *Call, err error) bool {
	return c.Caller.Home != "" && !c.created && c.route.tries < maxTries && protocol.CodeOf(err) == protocol.InvalidParams
}

// full reports whether a daemon refused a session that another one may have room for.
func full(err error) bool {
	var e *protocol.Error
	return errors.As(err, &e) && e.Details["quota"] == session.QuotaOfDaemon
}

// reachWithin is how long a call waits for a connection to another node. A client's connection
// reads nothing else meanwhile.
const reachWithin = time.Second

// place chooses the daemon for a session of that name, new or lost, among those that are reached.
func place(ctx context.Context, c *Call, name string, lost bool) (fleet.Owner, error) {
	node := c.Runtime.Fleet
	reaching, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	for {
		owner, err := node.Place(lost)
		if protocol.CodeOf(err) == protocol.SessionLimit {
			session.Refused(c.Runtime.Sessions, c.Caller.Agent, name)
		}
		if err != nil || owner.Node == node.ID() || node.Reach(reaching, owner.Node) == nil {
			return owner, err
		}
		if ctx.Err() != nil {
			return fleet.Owner{}, context.Cause(ctx)
		}
		node.Full(owner.Node)
	}
}

// send passes a routed call on. Calls are sent in the order in which they are prepared. After
// an error nothing was sent.
func send(c *Call) error {
	if c.route.lost {
		return nil
	}
	c.route.forward = c.route.span.Forward(c.route.to.Number)
	message := passed(c)
	message.Session, message.Open, message.Recover = c.route.session, c.route.open, c.route.recover
	if c.route.open && c.ended != nil {
		message.Follows = &fleet.Ended{Session: c.ended.Session, At: c.ended.At, Reason: c.ended.Reason}
	}
	ctx, cancel := context.WithTimeout(context.Background(), reachWithin)
	defer cancel()
	var err error
	c.route.pending, err = c.Runtime.Fleet.Send(ctx, c.route.to.Node, message)
	if err != nil {
		c.route.forward.End(string(protocol.FleetUnavailable))
		c.Runtime.Log.Warn("a command could not be passed on", "node", c.route.to.Number, "error", err)
		c.Runtime.Fleet.Unlocate(c.Caller.Agent, c.route.session)
		if !c.route.open {
			c.route.lost = true
			return nil
		}
		return protocol.Errorf(protocol.FleetUnavailable, "node %d is not reached", c.route.to.Number).With("node", c.route.to.Number)
	}
	if c.route.open { // or, when it has ended, nobody would say how
		c.Runtime.Fleet.Located(c.Caller.Agent, c.route.session, *c.route.to)
	}
	return nil
}

// passed returns the call as another daemon gets it, for no session.
func passed(c *Call) fleet.Call {
	who := c.Caller
	return fleet.Call{
		Agent: who.Agent, Role: who.Role, Autonomy: string(who.Autonomy), Token: who.Token, Client: who.ID(), Shared: who.Shared,
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
	// answerWithin is how much longer than the command's own time its answer may take: the
	// other daemon says timeout itself.
	answerWithin = 800 * time.Millisecond
	// cancelWithin is how long the answer to a cancelled command may take.
	cancelWithin = 2 * time.Second
	// maxTries is how often a session is looked for that goes from daemon to daemon.
	maxTries   = 5
	tryAgainIn = 50 * time.Millisecond
	laterBy    = 500 * time.Millisecond
)

// runElsewhere does a call that is done by another daemon, or would be if that were not lost.
func runElsewhere(ctx context.Context, c *Call) (any, error) {
	if c.route.lost {
		return recoverSession(ctx, c)
	}
	return awaitElsewhere(ctx, c)
}

// recoverEvery is how often a node without a connection is looked at, until its lease is over.
const recoverEvery = 200 * time.Millisecond

// recoverSession waits until the owner of the call's session may be succeeded, or is reached
// again, and has the call done then, by the daemon that has the session.
func recoverSession(ctx context.Context, c *Call) (any, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, c.arrived.Add(c.Common.timeout()), ErrTimeout)
	defer cancel()
	node, agent, name := c.Runtime.Fleet, c.Caller.Agent, c.route.session
	node.Unlocate(agent, name)
	for {
		if here(c, name) {
			return again(ctx, c, nil)
		}
		owner, err := node.Owner(ctx, agent, name)
		if err != nil {
			return nil, err
		}
		switch own := owner != nil && owner.Node == node.ID(); {
		case own && !owner.Lost:
			busy, err := takeOver(ctx, c, *owner) // the answer to an earlier try may have been lost
			if err != nil && !full(err) {
				return nil, c.Failure(ctx, err)
			}
			if !busy {
				return again(ctx, c, nil) // it is here, or ends here
			}
		case owner == nil, !own && !owner.Lost && node.Reach(ctx, owner.Node) == nil:
			return again(ctx, c, nil) // it has ended, or another daemon has it
		case owner.Lost:
			if owner.Node != node.ID() {
				node.Full(owner.Node) // the last beat may have found it alive
			}
			heir, err := place(ctx, c, name, true)
			if err != nil {
				return nil, c.Failure(ctx, err)
			}
			if heir.Node != node.ID() {
				c.route.to, c.route.lost, c.route.recover = &heir, false, true
				if err := send(c); err != nil {
					return nil, err
				}
				return runElsewhere(ctx, c)
			}
			if _, err := takeOver(ctx, c, *owner); err != nil {
				return nil, c.Failure(ctx, err)
			}
			if here(c, name) {
				continue
			}
		}
		select {
		case <-time.After(recoverEvery):
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), ErrTimeout) {
				return nil, protocol.Errorf(protocol.FleetUnavailable, "node %d, which has the session, is not reached", c.route.to.Number).With("node", c.route.to.Number)
			}
			return nil, c.Failure(ctx, context.Cause(ctx))
		}
	}
}

func here(c *Call, name string) bool {
	_, err := c.Runtime.Sessions.Get(c.Caller.Agent, name)
	return err == nil
}

// takeOver continues the call's session here, if nobody else was faster. busy: it is being opened
// or recovered here already.
func takeOver(ctx context.Context, c *Call, from fleet.Owner) (busy bool, err error) {
	agent, name := c.Caller.Agent, c.route.session
	return c.Runtime.Sessions.Recover(agent, name, func() (*session.TakenOver, error) {
		taken, err := c.Runtime.Fleet.TakeOver(ctx, agent, name, from)
		if err != nil || taken == nil {
			return nil, err
		}
		c.Runtime.Log.Info("a session goes on here", "session", name, "agent", agent, "from", from.Number, "handed_over", taken.Moved)
		return &session.TakenOver{Epoch: taken.Epoch, Content: taken.Checkpoint, Storage: taken.Storage, Moved: taken.Moved}, nil
	})
}

// moved does a call whose session was handed over while it waited for its turn.
func moved(ctx context.Context, c *Call) (any, error) {
	if c.route.passed != nil {
		return nil, ErrNotHere
	}
	c.route.session = c.Session.Name()
	return again(ctx, c, nil)
}

// movedBefore returns the job of a call whose session was handed over before it could wait.
func movedBefore(c *Call) (*Job, error) {
	if c.route.passed != nil {
		return nil, NotHere{}
	}
	c.route.to, c.route.session, c.route.lost = &fleet.Owner{}, c.Session.Name(), true
	return &Job{c}, nil
}

// awaitElsewhere waits for the answer of a call that was sent.
func awaitElsewhere(ctx context.Context, c *Call) (any, error) {
	left, cancel := context.WithDeadlineCause(context.WithoutCancel(ctx), c.arrived.Add(c.Common.timeout()+answerWithin), ErrTimeout)
	defer cancel()
	left, hurry := context.WithCancelCause(left)
	defer hurry(nil)
	defer context.AfterFunc(ctx, func() {
		c.route.pending.Cancel()
		time.AfterFunc(cancelWithin, func() { hurry(context.Cause(ctx)) })
	})()
	answer, err := c.route.pending.Wait(left)
	c.route.forward.End(failed(answer, err))
	result, err := answered(ctx, c, answer, err)
	if err != nil && c.created {
		c.Caller.restore(c.route.session, c.before)
	}
	return result, err
}

// endedHere returns why a call ended here that the other daemon was told to cancel, with what that one says of
// what was done before.
func endedHere(ctx context.Context, c *Call, cancelled *protocol.Error) error {
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

// failed returns the code with which another daemon's part of a call failed; empty: it did not.
func failed(answer fleet.Answer, err error) string {
	switch {
	case err != nil:
		return string(protocol.OutcomeUnknown)
	case answer.Error != nil:
		return string(answer.Error.Code)
	}
	return ""
}

// answered returns what an answer says, or what its absence means.
func answered(ctx context.Context, c *Call, answer fleet.Answer, err error) (any, error) {
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, fleet.ErrLost):
		c.route.pending.Cancel()
		return nil, lost(c, "did not answer in time")
	case err != nil && ctx.Err() != nil:
		return nil, c.Failure(ctx, context.Cause(ctx))
	case err != nil && c.Command.Is(MCPReadOnly) && c.route.session != "" && !c.route.open:
		c.route.lost = true // the command changes nothing, and may be sent again
		return recoverSession(ctx, c)
	case err != nil:
		return nil, lost(c, "was lost while the command ran")
	case answer.NotHere && c.route.open:
		return elsewhere(ctx, c)
	case answer.NotHere:
		return again(ctx, c, answer.Ended)
	case answer.Error != nil && answer.Error.Code == protocol.FleetUnavailable:
		return refused(ctx, c, answer.Error.Protocol())
	case answer.Error != nil:
		if answer.Error.Code == protocol.Cancelled && ctx.Err() != nil {
			return nil, endedHere(ctx, c, answer.Error.Protocol())
		}
		refusal := answer.Error.Protocol()
		if c.route.open && opensHome(c, refusal) {
			return again(ctx, c, nil)
		}
		if (c.route.open || c.route.recover) && full(refusal) && c.route.tries < maxTries {
			return elsewhere(ctx, c)
		}
		return nil, refusal
	}
	if answer.Session != "" && answer.Session != c.route.session {
		use(c, answer.Session)
	}
	return Forwarded{answer.Result, answer.Source}, nil
}

// elsewhere does a call anew for which a session was to be opened, or taken over, at a daemon that
// takes none.
func elsewhere(ctx context.Context, c *Call) (any, error) {
	c.Runtime.Fleet.Full(c.route.to.Node)
	if c.created {
		c.Caller.restore(c.route.session, c.before)
	}
	return again(ctx, c, nil)
}

// refused does a call later that the owner refused, since its lease is over: another daemon may
// have the session soon. A call that may change something is the client's to send again.
func refused(ctx context.Context, c *Call, err error) (any, error) {
	c.Runtime.Fleet.Unlocate(c.Caller.Agent, c.route.session)
	left := time.Until(c.arrived.Add(c.Common.timeout()))
	if !c.Command.Is(MCPReadOnly) || c.route.session == "" || c.route.open || left < 2*laterBy || c.Runtime.Fleet.Held() != nil {
		return nil, err
	}
	select {
	case <-time.After(laterBy):
	case <-ctx.Done():
		return nil, c.Failure(ctx, context.Cause(ctx))
	}
	c.route.tries-- // again counts one
	return again(ctx, c, nil)
}

// lost returns the error of a command whose answer did not come. It may have been done, and is
// never sent twice.
func lost(c *Call, how string) error {
	c.Runtime.Fleet.Unlocate(c.Caller.Agent, c.route.session)
	if c.Command.Is(MCPReadOnly) {
		return protocol.Errorf(protocol.FleetUnavailable, "node %d, which has the session, %s", c.route.to.Number, how).With("node", c.route.to.Number)
	}
	return protocol.Errorf(protocol.OutcomeUnknown, "node %d, which has the session, %s", c.route.to.Number, how).With("node", c.route.to.Number)
}

// again does a call anew whose session was not where it was sent: the session has ended, or
// another daemon has it.
func again(ctx context.Context, c *Call, ended *fleet.Ended) (any, error) {
	c.Runtime.Fleet.Unlocate(c.Caller.Agent, c.route.session)
	if ended != nil {
		c.Runtime.Sessions.Remember(c.Caller.Agent, session.Ended{Session: ended.Session, At: ended.At, Reason: ended.Reason})
	}
	if c.route.tries > 1 { // it is about to end there, or to begin
		select {
		case <-time.After(tryAgainIn):
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

// IsPassed reports whether another daemon has passed the call on, so that it is about what
// this one has.
func IsPassed(c *Call) bool { return c.route.passed != nil }

// OtherAnswer is what another daemon of the fleet answered.
type OtherAnswer struct {
	Node   string // its name
	Result json.RawMessage
	Err    error
}

// AskOthers sends the call to all other daemons of the fleet and returns their answers, in the
// order of their numbers. None where the daemon serves alone, or the call was passed on.
func AskOthers(ctx context.Context, c *Call) []OtherAnswer {
	node := c.Runtime.Fleet
	if node == nil || IsPassed(c) {
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
			pending, err := node.Send(ctx, m.ID, passed(c))
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
