package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// Reload is the command reload.
var Reload = command.Define(command.Row{
	Name: "reload", Summary: "Loads the page again.",
	Flags: command.Acts | command.Static | command.ReadOnly | command.Unconfirmed | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Loads the page again and shows what is different", Params: `{"snapshot": "delta"}`},
	},
}, reload)

func reload(ctx context.Context, c *command.Call, p *HistoryParams) (command.Result, error) {
	return history(ctx, c, p, 0)
}
