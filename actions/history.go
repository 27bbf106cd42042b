package actions

import "context"

// HistoryParams are the parameters of back, forward and reload.
type HistoryParams struct {
	Snapshot string `json:"snapshot" default:"full" enum:"delta,full,none" doc:"what is shown afterwards"`
}

func back(ctx context.Context, c *Call, p *HistoryParams) (Result, error) {
	return history(ctx, c, p, -1)
}

func forward(ctx context.Context, c *Call, p *HistoryParams) (Result, error) {
	return history(ctx, c, p, 1)
}

func reload(ctx context.Context, c *Call, p *HistoryParams) (Result, error) {
	return history(ctx, c, p, 0)
}

func history(ctx context.Context, c *Call, p *HistoryParams, delta int) (Result, error) {
	page, err := c.page(ctx)
	if err != nil {
		return Result{}, err
	}
	effect, err := page.History(ctx, delta)
	return c.navigated(ctx, page, effect, err, p.Snapshot)
}
