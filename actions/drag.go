package actions

import (
	"context"
)

// DragParams are the parameters of drag.
type DragParams struct {
	Ref string `json:"ref" required:"true" doc:"the element"`
	To  string `json:"to" required:"true" doc:"the element to drop it on"`
	Shows
}

func drag(ctx context.Context, c *Call, p *DragParams) (Result, error) {
	page, err := c.live(ctx)
	if err != nil {
		return Result{}, err
	}
	effect, err := page.Drag(p.acting(ctx), c.Session.Refs(), p.Ref, p.To)
	return c.acted(ctx, page, effect, err, p.Shows)
}
