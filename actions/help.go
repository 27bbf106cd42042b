package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// Help is the command help.
var Help = command.Define(command.Row{
	Name: "help", Summary: "Lists the commands, or describes one with its parameters.", Main: "command",
	Flags: command.MCPCode | command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Describes one command", Params: `{"command": "click"}`},
	},
}, help)

// HelpParams are the parameters of help.
type HelpParams struct {
	Command string `json:"command" doc:"one command, with its parameters; left out: a line for each"`
}

func help(_ context.Context, c *command.Call, p *HelpParams) (command.HelpResult, error) {
	return c.Runtime.Commands.Help(p.Command)
}
