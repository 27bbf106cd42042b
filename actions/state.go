package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// StateParams are the parameters of state_save and state_load.
type StateParams struct {
	Name string `json:"name" required:"true" doc:"your name for the state: small letters, digits, '.', '_' and '-'"`
}

// StateResult is the answer of state_save and state_load.
type StateResult struct {
	Result
	Name    string   `json:"name"`
	Cookies int      `json:"cookies"`           // how many
	Origins []string `json:"origins"`           // whose local storage is in it
	Refused []string `json:"refused,omitempty"` // what the policy does not let this session reach, and was left out
}

// keeper returns a page as one whose state can be kept, or unsupported.
func (c *Call) keeper(p session.Page) (session.Keeper, error) {
	k, ok := p.(session.Keeper)
	if !ok {
		return nil, protocol.Errorf(protocol.Unsupported, "%s needs a session whose source keeps a state", c.Command.Name).With("source", p.State().Source)
	}
	return k, nil
}

func stateSave(ctx context.Context, c *Call, p *StateParams) (StateResult, error) {
	if err := c.House.States.Check(p.Name); err != nil {
		return StateResult{}, err
	}
	page, err := c.page(ctx)
	if err != nil {
		return StateResult{}, err
	}
	k, err := c.keeper(page)
	if err != nil {
		return StateResult{}, err
	}
	s, err := k.SaveState(ctx)
	if err != nil {
		return StateResult{}, c.Session.Lost(err)
	}
	if err := c.House.States.Save(c.Caller.Agent, p.Name, s); err != nil {
		return StateResult{}, err
	}
	r := StateResult{Result: c.result(page), Name: p.Name, Cookies: len(s.Cookies), Origins: []string{}}
	for _, o := range s.Origins {
		r.Origins = append(r.Origins, o.Origin)
	}
	return r, nil
}

func stateLoad(ctx context.Context, c *Call, p *StateParams) (StateResult, error) {
	page, err := c.page(ctx)
	if err != nil {
		return StateResult{}, err
	}
	return c.loadState(ctx, page, p.Name)
}

// loadState puts a state of the agent's into the page's session. An origin that
// the policy refuses, by the same rule as an address that the agent names, is
// left out and said. Cookies are only ever sent where the policy lets a request
// go, and have no port to be asked about: all are set.
func (c *Call) loadState(ctx context.Context, page session.Page, name string) (StateResult, error) {
	k, err := c.keeper(page)
	if err != nil {
		return StateResult{}, err
	}
	s, err := c.House.States.Load(c.Caller.Agent, name)
	if err != nil {
		return StateResult{}, err
	}
	r := StateResult{Name: name, Origins: []string{}}
	var origins []protocol.Origin
	for _, o := range s.Origins {
		// An origin and nothing else: it is visited, if only in name.
		checked, err := c.checkURL(ctx, o.Origin)
		if err != nil || checked != o.Origin+"/" {
			r.Refused = append(r.Refused, o.Origin)
			continue
		}
		origins = append(origins, o)
		r.Origins = append(r.Origins, o.Origin)
	}
	s.Origins = origins
	if err := k.LoadState(ctx, s); err != nil {
		return StateResult{}, c.Session.Lost(err)
	}
	r.Result, r.Cookies = c.result(page), len(s.Cookies)
	return r, nil
}
