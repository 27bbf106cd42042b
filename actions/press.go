package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// PressParams are the parameters of press.
type PressParams struct {
	Key string `json:"key" required:"true" doc:"such as Enter, Control+a, Shift+Tab, ArrowDown or a character"`
	Ref string `json:"ref" doc:"focused first; left out: what has the focus"`
	Shows
}

func press(ctx context.Context, c *Call, p *PressParams) (Result, error) {
	page, err := c.live(ctx)
	if err != nil {
		return Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Press{Ref: p.Ref, Key: p.Key}))
	return c.acted(ctx, page, done.Effect, err, p.Shows)
}
