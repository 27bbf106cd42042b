package actions

import "context"

// StatusParams are none.
type StatusParams struct{}

func status(ctx context.Context, c *Call, _ *StatusParams) (map[string]any, error) {
	r := map[string]any{
		"version":  c.House.Version,
		"agent":    c.Caller.Agent,
		"sessions": c.House.Sessions.List(c.Caller.Agent),
	}
	if own := c.Caller.Session(); own != "" {
		r["session"] = own
	}
	if c.House.Status != nil {
		for k, v := range c.House.Status() {
			r[k] = v
		}
	}
	return r, nil
}
