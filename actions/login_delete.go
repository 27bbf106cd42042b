package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/session"
)

// LoginDelete is the command login_delete.
var LoginDelete = command.Define(command.Row{
	Name: "login_delete", Summary: "Deletes a login that you have kept.", Main: "name",
	Flags: command.Unqueued | command.NoSession | command.SessionWide | command.Unconfirmed,
	Examples: []command.Example{
		{For: "Deletes a login that is no longer needed", Params: `{"name": "shop"}`},
	},
}, loginDelete)

// LoginDeleteParams are the parameters of login_delete.
type LoginDeleteParams struct {
	Name string `json:"name" required:"true" doc:"the name that login was given"`
}

// LoginDeleteResult is the answer of login_delete: what was deleted.
type LoginDeleteResult struct {
	Deleted session.Saved `json:"deleted"`
}

func loginDelete(_ context.Context, c *command.Call, p *LoginDeleteParams) (LoginDeleteResult, error) {
	deleted, err := c.Runtime.Logins.Delete(c.Caller.Agent, p.Name)
	return LoginDeleteResult{deleted}, err
}
