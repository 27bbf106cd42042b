package actions

import (
	"context"

	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// RunList is the command run_list.
var RunList = command.Define(command.Row{
	Name: "run_list", Summary: "Lists the scripts that you have saved, or shows the code of one.", Main: "name",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Lists your scripts, with their sizes and how many you may keep", Params: `{}`},
		{For: "Shows the code of one", Params: `{"name": "order"}`},
	},
}, runList)

// RunListParams are the parameters of run_list.
type RunListParams struct {
	Name string `json:"name" doc:"of one script, to see its code; left out: all are listed"`
}

// RunListResult is the answer of run_list.
type RunListResult struct {
	Scripts []session.Saved `json:"scripts"`
	Bytes   int64           `json:"bytes"` // of all that are listed
	Limits  SavedLimits     `json:"limits"`
	Code    string          `json:"code,omitempty"` // of the one that was named
}

func runList(ctx context.Context, c *command.Call, p *RunListParams) (RunListResult, error) {
	kept := c.Runtime.SavedScripts
	r := RunListResult{Scripts: []session.Saved{}, Limits: SavedLimits{kept.Count, kept.Bytes}}
	if p.Name != "" {
		s, err := kept.Load(c.Caller.Agent, p.Name)
		if err != nil {
			return RunListResult{}, err
		}
		r.Code = s.Code
	}
	list, err := kept.List(c.Caller.Agent)
	if err != nil {
		return RunListResult{}, err
	}
	for _, s := range list {
		if p.Name == "" || p.Name == s.Name {
			r.Scripts = append(r.Scripts, s)
			r.Bytes += s.Bytes
		}
	}
	return r, nil
}
