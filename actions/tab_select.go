package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// TabSelect is the command tab_select.
var TabSelect = command.Define(command.Row{
	Name: "tab_select", Summary: "Selects the tab that commands go to.", Main: "tab",
	Flags: command.MCPDefault | command.Acts | command.ReadOnly | command.Unconfirmed | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Goes back to the first tab", Params: `{"tab": "t1"}`},
	},
}, tabSelect)

// TabParams are the parameters of tab_select and tab_close.
type TabParams struct {
	Tab string `json:"tab" doc:"the tab's name, as tab_list says it"`
	command.Shows
}

func tabSelect(ctx context.Context, c *command.Call, p *TabParams) (TabsResult, error) {
	if p.Tab == "" {
		return TabsResult{}, protocol.Errorf(protocol.InvalidParams, "tab_select needs the parameter \"tab\"").With("parameter", "tab")
	}
	return tabs(ctx, c, p.Shows, func(page session.Tabs) (protocol.Effect, error) { return page.TabSelect(ctx, p.Tab) })
}
