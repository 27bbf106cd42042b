package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// TabClose is the command tab_close.
var TabClose = command.Define(command.Row{
	Name: "tab_close", Summary: "Closes a tab.", Main: "tab",
	Flags: command.MCPDefault | command.Acts | command.ReadOnly | command.Unconfirmed,
	Examples: []command.Example{
		{For: "Closes a tab by its name", Params: `{"tab": "t2"}`},
	},
}, tabClose)

func tabClose(ctx context.Context, c *command.Call, p *TabParams) (TabsResult, error) {
	return tabs(ctx, c, p.Shows, func(page session.Tabs) (protocol.Effect, error) { return page.TabClose(ctx, p.Tab) })
}
