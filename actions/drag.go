package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
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
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Drag{Ref: p.Ref, To: p.To}))
	return c.acted(ctx, page, done.Effect, err, p.Shows)
}
