package actions

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// Status is the command status.
var Status = command.Define(command.Row{
	Name: "status", Summary: "Reports on the daemon and your sessions.",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Shows version, limits and sessions", Params: `{}`},
	},
}, status)

// StatusParams are none.
type StatusParams struct{}

// StatusResult is the answer of status. Which of it is there depends on who asks and on
// how the daemon is set up.
type StatusResult map[string]any

// JSONSchema describes what is always there, and what only an operator sees.
func (StatusResult) JSONSchema(d command.Definitions) map[string]any {
	s := d.Struct(reflect.TypeFor[struct {
		Version       string            `json:"version"`
		Agent         string            `json:"agent"`
		Autonomy      policy.Autonomy   `json:"autonomy"`
		Sessions      []session.Info    `json:"sessions"`
		Session       string            `json:"session,omitempty"`
		AllSessions   []session.Info    `json:"all_sessions,omitempty"`
		Confirmations []policy.Question `json:"confirmations,omitempty"`
	}]())
	s["additionalProperties"] = true
	return s
}

// addOthers adds what the other daemons of the fleet have, and names those that did not answer.
func addOthers(ctx context.Context, c *command.Call, r StatusResult) {
	for _, other := range command.AskOthers(ctx, c) {
		var there struct {
			Sessions      []session.Info    `json:"sessions"`
			AllSessions   []session.Info    `json:"all_sessions"`
			Confirmations []policy.Question `json:"confirmations"`
		}
		if other.Err != nil || json.Unmarshal(other.Result, &there) != nil {
			silent, _ := r["silent"].([]string)
			r["silent"] = append(silent, other.Node)
			continue
		}
		r["sessions"] = append(r["sessions"].([]session.Info), there.Sessions...)
		if c.Caller.Role == command.RoleOperator {
			r["all_sessions"] = append(r["all_sessions"].([]session.Info), there.AllSessions...)
			r["confirmations"] = append(r["confirmations"].([]policy.Question), there.Confirmations...)
		}
	}
}

func status(ctx context.Context, c *command.Call, _ *StatusParams) (StatusResult, error) {
	r := StatusResult{
		"autonomy": c.Runtime.AutonomyOf(c.Caller),
		"version":  c.Runtime.Version,
		"agent":    c.Caller.Agent,
		"sessions": c.Runtime.Sessions.List(c.Caller.Agent),
	}
	if own := command.OwnSession(c); own != "" {
		r["session"] = own
	}
	if c.Caller.Role == command.RoleOperator {
		// To look at; what belongs to another agent stays that agent's.
		r["all_sessions"] = c.Runtime.Sessions.All()
		r["confirmations"] = []policy.Question{}
		if c.Runtime.Rules.Confirmations != nil {
			r["confirmations"] = c.Runtime.Rules.Confirmations.Pending()
		}
	}
	addOthers(ctx, c, r)
	if c.Runtime.Status != nil {
		for k, v := range c.Runtime.Status() {
			r[k] = v
		}
	}
	return r, nil
}
