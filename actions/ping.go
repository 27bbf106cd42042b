package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// Ping is the command ping.
var Ping = command.Define(command.Row{
	Name: "ping", Summary: "Answers at once.",
	Flags: command.Unqueued | command.NoSession | command.Inspects,
	Examples: []command.Example{
		{For: "Checks that the daemon answers", Params: `{}`},
	},
}, ping)

// PingParams are none.
type PingParams struct{}

// Pong is the answer to ping.
type Pong struct {
	Pong bool `json:"pong"`
}

func ping(context.Context, *command.Call, *PingParams) (Pong, error) { return Pong{true}, nil }
