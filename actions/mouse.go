package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// Mouse is the command mouse.
var Mouse = command.Define(command.Row{
	Name: "mouse", Summary: "Moves or clicks the mouse, or turns its wheel, at a point of the viewport.", Main: "action",
	Flags: command.Acts | command.Unconfirmed,
	Examples: []command.Example{
		{For: "Clicks a point of a canvas", Params: `{"action": "click", "x": 200, "y": 120}`},
	},
	At: func(params any) protocol.Spot {
		p := params.(*MouseParams)
		return protocol.Spot{Point: true, X: p.X, Y: p.Y}
	},
}, mouse)

// MouseParams are the parameters of mouse.
type MouseParams struct {
	Action string  `json:"action" required:"true" enum:"move,click,down,up,wheel" doc:"what to do"`
	X      float64 `json:"x" required:"true" doc:"CSS pixels from the left of the viewport"`
	Y      float64 `json:"y" required:"true" doc:"CSS pixels from its top"`
	Button string  `json:"button" default:"left" enum:"left,middle,right" doc:"the mouse button"`
	Count  int     `json:"count" default:"1" min:"1" max:"3" doc:"2 for a double click"`
	DX     float64 `json:"dx" default:"0" min:"-10000" max:"10000" doc:"of the wheel, CSS pixels to the right"`
	DY     float64 `json:"dy" default:"0" min:"-10000" max:"10000" doc:"of the wheel, CSS pixels down"`
	command.Shows
}

// MouseResult is the answer of mouse.
type MouseResult struct {
	command.Result
	Hit *protocol.Hit `json:"hit"` // what received the press, or was there; null: nothing, or no document saw the press
}

func mouse(ctx context.Context, c *command.Call, p *MouseParams) (MouseResult, error) {
	page, err := c.Live(ctx)
	if err != nil {
		return MouseResult{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Mouse{
		Action: p.Action, X: p.X, Y: p.Y, Button: p.Button, Count: p.Count, DX: p.DX, DY: p.DY, Origin: c.Origin(),
	}))
	r, err := c.Acted(ctx, page, done.Effect, err, p.Shows)
	return MouseResult{r, done.Under}, err
}
