package actions

import (
	"context"

	"github.com/browserd/browserd/policy"
)

// StatusParams are none.
type StatusParams struct{}

func status(ctx context.Context, c *Call, _ *StatusParams) (map[string]any, error) {
	r := map[string]any{
		"autonomy": c.House.autonomyOf(c.Caller),
		"version":  c.House.Version,
		"agent":    c.Caller.Agent,
		"sessions": c.House.Sessions.List(c.Caller.Agent),
	}
	if own := c.Caller.Session(); own != "" {
		r["session"] = own
	}
	if c.Caller.Role == RoleOperator {
		// To look at; what belongs to another agent stays that agent's.
		r["all_sessions"] = c.House.Sessions.All()
		r["confirmations"] = []policy.Question{}
		if c.House.Rules.Confirmations != nil {
			r["confirmations"] = c.House.Rules.Confirmations.Pending()
		}
	}
	if c.House.Status != nil {
		for k, v := range c.House.Status() {
			r[k] = v
		}
	}
	return r, nil
}
