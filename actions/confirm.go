package actions

import (
	"context"
	"encoding/json"

	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// Confirm is the command confirm.
var Confirm = command.Define(command.Row{
	Name: "confirm", Summary: "Answers a question that waits for an operator: may an agent run this command?", Main: "id",
	Flags: command.Unqueued | command.NoSession | command.NotInScripts | command.ReadOnly | command.Unconfirmed,
	Examples: []command.Example{
		{For: "Allows it, and everything like it while the session lives", Params: `{"id": "GX3ZQ2V4TB", "allow": true, "remember": "session"}`},
	},
}, confirm)

// ConfirmParams are the parameters of confirm.
type ConfirmParams struct {
	ID       string `json:"id" required:"true" doc:"the id of a confirmation_requested event, or of details.confirmation"`
	Allow    bool   `json:"allow" required:"true" doc:"true: it may happen; false: it may not"`
	Remember string `json:"remember" default:"no" enum:"no,session,always" doc:"how long the answer holds for the same agent, command and origin: for this once, for the session's life, or for good"`
}

// ConfirmResult is the answer of confirm: the question that is answered.
type ConfirmResult struct {
	ID       string          `json:"id"`
	Allow    bool            `json:"allow"`
	Remember string          `json:"remember"`
	Question policy.Question `json:"question"`
}

// Audit writes the decision into the audit trail, as the operator's who made it.
func (r ConfirmResult) Audit(e *ledger.Entry) {
	e.Session, e.URL, e.Verdict = r.Question.Session, r.Question.URL, "denied:"+r.Question.Command
	if r.Allow {
		e.Verdict = "allowed:" + r.Question.Command
	}
}

// confirmElsewhere answers a question that waits at another daemon of the fleet; unknown is the
// error where none waits.
func confirmElsewhere(ctx context.Context, c *command.Call, unknown error) (ConfirmResult, error) {
	for _, other := range command.AskOthers(ctx, c) {
		var r ConfirmResult
		switch code := protocol.CodeOf(other.Err); {
		case other.Err == nil:
			return r, json.Unmarshal(other.Result, &r)
		case code != protocol.InvalidParams:
			unknown = other.Err // it may wait there
		}
	}
	return ConfirmResult{}, unknown
}

func confirm(ctx context.Context, c *command.Call, p *ConfirmParams) (ConfirmResult, error) {
	if c.Caller.Role != command.RoleOperator {
		return ConfirmResult{}, protocol.Errorf(protocol.PolicyDenied, "only an operator may confirm").
			With("reason", string(policy.ReasonRole)).Then("ask the operator; their token has the role operator in auth.tokens")
	}
	if c.Runtime.Rules.Confirmations == nil {
		return ConfirmResult{}, protocol.Errorf(protocol.InvalidParams, "id: nothing waits for a confirmation under %q", protocol.Cut(p.ID, 40)).With("parameter", "id")
	}
	q, err := c.Runtime.Rules.Confirmations.Answer(ctx, p.ID, c.Caller.TokenID, policy.Answer{Allow: p.Allow, Remember: p.Remember})
	if protocol.CodeOf(err) == protocol.InvalidParams {
		return confirmElsewhere(ctx, c, err)
	}
	if err != nil {
		return ConfirmResult{}, err
	}
	c.Runtime.Log.InfoContext(ctx, "confirmation answered", "id", q.ID, "agent", q.Agent, "command", q.Command, "session", q.Session,
		"allow", p.Allow, "remember", p.Remember, "operator", c.Caller.Agent)
	return ConfirmResult{q.ID, p.Allow, p.Remember, q}, nil
}
