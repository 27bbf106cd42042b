package actions

import (
	"context"

	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// StateList is the command state_list.
var StateList = command.Define(command.Row{
	Name: "state_list", Summary: "Lists the states that you have saved.",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Lists your states, with their sizes and how many you may keep", Params: `{}`},
	},
}, stateList)

// StateListParams are none.
type StateListParams struct{}

// StateListResult is the answer of state_list.
type StateListResult struct {
	States []session.Saved `json:"states"`
	Bytes  int64           `json:"bytes"` // of all of them
	Limits SavedLimits     `json:"limits"`
}

// SavedLimits are how much one agent may keep.
type SavedLimits struct {
	Count int `json:"count"`
	Bytes int `json:"bytes"`
}

func stateList(ctx context.Context, c *command.Call, _ *StateListParams) (StateListResult, error) {
	list, err := c.Runtime.States.List(c.Caller.Agent)
	if err != nil {
		return StateListResult{}, err
	}
	r := StateListResult{States: list}
	for _, s := range list {
		r.Bytes += s.Bytes
	}
	r.Limits = SavedLimits{c.Runtime.States.Count, c.Runtime.States.Bytes}
	return r, nil
}
