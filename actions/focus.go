package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
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
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Focus{Ref: p.Ref}))
	return c.acted(ctx, page, done.Effect, err, p.Shows)
}
