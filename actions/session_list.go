package actions

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// SessionList is the command session_list.
var SessionList = command.Define(command.Row{
	Name: "session_list", Summary: "Lists your sessions.",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Brief: []string{"session", "page.url", "page.title"},
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
	r := SessionListResult{Sessions: c.Runtime.Sessions.List(c.Caller.Agent)}
	for _, other := range command.AskOthers(ctx, c) {
		var there SessionListResult
		if other.Err != nil || json.Unmarshal(other.Result, &there) != nil {
			continue // status names it
		}
		r.Sessions = append(r.Sessions, there.Sessions...)
	}
	slices.SortStableFunc(r.Sessions, func(a, b session.Info) int { return a.Created.Compare(b.Created) })
	return r, nil
}
