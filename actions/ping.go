package actions

import "context"

// PingParams are none.
type PingParams struct{}

// Pong is the answer to ping.
type Pong struct {
	Pong bool `json:"pong"`
}

func ping(context.Context, *Call, *PingParams) (Pong, error) { return Pong{true}, nil }
