package actions

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// Cancel is the command cancel.
var Cancel = command.Define(command.Row{
	Name: "cancel", Summary: "Ends a running or queued request of this connection.", Main: "id", Instead: "Ctrl-C ends a command line",
	Flags: command.Unqueued | command.NoSession | command.NotInBatch | command.WebSocketOnly | command.ReadOnly | command.Unconfirmed | command.Unaudited,
	Examples: []command.Example{
		{For: `Ends the request that was sent with "id": 7`, Params: `{"id": 7}`},
	},
}, cancel)

// CancelParams are the parameters of cancel.
type CancelParams struct {
	ID json.RawMessage `json:"id" required:"true" takes:"string,number" doc:"the id of a request of this connection"`
}

// CancelResult is the answer of cancel.
type CancelResult struct {
	Cancelled bool `json:"cancelled"` // false: no such request runs or waits
}

func cancel(ctx context.Context, c *command.Call, p *CancelParams) (CancelResult, error) {
	if c.Caller.Cancel == nil {
		return CancelResult{}, protocol.Errorf(protocol.Unsupported, "cancel works on the connection that sent the request").
			With("source", "http").Then("end the HTTP request itself, or use the WebSocket")
	}
	return CancelResult{c.Caller.Cancel(bytes.TrimSpace(p.ID))}, nil
}
