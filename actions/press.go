package actions

import (
	"context"
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
	effect, err := page.Press(p.acting(ctx), c.Session.Refs(), p.Ref, p.Key)
	return c.acted(ctx, page, effect, err, p.Shows)
}
