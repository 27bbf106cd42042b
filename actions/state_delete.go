package actions

import (
	"context"

	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// StateDelete is the command state_delete.
var StateDelete = command.Define(command.Row{
	Name: "state_delete", Summary: "Deletes a state that you have saved.", Main: "name",
	Flags: command.Unqueued | command.NoSession | command.SessionWide,
	Examples: []command.Example{
		{For: "Deletes a login that is no longer needed", Params: `{"name": "shop"}`},
	},
}, stateDelete)

// StateDeleteParams are the parameters of state_delete.
type StateDeleteParams struct {
	Name string `json:"name" required:"true" doc:"the name that state_save was given"`
}

// DeletedResult is the answer of the commands that delete what an agent has saved: what was deleted.
type DeletedResult struct {
	Deleted session.Saved `json:"deleted"`
}

func stateDelete(ctx context.Context, c *command.Call, p *StateDeleteParams) (DeletedResult, error) {
	var r DeletedResult
	err := c.Runtime.States.WithHold(c.Caller.Agent, p.Name, func() (err error) {
		r.Deleted, err = c.Runtime.States.Delete(c.Caller.Agent, p.Name)
		return err
	})
	return r, err
}
