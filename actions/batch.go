package actions

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// Batch is the command batch.
var Batch = command.Define(command.Row{
	Name: "batch", Summary: "Runs several commands one after the other. No other command of the session runs between them.", Main: "commands",
	Flags:   command.Group | command.BeginsSession | command.NotInBatch | command.ReadOnly | command.Unconfirmed | command.Unaudited,
	Prepare: prepareBatch,
	Examples: []command.Example{
		{For: "Opens a page and reads it, with one request", Params: `{"commands": [{"method": "open", "params": {"url": "https://shop.example/", "snapshot": "none"}}, {"method": "read"}]}`},
	},
}, batch)

// BatchParams are the parameters of batch.
type BatchParams struct {
	Commands    []BatchCommand `json:"commands" required:"true" doc:"{method, params} each, run one after the other"`
	StopOnError bool           `json:"stop_on_error" default:"true" doc:"leave out what follows a command that fails"`
}

// BatchCommand is one command of a batch.
type BatchCommand struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty" takes:"object"`
}

// BatchResult is the answer of batch: what each command answered, in order.
type BatchResult struct {
	Results []BatchAnswer `json:"results"`
}

// BatchAnswer is what one command answered: a result or an error.
type BatchAnswer struct {
	Result any                 `json:"result,omitempty"`
	Error  *protocol.ErrorData `json:"error,omitempty"`
}

// maxBatch is how many commands a batch may hold.
const maxBatch = 100

// prepareBatch finds the session that the batch holds the turn of while it
// runs, so that no other command of the session comes between.
func prepareBatch(c *command.Call) error {
	p := c.Params.(*BatchParams)
	if len(p.Commands) == 0 || len(p.Commands) > maxBatch {
		return protocol.Errorf(protocol.InvalidParams, "commands: accepts 1 to %d commands, not %d", maxBatch, len(p.Commands)).With("parameter", "commands")
	}
	for i, b := range p.Commands {
		if cmd, ok := c.Runtime.Commands.Lookup(b.Method); ok && cmd.Is(command.NotInBatch) {
			return protocol.Errorf(protocol.InvalidParams, "commands: command %d is %s, which a batch cannot hold", i, b.Method).With("parameter", "commands")
		}
	}
	return c.FindSession()
}

func batch(ctx context.Context, c *command.Call, p *BatchParams) (BatchResult, error) {
	r := BatchResult{Results: []BatchAnswer{}}
	for _, b := range p.Commands {
		answer, err := c.Inner(ctx, b.Method, b.Params)
		if err != nil && ctx.Err() != nil {
			return r, cutShort(ctx, c, r)
		}
		if err != nil {
			var e *protocol.Error
			if !errors.As(err, &e) {
				return r, err
			}
			data := e.Data()
			data.Message = e.Message
			r.Results = append(r.Results, BatchAnswer{Error: &data})
			if p.StopOnError || ctx.Err() != nil {
				return r, nil
			}
			continue
		}
		r.Results = append(r.Results, BatchAnswer{Result: answer})
	}
	return r, nil
}

// cutShort returns the error of what ended a batch, with the answers before that, which the
// client gets nowhere else.
func cutShort(ctx context.Context, c *command.Call, r BatchResult) error {
	err := c.Failure(ctx, context.Cause(ctx))
	var e *protocol.Error
	if len(r.Results) == 0 || !errors.As(err, &e) {
		return err
	}
	said := *e // the error may be shared
	said.Details = maps.Clone(e.Details)
	return said.With("results", r.Results).Then("details.results says what was done; what follows it may have begun: take a snapshot, then send the rest")
}
