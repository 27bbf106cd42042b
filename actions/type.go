package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// TypeParams are the parameters of type.
type TypeParams struct {
	Ref    string `json:"ref" required:"true" doc:"the control"`
	Text   string `json:"text" required:"true" doc:"what to write; empty with clear: nothing stays"`
	Clear  bool   `json:"clear" default:"false" doc:"replace what is there"`
	Submit bool   `json:"submit" default:"false" doc:"press Enter afterwards"`
	Mode   string `json:"mode" default:"insert" enum:"insert,keys" doc:"keys: one key after the other, line breaks by Enter"`
	Shows
}

func typeText(ctx context.Context, c *Call, p *TypeParams) (Result, error) {
	page, err := c.page(ctx)
	if err != nil {
		return Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Type{Ref: p.Ref, Text: p.Text, Clear: p.Clear, Submit: p.Submit, Mode: p.Mode}))
	return c.acted(ctx, page, done.Effect, err, p.Shows)
}
