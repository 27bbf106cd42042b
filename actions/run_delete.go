package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// RunDelete is the command run_delete.
var RunDelete = command.Define(command.Row{
	Name: "run_delete", Summary: "Deletes a script that you have saved.", Main: "name",
	Flags: command.Unqueued | command.NoSession | command.SessionWide | command.Unconfirmed,
	Examples: []command.Example{
		{For: "Deletes a script that is no longer needed", Params: `{"name": "order"}`},
	},
}, runDelete)

// RunDeleteParams are the parameters of run_delete.
type RunDeleteParams struct {
	Name string `json:"name" required:"true" doc:"the name that run was given as save"`
}

func runDelete(ctx context.Context, c *command.Call, p *RunDeleteParams) (DeletedResult, error) {
	deleted, err := c.Runtime.SavedScripts.Delete(c.Caller.Agent, p.Name)
	return DeletedResult{deleted}, err
}
