package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// Scroll is the command scroll.
var Scroll = command.Define(command.Row{
	Name: "scroll", Summary: "Scrolls an element into view, or scrolls the page.", Next: "Actions scroll by themselves.", Main: "ref",
	Flags: command.Acts | command.ReadOnly | command.Unconfirmed | command.MCPDefault | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Scrolls to the end of the page", Params: `{"to": "bottom"}`},
		{For: "Scrolls an element into view", Params: `{"ref": "@e13"}`},
	},
}, scroll)

// ScrollParams are the parameters of scroll.
type ScrollParams struct {
	Ref       protocol.Target `json:"ref" doc:"the element to bring into view, or whose scroller to scroll; left out: the page"`
	Direction string          `json:"direction" enum:",up,down,left,right" doc:"which way"`
	Pixels    int             `json:"pixels" seldom:"true" min:"0" doc:"how far; left out: nine tenths of what is in view"`
	To        string          `json:"to" enum:",top,bottom" doc:"an end of the scroller"`
	command.Shows
}

// ScrollResult is the answer of scroll.
type ScrollResult struct {
	command.Result
	Position protocol.Position `json:"position"`
}

func scroll(ctx context.Context, c *command.Call, p *ScrollParams) (ScrollResult, error) {
	page, err := c.Live(ctx)
	if err != nil {
		return ScrollResult{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Scroll{Ref: string(p.Ref), Direction: p.Direction, Pixels: p.Pixels, To: p.To}))
	r, err := c.Acted(ctx, page, done.Effect, err, p.Shows)
	return ScrollResult{r, done.Position}, err
}
