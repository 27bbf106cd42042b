package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
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
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Hover{Ref: p.Ref}))
	return c.acted(ctx, page, done.Effect, err, p.Shows)
}
