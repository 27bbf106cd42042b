package actions

import (
	"context"
)

// HoverParams are the parameters of hover.
type HoverParams struct {
	Ref string `json:"ref" required:"true" doc:"the element"`
	Shows
}

func hover(ctx context.Context, c *Call, p *HoverParams) (Result, error) {
	page, err := c.live(ctx)
	if err != nil {
		return Result{}, err
	}
	effect, err := page.Hover(p.acting(ctx), c.Session.Refs(), p.Ref)
	return c.acted(ctx, page, effect, err, p.Shows)
}
