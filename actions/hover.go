package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// Hover is the command hover.
var Hover = command.Define(command.Row{
	Name: "hover", Summary: "Moves the mouse onto an element.", Next: "Then click what appeared.", Main: "ref",
	Flags: command.MCPDefault | command.Acts | command.Unconfirmed | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Opens a menu that appears under the mouse", Params: `{"ref": "@e4"}`},
	},
}, hover)

// HoverParams are the parameters of hover.
type HoverParams struct {
	Ref protocol.Target `json:"ref" required:"true" doc:"the element"`
	command.Shows
}

func hover(ctx context.Context, c *command.Call, p *HoverParams) (command.Result, error) {
	page, err := c.Live(ctx)
	if err != nil {
		return command.Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Hover{Ref: string(p.Ref)}))
	return c.Acted(ctx, page, done.Effect, err, p.Shows)
}
