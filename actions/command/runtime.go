package command

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/browserd/browserd/actions/loginform"
	"github.com/browserd/browserd/actions/script"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/secret"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/telemetry"
)

// Runtime is what commands work with. A daemon has one.
type Runtime struct {
	Commands Repertoire
	Sessions *session.Manager
	Version  string
	Log      *slog.Logger
	// States are what state_save writes.
	States *session.States
	// Profiles are the profiles of session_open {profile}.
	Profiles *session.Profiles
	// SavedScripts are the scripts that run saves.
	SavedScripts *session.Store[script.Saved]
	// Logins are the recipes that login keeps.
	Logins *session.Store[loginform.Recipe]
	// Secrets are the secrets that agents may use but not see; nil: there are none.
	Secrets *secret.Vault
	// Passkeys are those of the agents.
	Passkeys *session.Passkeys
	// View makes a link to the live view, which works once and expires; nil: there is no live view.
	View func(v Viewing) (url string, expires time.Time)
	// Status reports on what lies outside the sessions; nil for nothing.
	Status func() map[string]any
	// Rules say what agents may do without confirmation.
	Rules Rules
	// CheckURL decides on a URL that an agent named, within the options of its session's gate, and returns it as
	// it is to be opened (policy.Gate.CheckURL).
	CheckURL func(ctx context.Context, within policy.GateOptions, url string) (string, error)
	// Web is what the web tools work with; nil: they are unsupported.
	Web *Web
	// Scripts run the scripts of run; nil: it is unsupported.
	Scripts *script.Pool
	// Ledger charges the web tools and keeps the audit trail; nil: nothing is charged or recorded.
	Ledger *ledger.Ledger
	// Fleet is this daemon's node of a fleet; nil: there is no fleet.
	Fleet *fleet.Node
	// Tracer makes the spans of commands; nil: there are none.
	Tracer *telemetry.Tracer
	// Life ends when the daemon stops, just before the commands' own contexts do, so that no command begins
	// then that has waited for its turn. nil: it does not end.
	Life context.Context
}

// Caller is one client: a connection, or a single HTTP request. Prepare may be
// called for it by one goroutine at a time; Session may be read by any.
type Caller struct {
	Agent string
	Role  string // RoleAgent or RoleOperator
	// Autonomy is the caller's own; empty: that of Runtime.Rules.
	Autonomy policy.Autonomy
	// Token is the number of the caller's token at this daemon: no two tokens share one. TokenID identifies the
	// token at every node of a fleet, whatever the order in auth.tokens; empty: a node of an older version
	// forwarded the command.
	Token   int
	TokenID string
	// Stateless: the caller is a single request, not a connection: it has no session of
	// its own, and only commands that are BeginsSession open one for it.
	Stateless bool
	// Shared: several agents may be behind the caller. A session that a command names with
	// the parameter session does not become the caller's own.
	Shared bool
	// Home is the name of the session that is the caller's own until it opens another one. It is set for
	// clients whose requests reach several daemons of a fleet. Empty: none.
	Home string
	// ForClient is set if this caller stands for one command that another daemon has forwarded: it is the
	// caller that stands for the command's client. Several commands of a client may run at once, each in its
	// own session. nil: this caller stands for the client itself.
	ForClient *Caller
	// Cancel ends a running or queued request of the same connection; nil
	// where the transport cannot.
	Cancel func(id json.RawMessage) bool
	// Subscribe chooses the events that the connection gets, of the sessions that
	// it opened or named or of all the agent's; nil if the transport has no events.
	Subscribe func(types []string, all bool) error
	// Use is called with every session that the caller opens or names; may be nil.
	Use func(session string)

	mu      sync.Mutex
	session string
	id      string // see ID
}

// Roles of a caller.
const (
	RoleAgent    = "agent"
	RoleOperator = "operator"
)

// Session returns the connection's own session: the last one it opened or named.
func (c *Caller) Session() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == "" {
		return c.Home
	}
	return c.session
}

// client identifies the client for session.View: each connection is a client, and all single requests with the
// same token together are one.
func (c *Caller) client() any {
	switch {
	case c.Stateless || c.Home != "":
		return c.Token
	case c.ForClient != nil:
		return c.ForClient
	}
	return c
}

// restore makes before the connection's own session again, if that is still failed, a session that could not be
// opened.
func (c *Caller) restore(failed, before string) {
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
