package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// View is the command view.
var View = command.Define(command.Row{
	Name: "view", Summary: "Makes a link by which a person sees a session live, and may take it over.", Main: "session",
	Next:    "Give the link to a person and do not open it: it works once.",
	Flags:   command.Unqueued | command.NeedsSession | command.HandedOff | command.NotInBatch | command.ReadOnly | command.Unconfirmed | command.MCPReadOnly | command.MCPNonDestructive,
	Prepare: findViewed,
	Examples: []command.Example{
		{For: "Shows a session to a person", Params: `{"session": "work"}`},
	},
}, view)

// ViewParams are none of its own: session names the session.
type ViewParams struct{}

// findViewed finds the session to show: the named one, else the caller's own. An operator
// who names none is shown every session.
func findViewed(c *command.Call) error {
	if c.Common.Session == "" && c.Caller.Role == command.RoleOperator {
		return nil
	}
	return c.FindSession()
}

func view(ctx context.Context, c *command.Call, _ *ViewParams) (command.ViewLink, error) {
	return command.LinkToView(c)
}
