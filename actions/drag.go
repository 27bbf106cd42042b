package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// Drag is the command drag.
var Drag = command.Define(command.Row{
	Name: "drag", Summary: "Drags an element onto another.", Main: "ref",
	Flags: command.Acts | command.Unconfirmed,
	Examples: []command.Example{
		{For: "Drags a product into the basket", Params: `{"ref": "@e5", "to": "@e6"}`},
	},
}, drag)

// DragParams are the parameters of drag.
type DragParams struct {
	Ref protocol.Target `json:"ref" required:"true" doc:"the element"`
	To  protocol.Target `json:"to" required:"true" doc:"the element to drop it on"`
	command.Shows
}

func drag(ctx context.Context, c *command.Call, p *DragParams) (command.Result, error) {
	page, err := c.Live(ctx)
	if err != nil {
		return command.Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Drag{Ref: string(p.Ref), To: string(p.To)}))
	return c.Acted(ctx, page, done.Effect, err, p.Shows)
}
