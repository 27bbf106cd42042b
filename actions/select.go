package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// SelectParams are the parameters of select.
type SelectParams struct {
	Ref    string   `json:"ref" required:"true" doc:"the select"`
	Values []string `json:"values" required:"true" doc:"labels or values of the options; none clears a select that takes several"`
	Shows
}

// SelectResult is the answer of select.
type SelectResult struct {
	Result
	Selected []string `json:"selected"`
}

func selectOptions(ctx context.Context, c *Call, p *SelectParams) (SelectResult, error) {
	page, err := c.page(ctx)
	if err != nil {
		return SelectResult{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Select{Ref: p.Ref, Values: p.Values}))
	r, err := c.acted(ctx, page, done.Effect, err, p.Shows)
	return SelectResult{r, done.Selected}, err
}
