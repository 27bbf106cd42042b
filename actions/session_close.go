package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// SessionClose is the command session_close.
var SessionClose = command.Define(command.Row{
	Name: "session_close", Summary: "Closes a session and its pages.", Main: "session",
	Flags: command.Unqueued | command.NeedsSession | command.ReadOnly | command.Unconfirmed | command.Unaudited,
	Examples: []command.Example{
		{For: "Closes a session by its name", Params: `{"session": "work"}`},
	},
}, sessionClose)

// SessionCloseParams are none of its own: session names the session.
type SessionCloseParams struct{}

// SessionClosed is the answer of session_close.
type SessionClosed struct {
	Session string `json:"session"`
	Closed  bool   `json:"closed"`
}

func sessionClose(ctx context.Context, c *command.Call, _ *SessionCloseParams) (SessionClosed, error) {
	name := c.Session.Name()
	if err := c.Runtime.Sessions.Close(ctx, c.Caller.Agent, name); err != nil {
		return SessionClosed{}, err
	}
	return SessionClosed{name, true}, nil
}
