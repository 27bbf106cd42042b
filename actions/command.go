package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// Command is one row of the repertoire.
type Command struct {
	Name    string
	Summary string // one sentence
	// Main is the main parameter: the first positional argument on the command line.
	Main   string
	AtOnce bool // does not queue
	Acts   bool // changes the page, carries effect
	Static bool // works without Chromium too
	// NoSession: the command needs no session and opens none.
	NoSession bool
	params    reflect.Type
	run       func(ctx context.Context, c *Call) (any, error)
	// prepare, where set, runs in Prepare after the parameters are checked.
	prepare func(c *Call) error
}

// Limits of the parameter timeout_ms, which every command takes.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 120 * time.Second
)

// House is what the commands work with; one for the daemon.
type House struct {
	Sessions *session.Manager
	Version  string
	Log      *slog.Logger
	// States are what state_save writes.
	States *session.States
	// Status reports on what lies outside the sessions; nil for nothing.
	Status func() map[string]any
	// Rules are what agents may do by themselves.
	Rules Rules
	// CheckURL decides on a URL that an agent named for a session that reaches
	// only those domains (empty: it narrows nothing), and returns it as it is to
	// be opened (policy.Gate.CheckURL).
	CheckURL func(ctx context.Context, domains []string, url string) (string, error)
	// Web is what the web tools work with; nil: they are unsupported.
	Web *Web
	// Ledger charges the web tools and keeps the trail; nil: nobody does.
	Ledger *ledger.Ledger
}

// Caller is one client: a connection, or a single HTTP request. Prepare may be
// called for it by one goroutine at a time; Session may be read by any.
type Caller struct {
	Agent string
	Role  string // RoleAgent or RoleOperator
	// Autonomy is the caller's own; empty: the house's.
	Autonomy policy.Autonomy
	// Token tells the caller's token from all others.
	Token int
	// Cancel ends a running or queued request of the same connection; nil
	// where the door has no such thing.
	Cancel func(id json.RawMessage) bool
	// Subscribe chooses the events that the connection gets, of the sessions that
	// it opened or named or of all the agent's; nil where the door has none.
	Subscribe func(types []string, all bool) error
	// Use is told of every session that the caller opens or names; nil: nobody asks.
	Use func(session string)

	mu      sync.Mutex
	session string
}

// Roles of a caller.
const (
	RoleAgent    = "agent"
	RoleOperator = "operator"
)

// Session is the connection's own session: the last one it opened or named.
func (c *Caller) Session() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// back makes the session before the connection's own again, where it is still
// the one that could not be opened.
func (c *Caller) back(failed, before string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == failed {
		c.session = before
	}
}

func (c *Caller) use(name string) {
	c.mu.Lock()
	c.session = name
	c.mu.Unlock()
	if c.Use != nil {
		c.Use(name)
	}
}

// Call is one command on its way through.
type Call struct {
	House   *House
	Caller  *Caller
	Command *Command
	Params  any // a pointer to the command's parameter struct
	Common  Common
	// Session is the session that the command is for; nil where it needs none.
	Session *session.Session
	before  string // the connection's own session before session_open
	opened  bool   // Session was opened for want of one
	// domains are the only hosts that the call may reach; empty: it narrows nothing.
	domains []string
	turn    *session.Turn
	inherit bool // the turn is an outer batch's
	arrived time.Time
}

// Common are the parameters that commands share beside their own.
type Common struct {
	Session   string `json:"session" doc:"the session's name; left out: the connection's own"`
	TimeoutMS int    `json:"timeout_ms" default:"30000" min:"1" max:"120000" doc:"milliseconds after which the command answers timeout"`
}

// Job is a prepared command: its place in the queue is taken. Run must be
// called exactly once, or Drop instead.
type Job struct{ call *Call }

// Prepare checks a command and takes its place in its session's queue. It
// never blocks. The error is a *protocol.Error: unknown_command,
// invalid_params, policy_denied, session_not_found, session_limit or rate_limited.
func (h *House) Prepare(caller *Caller, method string, params json.RawMessage) (*Job, error) {
	return h.prepare(caller, method, params, nil)
}

func (h *House) prepare(caller *Caller, method string, params json.RawMessage, outer *Call) (*Job, error) {
	cmd, ok := Lookup(method)
	if !ok {
		return nil, protocol.Errorf(protocol.UnknownCommand, "there is no command %q", cut(method, 60)).With("nearest", nearest(method))
	}
	c := &Call{House: h, Caller: caller, Command: cmd, arrived: time.Now()}
	var err error
	if c.Params, err = decodeParams(cmd, params, &c.Common); err != nil {
		return nil, err
	}
	if err = c.mayEver(); err != nil {
		c.bookRefusal(err)
		return nil, err
	}
	if cmd.prepare != nil {
		if err := cmd.prepare(c); err != nil {
			return nil, err
		}
	} else if err := c.findSession(); err != nil {
		return nil, err
	}
	if c.Session == nil {
		return &Job{c}, nil
	}
	c.domains = c.Session.AllowedDomains()
	if cmd.AtOnce && !c.opened {
		return &Job{c}, nil
	}
	if outer != nil && outer.Session == c.Session {
		c.turn, c.inherit = outer.turn, true
		return &Job{c}, nil
	}
	if c.turn, err = c.Session.Take(); err != nil {
		return nil, err
	}
	return &Job{c}, nil
}

// findSession names the session that the command is for.
func (c *Call) findSession() error {
	name := c.Common.Session
	own := name == ""
	if own {
		name = c.Caller.Session()
	}
	if c.Command.NoSession && name == "" {
		return nil
	}
	if name != "" {
		s, err := c.House.Sessions.Get(c.Caller.Agent, name)
		switch {
		case err == nil:
			c.Session = s
			if !own {
				c.Caller.use(name)
			}
			return nil
		case c.Command.NoSession:
			return nil
		case !own:
			return err
		}
	}
	if c.Command.Name == "session_close" { // one that is opened to be closed is nobody's
		return protocol.Errorf(protocol.SessionNotFound, "this connection has no session yet")
	}
	s, err := c.House.Sessions.Open(c.Caller.Agent, session.Options{})
	if err != nil {
		return err
	}
	c.Session, c.opened = s, true
	c.Caller.use(s.Name())
	return nil
}

// checkURL decides on a URL that the agent named, within what its session
// narrows.
func (c *Call) checkURL(ctx context.Context, url string) (string, error) {
	checked, err := c.House.CheckURL(ctx, c.domains, url)
	var e *protocol.Error
	if errors.As(err, &e) && e.Code == protocol.InvalidParams {
		e.With("parameter", "url")
	}
	return checked, err
}

// SessionName is the name of the job's session, "" where it has none.
func (j *Job) SessionName() string {
	if j.call.Session == nil {
		return ""
	}
	return j.call.Session.Name()
}

// OpenedSession says whether the command opened its session, for want of one.
func (j *Job) OpenedSession() bool { return j.call.opened }

// Failed closes the session that a command opened and then failed in, where nothing was
// opened in it or nobody will hear its name (unheard), and says whether it did.
func (j *Job) Failed(unheard bool) (closed bool) {
	c := j.call
	if p := c.Session.Page(); p != nil && !unheard && strings.HasPrefix(p.State().URL, "http") {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nobody waits for its end
	c.House.Sessions.Close(ctx, c.Caller.Agent, c.Session.Name())
	return true
}

// timeout is how long the command may take, from its arrival.
func (c *Call) timeout() time.Duration {
	return time.Duration(c.Common.TimeoutMS) * time.Millisecond
}

// Drop gives the place in the queue up without running the command.
func (j *Job) Drop() {
	if j.call.turn != nil && !j.call.inherit {
		j.call.turn.End()
	}
}

// Run waits for the command's turn and, where that is needed, for an operator's
// confirmation, runs it and returns its result object, or
// a *protocol.Error. It answers within the command's timeout_ms, counted from
// its arrival. Cancelling ctx with cause ErrCancelled answers cancelled.
func (j *Job) Run(ctx context.Context) (any, error) {
	c := j.call
	defer j.Drop()
	ctx, cancel := context.WithDeadlineCause(ctx, c.arrived.Add(c.timeout()), errTimeout)
	defer cancel()
	if c.turn != nil && !c.inherit {
		if err := c.turn.Wait(ctx); err != nil {
			return nil, c.failure(ctx, err)
		}
		var end func()
		ctx, end = c.Session.Touch(ctx, c.Command.Name)
		defer end()
	}
	if c.opened && c.Command.AtOnce { // such commands find a page, as they do behind session_open
		if _, err := c.page(ctx); err != nil {
			return nil, c.failure(ctx, err)
		}
	}
	deepen(0)
	written := c.note(ctx)
	result, err := c.booked(ctx)
	if err != nil {
		err = c.offer(c.failure(ctx, err))
		result = nil
	}
	if written != nil {
		written(result, err)
	}
	return result, err
}

// deepen has the goroutine's stack grow to what a command needs while there is little on
// it. It begins with 2 to 8 KB, and is copied, frame by frame, each time it doubles.
//
//go:noinline
func deepen(i int) byte {
	var room [12 << 10]byte // which makes it 16 KB
	return room[i]
}

var errTimeout = fmt.Errorf("the command's time is over")

// ErrCancelled is the cause with which a door cancels a job's context when its
// client asks for it or is gone.
var ErrCancelled = protocol.Errorf(protocol.Cancelled, "the command was cancelled")

// ErrShuttingDown is the cause with which the daemon ends running commands.
var ErrShuttingDown = protocol.Errorf(protocol.ShuttingDown, "the daemon is shutting down")

// Lookup finds a command by its name.
func Lookup(name string) (*Command, bool) {
	i := sort.Search(len(All), func(i int) bool { return All[i].Name >= name })
	if i < len(All) && All[i].Name == name {
		return &All[i], true
	}
	return nil, false
}
