package actions

import (
	"context"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// TabNew is the command tab_new.
var TabNew = command.Define(command.Row{
	Name: "tab_new", Summary: "Opens a tab and selects it.", Main: "url",
	Flags: command.MCPDefault | command.Acts | command.ReadOnly | command.Unconfirmed | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Opens a page in a new tab", Params: `{"url": "https://shop.example/terms"}`},
	},
}, tabNew)

// TabNewParams are the parameters of tab_new.
type TabNewParams struct {
	URL string `json:"url" doc:"opened in it"`
	command.Shows
}

func tabNew(ctx context.Context, c *command.Call, p *TabNewParams) (TabsResult, error) {
	url := ""
	if p.URL != "" {
		var err error
		if url, err = c.CheckURL(ctx, p.URL); err != nil {
			return TabsResult{}, err
		}
		if err := c.Session.Opening(ctx, policy.Origin(url)); err != nil {
			return TabsResult{}, c.Session.DescribeLoss(err)
		}
	}
	return tabs(ctx, c, p.Shows, func(page session.Tabs) (protocol.Effect, error) { return page.TabNew(ctx, url) })
}
