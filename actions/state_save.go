package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// StateSave is the command state_save.
var StateSave = command.Define(command.Row{
	Name: "state_save", Summary: "Saves the session's cookies, local and session storage under a name.", Main: "name",
	Flags: command.Static | command.SessionWide | command.MCPReadOnly,
	Examples: []command.Example{
		{For: "Saves a login for later sessions", Params: `{"name": "shop"}`},
	},
}, stateSave)

// StateParams are the parameters of state_save and state_load.
type StateParams struct {
	Name string `json:"name" required:"true" doc:"your name for the state: small letters, digits, '.', '_' and '-'"`
}

// StateResult is the answer of state_save and state_load.
type StateResult struct {
	command.Result
	Name    string   `json:"name"`
	Cookies int      `json:"cookies"`           // how many
	Origins []string `json:"origins"`           // whose local or session storage is in it
	Refused []string `json:"refused,omitempty"` // what the policy does not let this session reach, and was left out
}

// stateSaver returns a page as one whose state can be kept, or unsupported.
func stateSaver(c *command.Call, p session.Page) (session.StateSaver, error) {
	k, ok := p.(session.StateSaver)
	if !ok {
		return nil, protocol.Errorf(protocol.Unsupported, "%s needs a session whose source keeps a state", c.Command.Name).With("source", p.State().Source)
	}
	return k, nil
}

func stateSave(ctx context.Context, c *command.Call, p *StateParams) (StateResult, error) {
	if err := c.Runtime.States.Check(p.Name); err != nil {
		return StateResult{}, err
	}
	page, err := c.Page(ctx)
	if err != nil {
		return StateResult{}, err
	}
	k, err := stateSaver(c, page)
	if err != nil {
		return StateResult{}, err
	}
	s, err := k.SaveState(ctx)
	if err != nil {
		return StateResult{}, c.Session.DescribeLoss(err)
	}
	if err := c.Runtime.Sessions.SaveState(c.Session, c.Runtime.States, p.Name, s); err != nil {
		return StateResult{}, err
	}
	r := StateResult{Result: c.Result(page), Name: p.Name, Cookies: len(s.Cookies), Origins: []string{}}
	for _, o := range s.Origins {
		r.Origins = append(r.Origins, o.Origin)
	}
	return r, nil
}
