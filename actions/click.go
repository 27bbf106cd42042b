package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// Click is the command click.
var Click = command.Define(command.Row{
	Name: "click", Summary: "Clicks an element.", Next: "Then, as its answer says: tab_select for a tab that opened, dialog, downloads.", Main: "ref",
	Flags: command.Acts | command.Static | command.Unconfirmed | command.MCPDefault,
	Examples: []command.Example{
		{For: "Clicks a button", Params: `{"ref": "@e13"}`},
		{For: "Clicks a button by its name, without a snapshot", Params: `{"ref": {"role": "button", "name": "Send"}}`},
		{For: "Double-clicks with Shift held down", Params: `{"ref": "@e5", "count": 2, "modifiers": ["Shift"]}`},
	},
}, click)

// ClickParams are the parameters of click.
type ClickParams struct {
	Ref       protocol.Target `json:"ref" required:"true" doc:"the element"`
	Button    string          `json:"button" default:"left" enum:"left,middle,right" doc:"the mouse button"`
	Count     int             `json:"count" default:"1" min:"1" max:"3" doc:"2 for a double click"`
	Modifiers []string        `json:"modifiers" seldom:"true" enum:"Alt,Control,Meta,Shift" doc:"keys held down"`
	command.Shows
}

func click(ctx context.Context, c *command.Call, p *ClickParams) (command.Result, error) {
	page, err := c.Page(ctx)
	if err != nil {
		return command.Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Click{Ref: string(p.Ref), Button: p.Button, Count: p.Count, Modifiers: p.Modifiers}))
	return c.Acted(ctx, page, done.Effect, err, p.Shows)
}
