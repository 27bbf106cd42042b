package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// Check is the command check.
var Check = command.Define(command.Row{
	Name: "check", Summary: "Checks or unchecks a checkbox, radio button or switch.", Main: "ref",
	Flags: command.Acts | command.Static | command.Unconfirmed,
	Examples: []command.Example{
		{For: "Checks a checkbox", Params: `{"ref": "@e11"}`},
		{For: "Unchecks it", Params: `{"ref": "@e11", "checked": false}`},
	},
}, check)

// CheckParams are the parameters of check.
type CheckParams struct {
	Ref     protocol.Target `json:"ref" required:"true" doc:"the element"`
	Checked bool            `json:"checked" default:"true" doc:"false: not checked"`
	command.Shows
}

func check(ctx context.Context, c *command.Call, p *CheckParams) (command.Result, error) {
	page, err := c.Page(ctx)
	if err != nil {
		return command.Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Check{Ref: string(p.Ref), Checked: p.Checked}))
	return c.Acted(ctx, page, done.Effect, err, p.Shows)
}
