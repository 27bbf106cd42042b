package actions

import (
	"context"
	"errors"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// SessionClose is the command session_close.
var SessionClose = command.Define(command.Row{
	Name: "session_close", Summary: "Closes a session and its pages.", Main: "session",
	Flags: command.Unqueued | command.NeedsSession | command.HandedOff | command.ReadOnly | command.Unconfirmed | command.Unaudited,
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
	Note    string `json:"note,omitempty"` // why its state or profile was not kept, or is not yet
}

func sessionClose(ctx context.Context, c *command.Call, _ *SessionCloseParams) (SessionClosed, error) {
	name := c.Session.Name()
	err := c.Runtime.Sessions.Close(ctx, c.Caller.Agent, name)
	if protocol.CodeOf(err) == protocol.SessionNotFound {
		return SessionClosed{}, err
	}
	r := SessionClosed{Session: name, Closed: true}
	if err != nil {
		not := "the " + session.SavedKind(c.Session) + " was not kept: "
		r.Note = not + "the daemon's log says why"
		said := (*protocol.Error)(nil)
		if !errors.As(err, &said) && command.NoSpace(err) {
			said = protocol.Errorf(protocol.NoSpace, "no space left on the daemon's disk")
		}
		if said != nil {
			r.Note = not + said.Message
			if said.Code == protocol.Timeout { // it is still being kept
				r.Note = said.Message
			}
			if next := said.Next; next != "" {
				r.Note += "; " + next
			} else if said.Code == protocol.NoSpace {
				r.Note += "; ask the operator to make room before you go on: what was kept before is as it was"
			}
		}
	}
	return r, nil
}
