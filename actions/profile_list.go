package actions

import (
	"context"

	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// ProfileList is the command profile_list.
var ProfileList = command.Define(command.Row{
	Name: "profile_list", Summary: "Lists your profiles.",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Lists your profiles, with their sizes and how many you may keep", Params: `{}`},
	},
}, profileList)

// ProfileListParams are none.
type ProfileListParams struct{}

// ProfileListResult is the answer of profile_list.
type ProfileListResult struct {
	Profiles []session.Saved `json:"profiles"`
	Bytes    int64           `json:"bytes"` // of all of them
	Limits   SavedLimits     `json:"limits"`
}

func profileList(_ context.Context, c *command.Call, _ *ProfileListParams) (ProfileListResult, error) {
	p := c.Runtime.Profiles
	if err := p.Usable(); err != nil {
		return ProfileListResult{}, err
	}
	list, err := p.List(c.Caller.Agent)
	if err != nil {
		return ProfileListResult{}, err
	}
	r := ProfileListResult{Profiles: list, Limits: SavedLimits{p.Count, int(p.Limit())}}
	for _, s := range list {
		r.Bytes += s.Bytes
	}
	return r, nil
}
