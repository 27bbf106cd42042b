package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// ClickParams are the parameters of click.
type ClickParams struct {
	Ref       string   `json:"ref" required:"true" doc:"the element"`
	Button    string   `json:"button" default:"left" enum:"left,middle,right" doc:"the mouse button"`
	Count     int      `json:"count" default:"1" min:"1" max:"3" doc:"2 for a double click"`
	Modifiers []string `json:"modifiers" enum:"Alt,Control,Meta,Shift" doc:"keys held down"`
	Shows
}

func click(ctx context.Context, c *Call, p *ClickParams) (Result, error) {
	page, err := c.page(ctx)
	if err != nil {
		return Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Click{Ref: p.Ref, Button: p.Button, Count: p.Count, Modifiers: p.Modifiers}))
	return c.acted(ctx, page, done.Effect, err, p.Shows)
}
