package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// Forward is the command forward.
var Forward = command.Define(command.Row{
	Name: "forward", Summary: "Goes forward in the tab's history.",
	Flags: command.Acts | command.Static | command.ReadOnly | command.Unconfirmed | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Goes forward again after back", Params: `{}`},
	},
}, forward)

func forward(ctx context.Context, c *command.Call, p *HistoryParams) (command.Result, error) {
	return history(ctx, c, p, 1)
}
