package command

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Scripted says of a call which step of which script it is.
type Scripted struct {
	Run  string // the run's id
	Step int    // from 1
	Line int    // of the script, from 1; 0: unknown
	Call string // as in the script, such as page.click
	Code string // the whole script
	Name string // name under which the script was saved, if it is a replay
	// Before is called when the step has its turn and its elements were found, before confirmation, charge and
	// work. If it fails, so does the step. It may be nil.
	Before func(ctx context.Context, c *Call) error
}

// Step runs a command for a script that the call c runs. It is an ordinary command in c's turn. The action log,
// the audit trail and questions to operators show it together with the script. A script may use only its own
// session, and no command that runs other commands, opens a session, concerns one connection or is a person's.
func Step(ctx context.Context, c *Call, s Scripted, method string, params json.RawMessage) (any, error) {
	if cmd, ok := c.Runtime.Commands.Lookup(method); ok && !cmd.InScripts() {
		return nil, protocol.Errorf(protocol.InvalidParams, "%s: a script cannot send it", method).With("parameter", "command").
			Then("send it as a command of its own, outside of the script")
	}
	params = withoutSnapshot(c.Runtime.Commands, method, params)
	job, err := c.Runtime.prepare(&Call{Caller: c.Caller, outer: c, script: &s, route: route{span: c.route.span}}, method, params)
	if err != nil {
		return nil, err
	}
	return job.Run(ctx)
}

// checkSession returns invalid_params if the call is a script's step and names another session than the script's.
// The parameters have been decoded: what they say in any other form is what the command would get.
func (s *Scripted) checkSession(c *Call) error {
	name := c.Common.Session
	if s == nil || name == "" || c.outer.Session != nil && name == c.outer.Session.Name() {
		return nil
	}
	return protocol.Errorf(protocol.InvalidParams, "session: a script acts in its own session, not in %q", protocol.Cut(name, 64)).With("parameter", "session").
		Then("leave session out, or run a script in that session")
}

// InScripts reports whether a script may send the command.
func (cmd *Command) InScripts() bool {
	return !cmd.Is(NotInBatch) && !cmd.Is(NotInScripts) && !cmd.Is(OpensSession) && !cmd.Is(WebSocketOnly)
}

// withoutSnapshot sets the parameter snapshot of an acting step to none, unless the script has set it: the
// run's result shows what has changed.
func withoutSnapshot(all Repertoire, method string, params json.RawMessage) json.RawMessage {
	cmd, ok := all.Lookup(method)
	var given map[string]json.RawMessage
	if !ok || !cmd.shows() || json.Unmarshal(params, &given) != nil || given["snapshot"] != nil {
		return params
	}
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	given["snapshot"] = json.RawMessage(`"none"`)
	with, err := json.Marshal(given)
	if err != nil {
		return params
	}
	return with
}

// maxScriptShown is how many characters of a script are shown to an operator who is asked about one of its
// steps.
const maxScriptShown = 20000

// forQuestion returns the step and its script for a question to an operator.
func (s *Scripted) forQuestion() *policy.ScriptStep {
	return &policy.ScriptStep{Run: s.Run, Step: s.Step, Line: s.Line, Call: s.Call, Name: s.Name, Code: aroundLine(s.Code, s.Line, maxScriptShown)}
}

// shows reports whether the command shows the page afterwards by default, and can be told not to.
func (cmd *Command) shows() bool {
	return slices.ContainsFunc(fieldsOf(reflect.New(cmd.params).Elem()), func(f field) bool {
		return f.name == "snapshot" && slices.Contains(strings.Split(f.tag.Get("enum"), ","), "none")
	})
}

// before calls Before, if the call is a step that has one.
func (s *Scripted) before(ctx context.Context, c *Call) error {
	if s == nil || s.Before == nil {
		return nil
	}
	return s.Before(ctx, c)
}

// Refs returns the refs of the elements that c is for, in the order of its parameters.
func Refs(c *Call) []string { return refsIn(reflect.ValueOf(c.Params).Elem()) }

// RunID returns the id of the call, which runs a script, in the audit trail.
func RunID(c *Call) string {
	if c.run == "" {
		c.run = "r_" + strings.ToLower(rand.Text()[:10])
	}
	return c.run
}

// aroundLine truncates a script to about n characters: its beginning and, if the line is not in that, the part
// around the line.
func aroundLine(code string, line, n int) string {
	r := []rune(code)
	at := 0 // where the line begins
	for skip := line - 1; skip > 0 && at < len(r); at++ {
		if r[at] == '\n' {
			skip--
		}
	}
	if len(r) <= n || at < n*3/4 {
		return shorten(code, n)
	}
	head, from := n/2, max(n/2, at-n/4)
	return fmt.Sprintf("%s… (%d more characters)\n%s", string(r[:head]), from-head, shorten(string(r[from:]), n/2))
}
