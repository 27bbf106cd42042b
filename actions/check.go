package actions

import (
	"context"
)

// CheckParams are the parameters of check.
type CheckParams struct {
	Ref     string `json:"ref" required:"true" doc:"the element"`
	Checked bool   `json:"checked" default:"true" doc:"false: not checked"`
	Shows
}

func check(ctx context.Context, c *Call, p *CheckParams) (Result, error) {
	page, err := c.page(ctx)
	if err != nil {
		return Result{}, err
	}
	effect, err := page.Check(p.acting(ctx), c.Session.Refs(), p.Ref, p.Checked)
	return c.acted(ctx, page, effect, err, p.Shows)
}
