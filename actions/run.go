package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/actions/script"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// Run is the command run.
var Run = command.Define(command.Row{
	Name: "run", Summary: "Runs JavaScript with page (as in Playwright), browser.COMMAND({…}), input and console.log; return gives the value. No files, no network of its own.", Main: "code",
	Flags:      command.Group | command.BeginsSession | command.NotInBatch | command.ReadOnly | command.Unconfirmed | command.MCPTimeout,
	LocalFiles: "code",
	Examples: []command.Example{
		{For: "Fills in a form and returns what the page says", Params: `{"code": "await page.goto('https://shop.example/');\nawait page.getByLabel('Name').fill(input.name);\nawait page.getByLabel('City').selectOption('Bergen');\nawait page.getByRole('button', {name: 'Send'}).click();\nreturn page.textContent('#sent');", "input": {"name": "Ann"}}`},
		{For: "Uses the commands themselves", Params: `{"code": "const found = await browser.find({role: 'button', name: 'Send'});\nawait browser.click({ref: found.nodes[0].ref});"}`},
	},
}, runScript)

// RunParams are the parameters of run.
type RunParams struct {
	Code     string          `json:"code" required:"true" doc:"the script, JavaScript"`
	Input    json.RawMessage `json:"input" takes:"object" doc:"what the script finds in input"`
	MaxChars int             `json:"max_chars" default:"20000" min:"1" max:"1000000" doc:"characters of the value's JSON"`
	command.Shows
}

// RunResult is the answer of run.
type RunResult struct {
	command.Result
	// Run is the id under which the action log and the audit trail have the steps.
	Run string `json:"run"`
	// Value is what the script returned; where it is too long, a string with the beginning
	// of its JSON.
	Value     json.RawMessage `json:"value"`
	Truncated bool            `json:"truncated,omitempty"`
	Logs      []string        `json:"logs,omitempty"`
	Steps     int             `json:"steps"`
}

// maxCode is how many bytes a script may have.
const maxCode = 256 << 10

func runScript(ctx context.Context, c *command.Call, p *RunParams) (RunResult, error) {
	if c.Runtime.Scripts == nil {
		return RunResult{}, protocol.Errorf(protocol.Unsupported, "this daemon runs no scripts")
	}
	if len(p.Code) > maxCode {
		return RunResult{}, protocol.Errorf(protocol.TooLarge, "code: the script has %d bytes", len(p.Code)).With("limit", maxCode).With("size", len(p.Code))
	}
	r := running{call: c, code: p.Code, restore: session.KeepShown(c.Session)}
	ended, err := c.Runtime.Scripts.Run(ctx, script.Script{Code: p.Code, Input: p.Input, Commands: scriptCommands(c.Runtime.Commands)}, r.step)
	r.restore()
	if ctx.Err() != nil {
		return RunResult{}, r.stopped(ctx, ended.Steps)
	}
	if err != nil || ended.Failure != nil {
		return RunResult{}, r.failed(ctx, p.Shows, ended, err)
	}
	result := RunResult{Run: command.RunID(c), Value: ended.Value, Logs: ended.Logs, Steps: ended.Steps}
	if result.Result, err = r.shown(ctx, p.Shows); err != nil {
		return RunResult{}, err
	}
	if len(result.Value) == 0 {
		result.Value = json.RawMessage("null")
	}
	if text := []rune(string(result.Value)); len(text) > p.MaxChars {
		cut, err := json.Marshal(string(text[:p.MaxChars]))
		if err != nil {
			return RunResult{}, err
		}
		result.Value, result.Truncated = cut, true
		result.Note = fmt.Sprintf("the value has %d characters of JSON, and %d are here: raise max_chars, or run a script that returns a part of it", len(text), p.MaxChars)
	}
	return result, nil
}

// scriptCommands are the methods of a script's object browser.
func scriptCommands(all command.Repertoire) map[string]string {
	methods := map[string]string{}
	for _, cmd := range all {
		if cmd.InScripts() {
			methods[cmd.Name] = cmd.Main
		}
	}
	return methods
}

// running is one run: what its steps did so far.
type running struct {
	call    *command.Call
	code    string
	restore func() // makes what the client was shown its last view again
	effect  protocol.Effect
	last    script.Step // the last one that failed
}

// step runs one command of the script.
func (r *running) step(ctx context.Context, s script.Step) script.Answer {
	result, err := command.Step(ctx, r.call, command.Scripted{Run: command.RunID(r.call), Step: s.Number, Line: s.Line, Call: s.Call, Code: r.code}, s.Command, s.Params)
	if err != nil {
		r.last = s
		return script.Answer{Error: errorData(r.call.Failure(ctx, err))}
	}
	if shown, ok := result.(interface{ PageResult() command.Result }); ok {
		of := shown.PageResult()
		if of.Since != nil {
			r.effect.MergeSince(*of.Since)
		}
		if of.Effect != nil {
			r.effect.Merge(*of.Effect)
		}
	}
	text, err := json.Marshal(result)
	if err != nil {
		r.last = s
		return script.Answer{Error: errorData(r.call.Failure(ctx, err))}
	}
	return script.Answer{Result: text}
}

// errorData is an error as a step's result says it.
func errorData(err error) json.RawMessage {
	var e *protocol.Error
	if !errors.As(err, &e) {
		e = protocol.Errorf(protocol.Internal, "the step failed")
	}
	data := e.Data()
	data.Message = e.Message
	text, err := json.Marshal(data)
	if err != nil {
		return json.RawMessage(`{"code":"internal","message":"the step failed"}`)
	}
	return text
}

// shown is what the run changed, as one action's answer.
func (r *running) shown(ctx context.Context, shows command.Shows) (command.Result, error) {
	page := r.call.Session.Page()
	if page == nil {
		return command.Result{Session: r.call.Session.Name(), SessionEnded: r.call.SessionEnded()}, nil
	}
	return r.call.Acted(ctx, page, r.effect, nil, shows)
}

// stopped is the error of a run that its context ended: at its timeout, or cancelled.
func (r *running) stopped(ctx context.Context, steps int) error {
	err := r.call.Failure(ctx, context.Cause(ctx))
	var e *protocol.Error
	if !errors.As(err, &e) {
		return err
	}
	said := *e // it may be everybody's
	said.Details = nil
	for key, value := range e.Details {
		said.With(key, value)
	}
	return said.With("run", command.RunID(r.call)).With("steps", steps)
}

// failed is the error of a script that threw, reached a limit, or lost its process.
func (r *running) failed(ctx context.Context, shows command.Shows, ended script.Ended, err error) error {
	e := protocol.Errorf(protocol.ScriptError, "the script failed").With("run", command.RunID(r.call)).With("steps", ended.Steps)
	var limit *script.Limit
	switch f := ended.Failure; {
	case errors.As(err, &limit):
		e.Message = limit.Error()
		e.With("limit", limit.Name).Then("do less in one script, or go on with another one")
	case f == nil && (errors.Is(err, script.ErrDied) || errors.Is(err, script.ErrHostile)):
		r.call.Runtime.Log.WarnContext(ctx, "a script's process", "run", command.RunID(r.call), "session", r.call.Session.Name(), "error", err)
		e.Message = "the script's process ended: it may have used more memory or processor time than a script has"
		e.With("limit", "process").Then("do less in one script, or go on with another one")
	case f == nil:
		return err
	default:
		e.Message = f.Message
		r.explain(e, f.Line, f.Column, f.Step, f.Cause)
		if f.Limit != "" {
			e.With("limit", f.Limit).Then("do less in one script, or go on with another one")
		}
	}
	if len(ended.Logs) > 0 {
		e.With("logs", ended.Logs)
	}
	result, err := r.shown(ctx, shows)
	if err != nil {
		return e // the page does not answer: what it shows can be asked for
	}
	for name, part := range map[string]any{"effect": result.Effect, "snapshot": result.Snapshot, "delta": result.Delta} {
		if text, err := json.Marshal(part); err == nil && string(text) != "null" && string(text) != "{}" {
			e.With(name, part)
		}
	}
	if result.Page.Source != "" {
		e.With("page", result.Page)
	}
	return e
}

// explain says where in the script the error is, and what of the step's own.
func (r *running) explain(e *protocol.Error, line, column, step int, cause json.RawMessage) {
	if line > 0 {
		e.With("line", line)
	}
	if column > 0 {
		e.With("column", column)
	}
	var said protocol.ErrorData
	if json.Unmarshal(cause, &said) != nil || len(cause) == 0 {
		return
	}
	e.With("cause", json.RawMessage(cause))
	if said.Next != "" {
		e.Then("%s", said.Next)
	}
	if step > 0 && step == r.last.Number {
		e.With("step", map[string]any{"number": step, "call": r.last.Call, "command": r.last.Command})
	} else if step > 0 {
		e.With("step", map[string]any{"number": step})
	}
}

// Audit writes where the run ended into its entry of the audit trail.
func (r RunResult) Audit(e *ledger.Entry) {
	r.Result.Audit(e)
}
