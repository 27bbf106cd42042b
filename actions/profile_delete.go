package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// ProfileDelete is the command profile_delete.
var ProfileDelete = command.Define(command.Row{
	Name: "profile_delete", Summary: "Deletes one of your profiles, with all logins in it.", Main: "name",
	Flags: command.Unqueued | command.NoSession | command.SessionWide,
	Examples: []command.Example{
		{For: "Deletes a profile that is no longer needed", Params: `{"name": "shop"}`},
	},
}, profileDelete)

// ProfileDeleteParams are the parameters of profile_delete.
type ProfileDeleteParams struct {
	Name string `json:"name" required:"true" doc:"the name that session_open {profile} was given"`
}

func profileDelete(_ context.Context, c *command.Call, p *ProfileDeleteParams) (r DeletedResult, err error) {
	if err := c.Runtime.Profiles.Usable(); err != nil {
		return r, err
	}
	err = c.Runtime.Profiles.WithHold(c.Caller.Agent, p.Name, func() (err error) {
		r.Deleted, err = c.Runtime.Profiles.Delete(c.Caller.Agent, p.Name)
		return err
	})
	return r, err
}
