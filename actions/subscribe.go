package actions

import (
	"context"
	"slices"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// Subscribe is the command subscribe.
var Subscribe = command.Define(command.Row{
	Name: "subscribe", Summary: "Chooses the events that this connection gets.", Main: "events", Instead: "browserd watch shows events",
	Flags: command.Unqueued | command.NoSession | command.WebSocketOnly | command.ReadOnly | command.Unconfirmed | command.Unaudited,
	Examples: []command.Example{
		{For: "Gets an event for every new page and every dialog", Params: `{"events": ["navigated", "dialog"]}`},
	},
}, subscribe)

// SubscribeParams are the parameters of subscribe.
type SubscribeParams struct {
	Events   []string `json:"events" required:"true" doc:"the types wanted from now on; an empty list: none. The type command, a command's end with what it changed, is told to those alone who name it"`
	Sessions string   `json:"sessions" default:"own" enum:"own,all" doc:"own: of the sessions that this connection opened or named; all: of all of yours"`
}

// SubscribeResult is the answer of subscribe.
type SubscribeResult struct {
	Events []string `json:"events"`
}

func subscribe(ctx context.Context, c *command.Call, p *SubscribeParams) (SubscribeResult, error) {
	for _, e := range p.Events {
		if !slices.Contains(protocol.EventTypes, e) {
			return SubscribeResult{}, protocol.Errorf(protocol.InvalidParams, "events: there is no event %q", protocol.Cut(e, 60)).
				With("parameter", "events").With("events", protocol.EventTypes)
		}
	}
	if c.Caller.Subscribe == nil {
		return SubscribeResult{}, protocol.Errorf(protocol.Unsupported, "events are sent over the WebSocket").With("source", "http").
			Then("connect to /v1/ws")
	}
	if err := c.Caller.Subscribe(p.Events, p.Sessions == "all"); err != nil {
		return SubscribeResult{}, err
	}
	return SubscribeResult{append([]string{}, p.Events...)}, nil
}
