package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// StateLoad is the command state_load.
var StateLoad = command.Define(command.Row{
	Name: "state_load", Summary: "Loads a saved state (cookies, local and session storage) into the session.", Main: "name",
	Flags: command.Static | command.SessionWide,
	Examples: []command.Example{
		{For: `Goes on logged in, with the state that was saved as "shop"`, Params: `{"name": "shop"}`},
	},
}, stateLoad)

func stateLoad(ctx context.Context, c *command.Call, p *StateParams) (StateResult, error) {
	page, err := c.Page(ctx)
	if err != nil {
		return StateResult{}, err
	}
	return load(ctx, c, page, c.Runtime.States, p.Name)
}

// load puts a state of the agent's into the page's session. An origin that
// the policy refuses, by the same rule as an address that the agent names, is
// left out and said. Cookies are only ever sent where the policy lets a request
// go, and have no port to be asked about: all are set.
func load(ctx context.Context, c *command.Call, page session.Page, states *session.States, name string) (StateResult, error) {
	k, err := stateSaver(c, page)
	if err != nil {
		return StateResult{}, err
	}
	s, err := states.Load(c.Caller.Agent, name)
	if err != nil {
		return StateResult{}, err
	}
	r := StateResult{Name: name, Origins: []string{}}
	var origins []protocol.Origin
	for _, o := range s.Origins {
		// An origin and nothing else: it is visited, if only in name.
		checked, err := c.CheckURL(ctx, o.Origin)
		if err != nil || checked != o.Origin+"/" {
			r.Refused = append(r.Refused, o.Origin)
			continue
		}
		origins = append(origins, o)
		r.Origins = append(r.Origins, o.Origin)
	}
	s.Origins = origins
	if err := command.RecordStored(c, s); err != nil {
		return StateResult{}, err
	}
	if err := k.LoadState(ctx, s); err != nil {
		return StateResult{}, c.Session.DescribeLoss(err)
	}
	r.Result, r.Cookies = c.Result(page), len(s.Cookies)
	return r, nil
}
