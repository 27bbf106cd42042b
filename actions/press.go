package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// Press is the command press.
var Press = command.Define(command.Row{
	Name: "press", Summary: "Presses a key or a combination of keys.", Main: "key",
	Flags: command.Acts | command.Unconfirmed | command.MCPDefault,
	Examples: []command.Example{
		{For: "Moves to the next field", Params: `{"key": "Tab"}`},
		{For: "Selects all the text of a field", Params: `{"key": "Control+a", "ref": "@e7"}`},
		{For: "Holds a key down, as a game wants it; the same with up releases it", Params: `{"key": "ArrowRight", "action": "down"}`},
	},
	At: func(any) protocol.Spot { return protocol.Spot{Focus: true} },
}, press)

// PressParams are the parameters of press.
type PressParams struct {
	Key    string          `json:"key" required:"true" doc:"such as Enter, Control+a, Shift+Tab, ArrowDown or a character"`
	Ref    protocol.Target `json:"ref" doc:"focused first; left out: what has the focus"`
	Action string          `json:"action" seldom:"true" default:"press" enum:"press,down,up" doc:"down: the key stays down until up"`
	command.Shows
}

func press(ctx context.Context, c *command.Call, p *PressParams) (command.Result, error) {
	page, err := c.Live(ctx)
	if err != nil {
		return command.Result{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.Acting(protocol.Press{Ref: string(p.Ref), Key: p.Key, Action: p.Action, Origin: c.Origin()}))
	return c.Acted(ctx, page, done.Effect, err, p.Shows)
}
