package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// MouseParams are the parameters of mouse.
type MouseParams struct {
	Action string  `json:"action" required:"true" enum:"move,click,down,up,wheel" doc:"what to do"`
	X      float64 `json:"x" required:"true" doc:"CSS pixels from the left of the viewport"`
	Y      float64 `json:"y" required:"true" doc:"CSS pixels from its top"`
	Button string  `json:"button" default:"left" enum:"left,middle,right" doc:"the mouse button"`
	Count  int     `json:"count" default:"1" min:"1" max:"3" doc:"2 for a double click"`
	DX     float64 `json:"dx" default:"0" min:"-10000" max:"10000" doc:"of the wheel, CSS pixels to the right"`
	DY     float64 `json:"dy" default:"0" min:"-10000" max:"10000" doc:"of the wheel, CSS pixels down"`
	Shows
}

// MouseResult is the answer of mouse.
type MouseResult struct {
	Result
	Hit *protocol.Hit `json:"hit"` // what was there; null: nothing
}

func mouse(ctx context.Context, c *Call, p *MouseParams) (MouseResult, error) {
	page, err := c.live(ctx)
	if err != nil {
		return MouseResult{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Mouse{
		Action: p.Action, X: p.X, Y: p.Y, Button: p.Button, Count: p.Count, DX: p.DX, DY: p.DY,
	}))
	r, err := c.acted(ctx, page, done.Effect, err, p.Shows)
	return MouseResult{r, done.Under}, err
}
