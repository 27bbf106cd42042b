package actions

import (
	"context"
)

// FocusParams are the parameters of focus.
type FocusParams struct {
	Ref string `json:"ref" required:"true" doc:"the element"`
	Shows
}

func focus(ctx context.Context, c *Call, p *FocusParams) (Result, error) {
	page, err := c.live(ctx)
	if err != nil {
		return Result{}, err
	}
	effect, err := page.Focus(p.acting(ctx), c.Session.Refs(), p.Ref)
	return c.acted(ctx, page, effect, err, p.Shows)
}
