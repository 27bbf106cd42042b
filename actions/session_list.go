package actions

import (
	"context"

	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// SessionList is the command session_list.
var SessionList = command.Define(command.Row{
	Name: "session_list", Summary: "Lists your sessions.",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Lists your sessions", Params: `{}`},
	},
}, sessionList)

// SessionListParams are none.
type SessionListParams struct{}

// SessionListResult is the answer of session_list.
type SessionListResult struct {
	Sessions []session.Info `json:"sessions"`
}

func sessionList(ctx context.Context, c *command.Call, _ *SessionListParams) (SessionListResult, error) {
	return SessionListResult{c.Runtime.Sessions.List(c.Caller.Agent)}, nil
}
