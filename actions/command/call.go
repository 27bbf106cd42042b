package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/telemetry"
)

// Limits of the parameter timeout_ms, which every command takes.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 120 * time.Second
)

// Call is one command on its way through.
type Call struct {
	Runtime *Runtime
	Caller  *Caller
	Command *Command
	Params  any // a pointer to the command's parameter struct
	Common  Common
	// Session is the session that the command is for; nil if it needs none.
	Session *session.Session
	before  string         // OwnSession's result before OpenSession
	opened  bool           // Session was opened because the call named none
	created bool           // Session was opened by OpenSession
	ended   *session.Ended // the caller's earlier session, if that has ended; nil: none
	reach   reach
	origin  string // the only origin for which an operator said yes; empty: nobody was asked
	turn    *session.Turn
	outer   *Call     // the call that runs this one, such as a batch; nil: none
	inner   string    // the session that a part of this call opened or named last; empty: none
	inherit bool      // the turn is that of outer
	script  *Scripted // the step of a script that the call is; nil: none
	run     string    // the id of the script that the call runs; empty: none
	arrived time.Time
	route   route
}

// Common are the parameters that all commands have.
type Common struct {
	Session   string `json:"session" doc:"the session's name; left out: the connection's own"`
	TimeoutMS int    `json:"timeout_ms" default:"30000" min:"1" max:"120000" doc:"milliseconds after which the command answers timeout"`
}

// reach says in which session's limits the call reaches addresses.
type reach struct {
	session *session.Session   // nil: none; a web tool does not need its turn
	within  policy.GateOptions // the session's, or what operators have added for the agent
}

// timeout returns how long the command may take, from its arrival.
func (c *Common) timeout() time.Duration { return time.Duration(c.TimeoutMS) * time.Millisecond }

// Job is a prepared command: its place in the queue is taken. Run must be
// called exactly once, or Drop instead.
type Job struct{ call *Call }

// Prepare checks a command and takes its place in its session's queue. It
// never blocks. The error is a *protocol.Error: unknown_command,
// invalid_params, policy_denied, session_not_found, session_limit, rate_limited, handed_off or
// fleet_unavailable.
//
// span is the command's, for traces; nil: there is none.
func (r *Runtime) Prepare(caller *Caller, span *telemetry.Span, method string, params json.RawMessage) (*Job, error) {
	return r.prepare(&Call{Caller: caller, route: route{span: span}}, method, params)
}

// prepare is Prepare for a call whose caller, outer call, script and route are set.
func (r *Runtime) prepare(c *Call, method string, params json.RawMessage) (*Job, error) {
	cmd, ok := r.Commands.Lookup(method)
	if !ok {
		return nil, protocol.Errorf(protocol.UnknownCommand, "there is no command %q", protocol.Cut(method, 60)).With("nearest", r.Commands.nearest(method))
	}
	c.Runtime, c.Command, c.route.params = r, cmd, params
	if c.arrived.IsZero() {
		c.arrived = time.Now()
	}
	var err error
	if c.Params, err = cmd.Decode(params, &c.Common); err != nil {
		return nil, err
	}
	if err = c.script.checkSession(c); err != nil {
		return nil, err
	}
	if err = c.checkReadOnly(); err != nil {
		c.recordRefusal(err)
		return nil, err
	}
	if cmd.Prepare != nil {
		if err := cmd.Prepare(c); err != nil {
			return nil, err
		}
	} else if err := c.FindSession(); err != nil {
		return nil, err
	}
	if c.route.to != nil {
		return &Job{c}, sendToNode(c)
	}
	if c.Session == nil {
		return &Job{c}, nil
	}
	if err := checkHandOff(c); err != nil {
		return nil, err
	}
	c.reach = reach{c.Session, session.GateOptions(c.Session)}
	if cmd.Is(Unqueued) && !c.opened && (cmd.Queues == nil || !cmd.Queues(c.Params)) {
		return &Job{c}, nil
	}
	if c.outer != nil && c.outer.Session == c.Session {
		c.turn, c.inherit = c.outer.turn, true
		return &Job{c}, nil
	}
	if c.turn, err = c.Session.Take(cmd.Is(Reads) && len(c.effectiveCommands()) == 1); err != nil {
		if errors.Is(c.Session.CheckLease(), session.ErrMoved) {
			return jobAtNewOwner(c)
		}
		return nil, err
	}
	return &Job{c}, nil
}

// FindSession finds the session that the command is for, or opens one.
func (c *Call) FindSession() error {
	name := c.Common.Session
	own := name == ""
	if own {
		name = OwnSession(c)
	}
	if c.Command.Is(NoSession) && name == "" {
		return nil
	}
	if name != "" {
		s, err := c.Runtime.Sessions.Get(c.Caller.Agent, name)
		elsewhere := false
		if err != nil && !c.Command.Is(NoSession) {
			var unknown error
			if elsewhere, unknown = routeToOwner(c, name); unknown != nil {
				return unknown
			}
		}
		switch {
		case err == nil || elsewhere:
			c.Session = s
			if !own && !c.Caller.Shared {
				setCurrentSession(c, name)
			}
			return nil
		case c.Command.Is(NoSession):
			return nil
		case !own:
			return err
		}
	}
	if c.Command.Is(NeedsSession) {
		return protocol.Errorf(protocol.SessionNotFound, "this connection has no session yet")
	}
	if p := c.route.from; c.Caller.Stateless && !c.Command.Is(BeginsSession) && (p == nil || !p.Open) { // the daemon that forwarded the call has checked that
		return protocol.Errorf(protocol.SessionNotFound, "%s needs a session, and the request names none", c.Command.Name).
			With("parameter", "session").Then("send open with a url, and pass the session that it answers with in every request")
	}
	name, err := openOrForward(c, session.Options{Name: c.Caller.Home})
	if lostHomeRace(c, err) {
		c.route.tries++
		return c.FindSession()
	}
	if err != nil {
		return err
	}
	c.opened = c.Session != nil
	setCurrentSession(c, name)
	return nil
}

// OwnSession returns the name of the session that c uses if it names none: that of its outer call, whatever
// other commands of the connection do meanwhile, or else the connection's own.
func OwnSession(c *Call) string {
	switch o := c.outer; {
	case o == nil:
		return c.Caller.Session()
	case o.inner == "" && o.Session != nil:
		return o.Session.Name()
	default:
		return o.inner
	}
}

// setCurrentSession makes a session the default for later commands of the caller that name none.
func setCurrentSession(c *Call, name string) {
	if c.outer != nil {
		c.outer.inner = name
	}
	c.Caller.use(name)
}

// lastEnded returns how c's own session ended; nil if it is open or there was none.
func lastEnded(c *Call) *session.Ended {
	if own := OwnSession(c); own != "" {
		return c.Runtime.Sessions.Ended(c.Caller.Agent, own)
	}
	return nil
}

// SessionEnded returns the session that the caller used before this one and that has ended since; nil: there is
// none. It is for the answer.
func (c *Call) SessionEnded() *session.Ended { return c.ended }

// CheckURL decides on a URL that the agent named, within the session's own restrictions.
func (c *Call) CheckURL(ctx context.Context, url string) (string, error) {
	checked, err := c.Runtime.CheckURL(ctx, c.reach.within, url)
	var e *protocol.Error
	if errors.As(err, &e) && e.Code == protocol.InvalidParams {
		e.With("parameter", "url")
	}
	return checked, err
}

// Origin returns the only origin in which the call may do its work, because an operator allowed it there; empty: no
// restriction.
func (c *Call) Origin() string { return c.origin }

// Supervised reports whether the caller's autonomy is supervised.
func Supervised(c *Call) bool { return c.autonomy() == policy.Supervised }

// SessionName returns the name of the job's session, "" if it has none.
func (j *Job) SessionName() string {
	if j.call.Session == nil {
		return j.call.route.session
	}
	return j.call.Session.Name()
}

// OpenedSession reports whether the command opened a session because it had none.
func (j *Job) OpenedSession() bool { return j.call.opened }

// ClosedOpened reports whether the command opened a session with options (OpenSession). Such a session is
// closed again if the command fails.
func (j *Job) ClosedOpened() bool { return j.call.created }

// CloseFailedSession closes the session that a failed command had opened, if no page was opened in it or the
// client will not learn its name (clientGone). It reports whether it did.
func (j *Job) CloseFailedSession(clientGone bool) (closed bool) {
	c := j.call
	if p := c.Session.Page(); p != nil && !clientGone && strings.HasPrefix(p.State().URL, "http") {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // do not wait until it is closed
	c.Runtime.Sessions.Close(ctx, c.Caller.Agent, c.Session.Name())
	return true
}

// OpenSession opens a session with these options and makes it the call's and the
// caller's own. If the command is refused or fails later, call CloseOpened.
func (c *Call) OpenSession(o session.Options) error {
	name, err := openOrForward(c, o)
	if err != nil {
		return err
	}
	c.created, c.before = true, OwnSession(c)
	if !c.Caller.Shared || c.Common.Session == "" {
		setCurrentSession(c, name)
	}
	return nil
}

// CloseOpened closes the session that OpenSession opened, and gives the caller the one
// before it again.
func (c *Call) CloseOpened(ctx context.Context) {
	c.Runtime.Sessions.Close(context.WithoutCancel(ctx), c.Caller.Agent, c.Session.Name())
	if c.outer != nil && c.outer.inner == c.Session.Name() {
		c.outer.inner = c.before
	}
	c.Caller.restore(c.Session.Name(), c.before)
}

// View returns the view of c's client: what it was shown of the session's page. Only while c holds the turn.
func View(c *Call) *session.View { return c.Session.View(c.Caller.client()) }

// Inner runs another command for the same caller. If it is for the same session, it runs in this call's turn.
func (c *Call) Inner(ctx context.Context, method string, params json.RawMessage) (any, error) {
	job, err := c.Runtime.prepare(&Call{Caller: c.Caller, outer: c, route: route{span: c.route.span}}, method, params)
	if err != nil {
		return nil, err
	}
	return job.Run(ctx)
}

// Yield runs pause, which waits and touches nothing of the session or its page, while
// commands behind this one that only read have their turn. Within a batch nothing else
// runs. After an error the call does not have the turn.
func (c *Call) Yield(ctx context.Context, pause func()) error {
	if c.turn == nil || c.inherit {
		pause()
		return nil
	}
	return c.turn.Yield(ctx, pause)
}

// Drop gives up the place in the queue without running the command.
func (j *Job) Drop() {
	if j.call.turn != nil && !j.call.inherit {
		j.call.turn.End()
	}
	if j.call.route.pending != nil {
		j.call.route.pending.Cancel()
	}
}

// Run waits for the command's turn and, where that is needed, for an operator's
// confirmation, runs it and returns its result object, or
// a *protocol.Error. It answers within the command's timeout_ms, counted from
// its arrival. Cancelling ctx with cause ErrCancelled answers cancelled.
func (j *Job) Run(ctx context.Context) (any, error) {
	c := j.call
	if c.route.to != nil {
		return runForwarded(ctx, c)
	}
	defer j.Drop()
	ctx, cancel := context.WithDeadlineCause(ctx, c.arrived.Add(c.Common.timeout()), ErrTimeout)
	defer cancel()
	if c.turn != nil && !c.inherit {
		_, queued := telemetry.Part(ctx, "queue")
		err := c.turn.Wait(ctx)
		if err == nil { // ctx may have ended in the same moment
			err = context.Cause(ctx)
		}
		if life := c.Runtime.Life; err == nil && life != nil {
			err = context.Cause(life)
		}
		queued.End("")
		if err != nil {
			return nil, c.Runtime.redacted(c.Caller.Agent, c.Failure(ctx, err))
		}
	}
	sent := ctx // unlike ctx below, does not end with the session
	err := checkLease(c)
	if errors.Is(err, session.ErrMoved) { // the session was handed over while the command waited for its turn
		return runAtNewOwner(sent, c)
	}
	if c.turn != nil && !c.inherit {
		var end, stop func()
		ctx, end = c.Session.BeginCommand(ctx, c.Command.Name)
		defer end()
		ctx, stop = session.Control(c.Session).UntilTakenOver(ctx)
		defer stop()
		if err := checkHandOff(c); err != nil {
			return nil, err
		}
	}
	if err == nil && c.opened && c.Command.Is(Unqueued) { // make the page, as session_open does
		if _, err := c.Page(ctx); err != nil {
			return nil, c.Runtime.redacted(c.Caller.Agent, c.Failure(ctx, err))
		}
	}
	growStack(0)
	if err == nil {
		err = resolveTargets(ctx, c)
	}
	if err == nil {
		err = checkScriptSecrets(ctx, c)
	}
	written := c.logAction(ctx)
	if err == nil {
		err = c.script.before(ctx, c)
	}
	var result any
	if err == nil {
		working, work := telemetry.Part(ctx, "run "+c.Command.Name)
		result, err = c.runCharged(working)
		work.End(traceCode(err))
		if c.turn != nil && !c.inherit && (err == nil || c.Command.Is(Acts)) {
			session.Checkpoint(c.Session)
		}
	}
	err = outcomeAfterLease(c, err)
	if errors.Is(err, session.ErrMoved) {
		if written != nil {
			written(nil, ErrNotHere)
		}
		return runAtNewOwner(sent, c)
	}
	if c.Session != nil && (err != nil || ctx.Err() != nil) {
		session.ForgetReported(c.Session, c.Caller.Token) // the result that named the page is not sent
	}
	if err != nil {
		err = c.Runtime.redacted(c.Caller.Agent, c.offerOverride(c.Failure(ctx, err)))
		result = nil
	}
	if written != nil {
		written(result, err)
	}
	return result, err
}

// traceCode returns how a trace names the error: its code, or failed if it has none yet; empty without an error.
func traceCode(err error) string {
	var e *protocol.Error
	switch {
	case errors.As(err, &e):
		return string(e.Code)
	case err != nil:
		return "failed"
	}
	return ""
}

// checkLease returns fleet_unavailable if the daemon's lease is over, and ErrMoved if another daemon owns the
// call's session. Without its lease the daemon may not act for the session, since another daemon may own it by
// now. Nor may it show the agent a document, since it does not know which secrets other daemons give the agent.
func checkLease(c *Call) error {
	switch {
	case c.Session != nil:
		return c.Session.CheckLease()
	case c.Command.Is(Offline) && c.Runtime.Fleet != nil:
		return c.Runtime.Fleet.CheckAgent(c.Caller.Agent)
	}
	return nil
}

// outcomeAfterLease returns err, the outcome of a command, unless the daemon's lease ended while it ran. Then
// another daemon may own the session, and the error is outcome_unknown. For a command that changed nothing it
// returns checkLease's error; with ErrMoved the command runs again at the new owner. An operator's no stays,
// since the operator would be asked again there otherwise. The command's result and error are not shown, since
// they may have secrets that other daemons gave the agent.
func outcomeAfterLease(c *Call, err error) error {
	lost := checkLease(c)
	switch {
	case lost == nil:
		return err
	case !c.route.mayHaveActed && protocol.CodeOf(err) == protocol.ConfirmationDenied:
		return bareDenial(c, err)
	case !c.route.mayHaveActed, changesNothing(c):
		return lost
	}
	return protocol.Errorf(protocol.OutcomeUnknown, "%s was under way when this daemon lost the right to act for its session", c.Command.Name)
}

// bareDenial returns the error of an operator's no without text that may be from pages.
func bareDenial(c *Call, err error) error {
	bare := protocol.Errorf(protocol.ConfirmationDenied, "%s was not confirmed", c.Command.Name)
	var said *protocol.Error
	if errors.As(err, &said) {
		bare.With("command", said.Details["command"]).With("reason", said.Details["reason"])
		bare.Next = said.Next
	}
	return bare
}

// growStack makes the goroutine's stack as large as a command needs while there is little
// on it. A stack starts with 2 to 8 KB, and is copied each time it doubles.
//
//go:noinline
func growStack(i int) byte {
	var used [20 << 10]byte // makes the stack 32 KB
	return used[i]
}

// ErrTimeout is the cause with which a command's context ends at its timeout_ms.
var ErrTimeout = fmt.Errorf("the command's time is over")

// ErrCancelled is the cause with which a transport cancels a job's context when its
// client asks for it or is gone.
var ErrCancelled = protocol.Errorf(protocol.Cancelled, "the command was cancelled")

// ErrShuttingDown is the cause with which the daemon ends running commands.
var ErrShuttingDown = protocol.Errorf(protocol.ShuttingDown, "the daemon is shutting down")
