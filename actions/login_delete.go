package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
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

func loginDelete(_ context.Context, c *command.Call, p *LoginDeleteParams) (DeletedResult, error) {
	deleted, err := c.Runtime.Logins.Delete(c.Caller.Agent, p.Name)
	return DeletedResult{deleted}, err
}
