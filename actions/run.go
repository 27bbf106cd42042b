package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/actions/script"
	"github.com/browserd/browserd/actions/script/child"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// Run is the command run.
var Run = command.Define(command.Row{
	Name: "run", Summary: "Runs JavaScript with page (as in Playwright), browser.COMMAND({…}), input and console.log; return gives the value. No files, no network of its own.", Main: "code",
	Flags:      command.MCPCode | command.Group | command.BeginsSession | command.NotInBatch | command.ReadOnly | command.Unconfirmed | command.MCPTimeout,
	LocalFiles: "code",
	Implied:    []command.Implied{{Parameter: "save", As: StateSave}},
	Examples: []command.Example{
		{For: "Fills in a form and returns what the page says", Params: `{"code": "await page.goto('https://shop.example/');\nawait page.getByLabel('Name').fill(input.name);\nawait page.getByLabel('City').selectOption('Bergen');\nawait page.getByRole('button', {name: 'Send'}).click();\nreturn page.textContent('#sent');", "input": {"name": "Ann"}}`},
		{For: "Uses the commands themselves", Params: `{"code": "const found = await browser.find({role: 'button', name: 'Send'});\nawait browser.click({ref: found.nodes[0].ref});"}`},
		{For: "Saves a script; what is particular to this run is in input", Params: `{"save": "order", "code": "await page.goto('https://shop.example/');\nawait page.getByLabel('Name').fill(input.name);\nawait page.getByRole('button', {name: 'Send'}).click();\nreturn page.textContent('#sent');", "input": {"name": "Ann"}}`},
		{For: "Runs it again with another input; stops before it acts on a page that has changed", Params: `{"name": "order", "input": {"name": "Bo"}}`},
	},
}, runScript)

// RunParams are the parameters of run.
type RunParams struct {
	Code     string          `json:"code" code:"true" doc:"the script, JavaScript"`
	Input    json.RawMessage `json:"input" takes:"object" doc:"what the script finds in input"`
	Save     string          `json:"save" seldom:"true" doc:"a name under which the script is kept if it ends well: small letters, digits, '.', '_' and '-'"`
	Name     string          `json:"name" seldom:"true" doc:"in place of code: a script that you have saved. With save too, it is not compared with the pages on which it was saved, but kept with those on which it runs now"`
	MaxChars int             `json:"max_chars" seldom:"true" default:"20000" min:"1" max:"1000000" doc:"characters of the value's JSON"`
	Run      string          `json:"run" seldom:"true" doc:"in place of code: the id of your last run whose value was cut, to read on from offset"`
	Offset   int             `json:"offset" seldom:"true" default:"0" min:"0" doc:"with run, characters of the value's JSON to begin after: the next_offset of the last answer"`
	command.Shows
}

// RunResult is the answer of run.
type RunResult struct {
	command.Result
	// Run is the id under which the action log and the audit trail have the steps.
	Run string `json:"run"`
	// Value is what the script returned; where it is too long, a string with a part of its
	// JSON, which goes on at NextOffset.
	Value      json.RawMessage `json:"value"`
	Truncated  bool            `json:"truncated,omitempty"`
	NextOffset int             `json:"next_offset,omitempty"`
	Logs       []string        `json:"logs,omitempty"`
	Steps      int             `json:"steps"`
	// Saved is the name under which the script was kept.
	Saved string `json:"saved,omitempty"`
}

// maxCode is how many bytes a script may have.
const maxCode = 256 << 10

// maxAnswer is how many bytes the result of a step may have.
const maxAnswer = child.MaxFrame - 1<<10

func runScript(ctx context.Context, c *command.Call, p *RunParams) (RunResult, error) {
	if c.Runtime.Scripts == nil {
		return RunResult{}, protocol.Errorf(protocol.Unsupported, "this daemon runs no scripts")
	}
	if p.Run != "" {
		return readOn(c, p)
	}
	r, err := newRunning(c, p)
	if err != nil {
		return RunResult{}, err
	}
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r.stop = stop
	ended, err := c.Runtime.Scripts.Run(within, script.Script{Code: r.code, Input: p.Input, Commands: scriptCommands(c.Runtime.Commands), Token: c.Caller.Token}, r.step)
	r.restore()
	if ctx.Err() != nil {
		return RunResult{}, r.stopped(ctx, ended.Steps)
	}
	if r.drift == nil && ended.Failure != nil {
		r.lost(ctx, ended.Failure)
	}
	if r.drift != nil {
		return RunResult{}, r.told(ctx, r.drift.With("steps", ended.Steps), p.Shows, ended)
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
	if whole := string(result.Value); utf8.RuneCountInString(whole) > p.MaxChars {
		c.Runtime.Scripts.Values.Keep(valuesOwner(c), result.Run, whole)
		err = result.cut(whole, 0, p.MaxChars)
	}
	r.keep(ctx, p.Save, &result)
	return result, err
}

// newRunning returns a run of the script that the parameters have or name.
func newRunning(c *command.Call, p *RunParams) (*running, error) {
	r := &running{call: c, code: p.Code, name: p.Name, picked: map[string]json.RawMessage{}}
	switch {
	case p.Code == "" && p.Name == "":
		return nil, protocol.Errorf(protocol.InvalidParams, "code is needed: the script").With("parameter", "code")
	case p.Code != "" && p.Name != "":
		return nil, protocol.Errorf(protocol.InvalidParams, "name runs a script that was saved: code must be left out").With("parameter", "name")
	case len(p.Code) > maxCode:
		return nil, protocol.Errorf(protocol.TooLarge, "code: the script has %d bytes", len(p.Code)).With("limit", maxCode).With("size", len(p.Code))
	}
	if p.Name != "" {
		saved, err := c.Runtime.SavedScripts.Load(c.Caller.Agent, p.Name)
		if err != nil {
			return nil, err
		}
		r.code, r.replay = saved.Code, script.NewReplay(saved, p.Input)
	}
	if p.Save != "" {
		if err := mayKeep(c, p.Save, len(r.code)); err != nil {
			return nil, err
		}
		r.recording, r.replay = script.NewRecording(r.code, p.Input), nil
	}
	r.restore = command.View(c).Preserve()
	return r, nil
}

// cut makes the value a string with n characters of its JSON, from offset on.
func (r *RunResult) cut(whole string, offset, n int) (err error) {
	var text string
	text, r.NextOffset = part(whole, offset, n)
	r.Value, err = child.JSON(text)
	if r.Truncated = r.NextOffset != 0; r.Truncated {
		r.Note = fmt.Sprintf("the value has %d characters of JSON: for the rest, run with run %q and offset %d, or return less", utf8.RuneCountInString(whole), r.Run, r.NextOffset)
	}
	return err
}

// readOn answers with the next part of the value of a run that has ended.
func readOn(c *command.Call, p *RunParams) (RunResult, error) {
	if p.Code != "" {
		return RunResult{}, protocol.Errorf(protocol.InvalidParams, "run reads the value of an earlier script: code must be left out").With("parameter", "code")
	}
	whole, ok := c.Runtime.Scripts.Values.Of(valuesOwner(c), p.Run)
	if !ok {
		return RunResult{}, protocol.Errorf(protocol.InvalidParams, "run %q: no value of that run is kept; only your session's last one that was cut is", protocol.Cut(p.Run, 40)).
			With("parameter", "run").Then("run the script again, with a higher max_chars or a smaller value")
	}
	r := RunResult{Run: p.Run}
	if page := c.Session.Page(); page != nil {
		r.Result = c.Result(page)
	}
	err := r.cut(whole, p.Offset, p.MaxChars)
	return r, err
}

// valuesOwner is who may read on in a value: the agent, in the same session.
func valuesOwner(c *command.Call) string { return c.Caller.Agent + "\x00" + c.Session.Name() }

// scriptCommands returns the methods of a script's object browser.
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
	now     script.Step // the one under way, or the last one
	midst   bool        // it had no answer when the script was ended
	last    script.Step // the last one that failed

	name      string            // of the saved script that runs; empty: it was sent
	recording *script.Recording // nil: it is not to be saved
	replay    *script.Replay    // nil: it is not compared with anything
	picked    map[string]json.RawMessage
	acted     int              // steps of a replay that acted
	drift     *protocol.Error  // what stopped a replay
	arrived   time.Time        // when the step began that brought the page, if the script is to be saved
	sought    [2]int           // the place in the code from which a replay looked in vain last
	stability script.Stability // of the page, since it looks from there
	stop      func(error)      // ends the script
}

// step runs one command of the script.
func (r *running) step(ctx context.Context, s script.Step) script.Answer {
	r.now, r.midst = s, false
	defer func() { r.midst = ctx.Err() != nil }()
	began, document := time.Now(), r.document()
	result, err := command.Step(ctx, r.call, command.Scripted{
		Run: command.RunID(r.call), Step: s.Number, Line: s.Line, Call: s.Call, Name: r.name, Code: r.code, Before: r.before,
	}, s.Command, s.Params)
	if err != nil {
		r.last = s
		return script.Answer{Error: script.ErrorData(r.call.Failure(ctx, err))}
	}
	if r.arrived.IsZero() || r.document() != document {
		r.arrived = began
	}
	if found, ok := result.(FindResult); ok && r.recording != nil {
		r.pick(found, s.Params)
	} else if ok && r.replay != nil && len(found.Nodes) == 0 {
		if err := r.seek(ctx); err != nil {
			return script.Answer{Error: script.ErrorData(r.call.Failure(ctx, err))}
		}
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
	text, err := child.JSON(result)
	if len(text) > maxAnswer {
		err = protocol.Errorf(protocol.TooLarge, "the result of %s has %d bytes, more than a script can read", s.Command, len(text)).
			With("limit", maxAnswer).With("size", len(text)).Then("ask for less of it")
	}
	if err != nil {
		r.last = s
		return script.Answer{Error: script.ErrorData(r.call.Failure(ctx, err))}
	}
	return script.Answer{Result: r.call.Runtime.Secrets.Redact(r.call.Caller.Agent, text)}
}

// document returns the number of the page's document; 0: there is no page yet.
func (r *running) document() int {
	if page := r.call.Session.Page(); page != nil {
		return page.State().Document
	}
	return 0
}

// shown returns what the run changed, as one action's answer.
func (r *running) shown(ctx context.Context, shows command.Shows) (command.Result, error) {
	page := r.call.Session.Page()
	if page == nil {
		return command.Result{Session: r.call.Session.Name(), SessionEnded: r.call.SessionEnded()}, nil
	}
	return r.call.Acted(ctx, page, r.effect, nil, shows)
}

// stopped returns the error of a run that its context ended: at its timeout, or cancelled.
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
	r.where(&said)
	return said.With("run", command.RunID(r.call)).With("steps", steps)
}

// failed returns the error of a script that threw, reached a limit, or lost its process.
func (r *running) failed(ctx context.Context, shows command.Shows, ended script.Ended, err error) error {
	e := protocol.Errorf(protocol.ScriptError, "the script failed").With("run", command.RunID(r.call)).With("steps", ended.Steps)
	var limit *script.Limit
	switch f := ended.Failure; {
	case errors.As(err, &limit):
		e.Message = limit.Error()
		at(e, limit.At.Line, limit.At.Column)
		e.With("limit", limit.Name).Then("do less in one script, or go on with another one")
	case f == nil && (errors.Is(err, script.ErrDied) || errors.Is(err, script.ErrHostile)):
		r.call.Runtime.Log.WarnContext(ctx, "a script's process", "run", command.RunID(r.call), "session", r.call.Session.Name(), "error", err)
		e.Message = "the script's process ended: it may have used more memory or processor time than a script has"
		r.where(e)
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
	return r.told(ctx, e, shows, ended)
}

// where says which step was under way when the script was ended, if one was.
func (r *running) where(e *protocol.Error) {
	if r.midst {
		at(e, r.now.Line, r.now.Column)
		e.With("step", map[string]any{"number": r.now.Number, "call": r.now.Call, "command": r.now.Command})
	}
}

// at says where in the script an error is, as far as that is known.
func at(e *protocol.Error, line, column int) {
	if line > 0 {
		e.With("line", line)
	}
	if column > 0 {
		e.With("column", column)
	}
}

// told adds to the error of a run what the script logged, what its steps did, and what the page
// shows now.
func (r *running) told(ctx context.Context, e *protocol.Error, shows command.Shows, ended script.Ended) error {
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
	at(e, line, column)
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

// mayKeep returns an error if a script cannot be saved under that name, before it does anything.
func mayKeep(c *command.Call, name string, size int) error {
	kept := c.Runtime.SavedScripts
	err := kept.Check(name)
	if err == nil {
		err = kept.CheckQuota(c.Caller.Agent, name, size)
	}
	var e *protocol.Error
	if errors.As(err, &e) && e.Details["parameter"] != nil {
		e.Message = "save: " + e.Message
		e.With("parameter", "save")
	}
	return err
}

// keep saves the script that has ended well. It has acted by now: that it could not be saved is
// a note.
func (r *running) keep(ctx context.Context, name string, result *RunResult) {
	if r.recording == nil {
		return
	}
	err := r.call.Runtime.SavedScripts.Save(r.call.Caller.Agent, name, r.recording.Saved())
	if err == nil {
		result.Saved = name
		return
	}
	why := "the script has run and was not saved"
	var e *protocol.Error
	if err = r.call.Failure(ctx, err); errors.As(err, &e) {
		why += ": " + e.Message
	}
	if result.Note != "" {
		why += "; " + result.Note
	}
	result.Note = why
}

// pick notes, of elements that the script found by their place among several, by what else it
// looked for them.
func (r *running) pick(found FindResult, params json.RawMessage) {
	var p struct{ Chain []map[string]json.RawMessage }
	placed := json.Unmarshal(params, &p) == nil && len(p.Chain) > 1 && p.Chain[len(p.Chain)-1]["nth"] != nil
	for _, n := range found.Nodes {
		delete(r.picked, n.Ref)
		if !placed {
			continue
		}
		if chain, err := json.Marshal(p.Chain[:len(p.Chain)-1]); err == nil {
			r.picked[n.Ref] = chain
		}
	}
}

// among reports whether the element was picked by its place among several that the script's
// locator fits.
func (r *running) among(ctx context.Context, page session.Page, ref string) bool {
	chain := r.picked[ref]
	if chain == nil {
		return false
	}
	var got protocol.Chained
	_, err := page.Find(ctx, r.call.Session.Refs(), protocol.Query{Chain: chain, Limit: 1, Got: &got})
	return err != nil || got.Count > 1
}

// before notes what a step is about to act on, if the script is to be saved, and compares it with
// what was noted then, if the script is replayed. Steps that read or navigate, and answers to
// dialogs, are neither noted nor compared.
func (r *running) before(ctx context.Context, c *command.Call) error {
	acts := c.Command.Is(command.Acts) && !c.Command.Is(command.ReadOnly) && !c.Command.Is(command.Unqueued) || c.Command == Eval
	if r.recording == nil && r.replay == nil || !acts {
		return nil
	}
	page, err := c.Page(ctx)
	if err != nil {
		return err
	}
	a := acting(page, r.now.Line, r.now.Column)
	for _, ref := range command.Refs(c) {
		e, err := c.Session.Refs().Lookup(ref)
		if err != nil {
			return nil // the command says what is wrong with the ref
		}
		is := script.NewElement(e.Role, e.Name)
		is.Any = r.recording != nil && r.among(ctx, page, e.Ref())
		a.Elements = append(a.Elements, is)
	}
	if r.replay != nil {
		return r.compare(ctx, c, page, a)
	}
	if !r.arrived.IsZero() {
		a.Age = time.Since(r.arrived)
	}
	var there []script.Element
	if r.recording.IsNewVisit(a.Visit) {
		if nodes, err := r.nodes(ctx, page); err == nil {
			there = script.ElementsOf(nodes)
		}
	}
	r.recording.Add(a, there)
	return nil
}

// acting returns a step from that place in the code on the page that is open.
func acting(page session.Page, line, column int) script.Acting {
	st := page.State()
	return script.Acting{Line: line, Column: column, Visit: script.Visit{Tab: st.Tab, Document: st.Document, Page: script.Address(st.URL)}}
}

// nodes reads the whole page's controls.
func (r *running) nodes(ctx context.Context, page session.Page) ([]snapshot.Node, error) {
	o := snapshot.DefaultOptions()
	o.MaxNodes, o.MaxChars, o.MaxDepth = 5000, 1<<20, 512
	return command.View(r.call).Nodes(ctx, page, o)
}

// driftTimeout is how long a page may take to become what it was when the script was saved, as an
// element may take to become actionable. A page that is stable gets no more time.
const driftTimeout = 5 * time.Second

// compare returns the error of a replay that would act on another page than the one on which the
// script was saved, and ends the script.
func (r *running) compare(ctx context.Context, c *command.Call, page session.Page, a script.Acting) error {
	until := time.Now().Add(driftTimeout)
	stability := script.Stability{ExtraWait: r.replay.ExtraWait(a)}
	for pause := 20 * time.Millisecond; ; pause = min(pause*2, 250*time.Millisecond) {
		newVisit := r.replay.IsNewVisit(a.Visit)
		pages, differ := r.replay.Pages(a), r.replay.Elements(a)
		if !newVisit && pages == nil && differ == nil {
			break
		}
		nodes, err := r.nodes(ctx, page)
		if err != nil {
			return nil // a dialog blocks the page, or it is gone: the command reports that
		}
		there := script.ElementsOf(nodes)
		missing := r.replay.Missing(a, there)
		if pages == nil && differ == nil && missing == nil {
			r.replay.VisitCompared(a.Visit)
			break
		}
		if !time.Now().Before(until) || stability.Stable(ctx, page, nodes) {
			return r.drifted(r.now.Line, r.now.Call, r.replay.Lines(pages, a, command.Refs(c), differ, missing, nodes, r.call.Session.Refs()))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		a.Visit = acting(page, a.Line, a.Column).Visit
		for i, ref := range command.Refs(c) {
			e, err := c.Session.Refs().Lookup(ref)
			if err != nil {
				return nil
			}
			if at := slices.IndexFunc(nodes, func(n snapshot.Node) bool { return n.Key == e.Key }); at >= 0 {
				a.Elements[i] = script.NewElement(nodes[at].Role, nodes[at].Name)
			}
		}
	}
	r.acted++
	return nil
}

// lost stops a replay whose script has failed because it found nothing to act on, if the page is
// not the one on which the script was saved.
func (r *running) lost(ctx context.Context, f *child.Failure) {
	if page := r.call.Session.Page(); r.replay != nil && len(f.Cause) > 0 && page != nil {
		r.absent(ctx, page, f.Line, f.Column, nil)
	}
}

// seek returns the error of a replay that looks for an element to act on and will not find it,
// and ends the script: the page is not the one on which it was saved, and is stable.
func (r *running) seek(ctx context.Context) error {
	page, place := r.call.Session.Page(), [2]int{r.now.Line, r.now.Column}
	if page == nil {
		return nil
	}
	if r.sought != place {
		r.sought, r.stability = place, script.Stability{ExtraWait: r.replay.ExtraWait(script.Acting{Line: place[0], Column: place[1]})}
	}
	return r.absent(ctx, page, place[0], place[1], &r.stability)
}

// absent ends a replay that finds nothing to act on from a place in its code, and returns the
// error, if the page is another one than the recorded one or lacks the recorded elements. If
// stability is not nil, the page must be stable too.
func (r *running) absent(ctx context.Context, page session.Page, line, column int, stability *script.Stability) error {
	a := acting(page, line, column)
	if !r.replay.HasAct(a) {
		return nil
	}
	nodes, err := r.nodes(ctx, page)
	if err != nil {
		return nil // a dialog blocks the page, or it is gone: the command reports that
	}
	there := script.ElementsOf(nodes)
	lines := r.replay.Lines(r.replay.Pages(a), a, nil, nil, r.replay.NotFound(a, there), nodes, r.call.Session.Refs())
	if lines == nil || stability != nil && !stability.Stable(ctx, page, nodes) {
		return nil
	}
	return r.drifted(line, r.now.Call, lines)
}

// drifted returns the error of a replay that stops, and ends the script.
func (r *running) drifted(line int, call string, difference []string) error {
	r.drift = protocol.Errorf(protocol.ScriptDrifted, "the script %s stopped before line %d acted: the page is not the one on which it was saved", r.name, line).
		With("script", r.name).With("difference", difference).With("acted", r.acted).With("run", command.RunID(r.call)).With("line", line).With("column", r.now.Column).
		With("step", map[string]any{"number": r.now.Number, "call": call, "command": r.now.Command})
	r.stop(r.drift)
	return r.drift
}
