package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
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
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Check{Ref: p.Ref, Checked: p.Checked}))
	return c.acted(ctx, page, done.Effect, err, p.Shows)
}
