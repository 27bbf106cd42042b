package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// Select is the command select.
var Select = command.Define(command.Row{
	Name: "select", Summary: "Chooses options of a select.", Main: "ref",
	Flags: command.Acts | command.Static | command.Unconfirmed | command.MCPDefault,
	Examples: []command.Example{
		{For: "Chooses an option by its label", Params: `{"ref": "@e8", "values": ["Bergen"]}`},
	},
}, selectOptions)

// SelectParams are the parameters of select.
type SelectParams struct {
	Ref    protocol.Target `json:"ref" required:"true" doc:"the select"`
	Values []string        `json:"values" required:"true" doc:"labels or values of the options; none clears a select that takes several"`
	command.Shows
}

// SelectResult is the answer of select.
type SelectResult struct {
	command.Result
	Selected []string `json:"selected"`
}

func selectOptions(ctx context.Context, c *command.Call, p *SelectParams) (SelectResult, error) {
	page, err := c.Page(ctx)
	if err != nil {
		return SelectResult{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Select{Ref: string(p.Ref), Values: p.Values}))
	r, err := c.Acted(ctx, page, done.Effect, err, p.Shows)
	return SelectResult{r, done.Selected}, err
}
