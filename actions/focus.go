package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// Focus is the command focus.
var Focus = command.Define(command.Row{
	Name: "focus", Summary: "Moves the keyboard focus to an element.", Main: "ref",
	Flags: command.Acts | command.Unconfirmed | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Focuses a field", Params: `{"ref": "@e7"}`},
	},
}, focus)

// FocusParams are the parameters of focus.
type FocusParams struct {
	Ref protocol.Target `json:"ref" required:"true" doc:"the element"`
	command.Shows
}

func focus(ctx context.Context, c *command.Call, p *FocusParams) (command.Result, error) {
	page, err := c.Live(ctx)
	if err != nil {
		return command.Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Focus{Ref: string(p.Ref)}))
	return c.Acted(ctx, page, done.Effect, err, p.Shows)
}
