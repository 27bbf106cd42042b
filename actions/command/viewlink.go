package command

import (
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// Viewing is what a link to the live view gives: what its viewer sees and may do. A link
// gives no more than whoever asked for it may do.
type Viewing struct {
	Agent string // who asked for the link
	Token int    // Caller.Token of who asked; 0: the daemon's own user
	// TokenID is Caller.TokenID of who asked; OwnUser for the daemon's own user.
	TokenID string
	// Session is the only session that is shown; nil: those of every agent.
	Session *session.Session
	Owner   string // the agent whose session it is
	// Operator: an operator, or the daemon's own user, asked for it.
	Operator bool
	// Answers: the viewer may answer confirmations, which are of all sessions.
	Answers bool
	// Drives: the viewer may take a session over, and stop it.
	Drives bool
}

// OwnUser stands for the daemon's own user, who needs no token.
const OwnUser = "the daemon's user"

// ViewLink is a link to the live view. It works once.
type ViewLink struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"` // until when it may be opened
	Session string    `json:"session,omitempty"`
	Drives  bool      `json:"drives"` // whoever opens it may take the session over
}

// LinkToView makes a link to the live view of the call's session, or, for an operator's
// call without one, of every session. An agent that is supervised or only reads gets a
// link that shows and does not drive: it might open the link itself.
func LinkToView(c *Call) (ViewLink, error) {
	if c.Runtime.View == nil {
		return ViewLink{}, protocol.Errorf(protocol.Unsupported, "this daemon has no live view")
	}
	operator := c.Caller.Role == RoleOperator
	v := Viewing{Agent: c.Caller.Agent, Token: c.Caller.Token, TokenID: c.Caller.TokenID, Session: c.Session, Owner: c.Caller.Agent, Operator: operator, Answers: operator && c.Session == nil, Drives: operator || c.autonomy() == policy.Full}
	link := ViewLink{Drives: v.Drives}
	if c.Session != nil {
		link.Session = c.Session.Name()
	}
	if link.URL, link.Expires = c.Runtime.View(v); link.URL == "" {
		return ViewLink{}, protocol.Errorf(protocol.Unsupported, "no browser reaches this daemon: it listens on a socket alone")
	}
	return link, nil
}
