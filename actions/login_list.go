package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/session"
)

// LoginList is the command login_list.
var LoginList = command.Define(command.Row{
	Name: "login_list", Summary: "Lists the logins that you have kept.",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Lists your logins, for login", Params: `{}`},
	},
}, loginList)

// LoginListParams are none.
type LoginListParams struct{}

// LoginListResult is the answer of login_list.
type LoginListResult struct {
	Logins []session.Saved `json:"logins"`
	Limits SavedLimits     `json:"limits"`
}

func loginList(_ context.Context, c *command.Call, _ *LoginListParams) (LoginListResult, error) {
	kept := c.Runtime.Logins
	list, err := kept.List(c.Caller.Agent)
	return LoginListResult{list, SavedLimits{kept.Count, kept.Bytes}}, err
}
