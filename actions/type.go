package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// Type is the command type.
var Type = command.Define(command.Row{
	Name: "type", Summary: "Types text into a field.", Main: "ref",
	Flags: command.Acts | command.Static | command.Unconfirmed | command.MCPDefault,
	Typed: "text",
	Examples: []command.Example{
		{For: "Types into a field", Params: `{"ref": "@e7", "text": "Ola Nordmann"}`},
		{For: "Types into the field with that label", Params: `{"ref": "label=Name", "text": "Ola Nordmann"}`},
		{For: "Replaces what is there and presses Enter", Params: `{"ref": "@e7", "text": "Kari", "clear": true, "submit": true}`},
	},
}, typeText)

// TypeParams are the parameters of type.
type TypeParams struct {
	Ref    protocol.Target `json:"ref" required:"true" doc:"the control"`
	Text   string          `json:"text" required:"true" empty:"true" doc:"what to write; empty with clear: nothing stays"`
	Clear  bool            `json:"clear" default:"false" doc:"replace what is there"`
	Submit bool            `json:"submit" default:"false" doc:"press Enter afterwards"`
	Mode   string          `json:"mode" default:"insert" enum:"insert,keys" doc:"keys: one key after the other, line breaks by Enter"`
	command.Shows
}

func typeText(ctx context.Context, c *command.Call, p *TypeParams) (command.Result, error) {
	page, err := c.Page(ctx)
	if err != nil {
		return command.Result{}, err
	}
	text, secret, err := command.Reveal(ctx, c, page, string(p.Ref), p.Text)
	if err != nil {
		return command.Result{}, c.Session.DescribeLoss(err)
	}
	if secret {
		p.Mode = "insert" // a page that listens for keys would have it letter by letter
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Type{Ref: string(p.Ref), Text: text, Clear: p.Clear, Submit: p.Submit, Mode: p.Mode, Secret: secret}))
	return c.Acted(ctx, page, done.Effect, command.WithoutSecret(err, secret), p.Shows)
}
