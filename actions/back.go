package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// Back is the command back.
var Back = command.Define(command.Row{
	Name: "back", Summary: "Goes back in the tab's history.",
	Flags: command.Acts | command.Static | command.ReadOnly | command.Unconfirmed | command.MCPDefault | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Goes back to the page before", Params: `{}`},
	},
}, back)

// HistoryParams are the parameters of back, forward and reload.
type HistoryParams struct {
	Snapshot string `json:"snapshot" seldom:"true" default:"full" enum:"delta,full,none" doc:"what is shown afterwards"`
}

func back(ctx context.Context, c *command.Call, p *HistoryParams) (command.Result, error) {
	return history(ctx, c, p, -1)
}

func history(ctx context.Context, c *command.Call, p *HistoryParams, delta int) (command.Result, error) {
	page, err := c.Page(ctx)
	if err != nil {
		return command.Result{}, err
	}
	effect, err := page.History(ctx, delta)
	return c.Navigated(ctx, page, effect, err, p.Snapshot)
}
