package actions

import (
	"context"
	"encoding/json"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// Eval is the command eval.
var Eval = command.Define(command.Row{
	Name: "eval", Summary: "Evaluates JavaScript in the page.", Main: "expression",
	Flags: command.RunsScript | command.ChecksScript,
	Examples: []command.Example{
		{For: "Counts the links", Params: `{"expression": "document.links.length"}`},
		{For: "Reads a property of one element", Params: `{"ref": "@e7", "expression": "element.validity.valid"}`},
	},
}, eval)

// EvalParams are the parameters of eval.
type EvalParams struct {
	Expression string          `json:"expression" code:"true" required:"true" doc:"JavaScript; a promise is awaited"`
	Ref        protocol.Target `json:"ref" doc:"an element that the expression sees as element"`
	MaxChars   int             `json:"max_chars" default:"100000" min:"1" max:"4000000" doc:"characters of the value's JSON; a larger one is too_large"`
}

// EvalResult is the answer of eval.
type EvalResult struct {
	command.Result
	Value json.RawMessage `json:"value"`
}

func eval(ctx context.Context, c *command.Call, p *EvalParams) (EvalResult, error) {
	page, evaluator, err := command.Live[session.Evaluator](ctx, c)
	if err != nil {
		return EvalResult{}, err
	}
	check := func(origin string) error { return command.CheckScript(c, origin) }
	value, err := evaluator.EvalAt(ctx, c.Session.Refs(), string(p.Ref), p.Expression, check)
	if err != nil {
		return EvalResult{}, c.Session.DescribeLoss(err)
	}
	if len(value) > p.MaxChars {
		return EvalResult{}, protocol.Errorf(protocol.TooLarge, "the value has %d characters of JSON", len(value)).
			With("limit", p.MaxChars).With("size", len(value)).Then("return less, or raise max_chars")
	}
	return EvalResult{c.Result(page), value}, nil
}
