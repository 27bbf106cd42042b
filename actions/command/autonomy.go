package command

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// Rules say what agents may do without confirmation. The zero value allows everything.
type Rules struct {
	// Autonomy applies to callers that have none of their own; empty: policy.Full.
	Autonomy policy.Autonomy
	// Confirm are the commands that a supervised caller is asked about.
	Confirm []string
	// Timeout is how long an operator may take to answer.
	Timeout time.Duration
	// Confirmations asks operators; nil: nobody can be asked, and every question is answered no.
	Confirmations *policy.Confirmations
}

// effectiveCommands returns the commands whose work the call does: its own command, and those that its
// parameters imply.
func (c *Call) effectiveCommands() []*Command {
	list := []*Command{c.Command}
	for _, i := range c.Command.Implied {
		if i.When == nil && c.hasParam(i.Parameter) || i.When != nil && i.When(c.Params) {
			list = append(list, i.As)
		}
	}
	return list
}

// changesNothing reports whether the call may run twice: nothing that it does changes a page, a session or anything
// that is kept.
func changesNothing(c *Call) bool {
	return !slices.ContainsFunc(c.effectiveCommands(), func(cmd *Command) bool { return !cmd.Is(MCPReadOnly) })
}

// AutonomyOf returns the caller's own autonomy, or else that of the rules.
func (r *Runtime) AutonomyOf(caller *Caller) policy.Autonomy {
	return cmp.Or(caller.Autonomy, r.Rules.Autonomy, policy.Full)
}

func (c *Call) autonomy() policy.Autonomy { return c.Runtime.AutonomyOf(c.Caller) }

// checkReadOnly returns policy_denied if the caller is read_only and the call changes something.
func (c *Call) checkReadOnly() error {
	if c.autonomy() != policy.ReadOnly {
		return nil
	}
	setting := "policy.autonomy"
	if c.Caller.Autonomy != "" {
		setting = "auth.tokens[].autonomy"
	}
	for _, cmd := range c.effectiveCommands() {
		if !cmd.Is(ReadOnly) {
			return protocol.Errorf(protocol.PolicyDenied, "%s changes something, and this agent only reads", describeCommand(c.Command.Name, cmd.Name)).
				With("reason", string(policy.ReasonReadOnly)).With("command", cmd.Name).
				With("config", map[string]any{"key": setting, "add": []string{string(policy.Full)}}).
				Then("read the page with snapshot, read or find; an operator can set another policy.autonomy, or one for this token in auth.tokens")
		}
	}
	return nil
}

func describeCommand(command, as string) string {
	if command == as {
		return command
	}
	return command + ", which here is " + as + ","
}

// confirm asks an operator if the call needs a confirmation, and waits for the answer. nil means yes. The
// caller holds the turn of the call's session, if it has one.
func (c *Call) confirm(ctx context.Context) error {
	if c.autonomy() != policy.Supervised || c.Command.Continues != nil && c.Command.Continues(c.Params) {
		return nil
	}
	for _, cmd := range c.effectiveCommands() {
		if !slices.Contains(c.Runtime.Rules.Confirm, cmd.Name) {
			continue
		}
		if err := c.confirmCommand(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}

// confirmCommand gets a yes to a command from a remembered answer or from an operator.
func (c *Call) confirmCommand(ctx context.Context, as *Command) error {
	name, rules := as.Name, c.Runtime.Rules
	if rules.Confirmations == nil {
		return c.notConfirmedError(name, policy.ErrNoOperator)
	}
	q := c.question("policy.confirm asks before " + describeCommand(c.Command.Name, name))
	q.Command = name
	c.locate(ctx, as, &q)
	allow, known := false, false
	if c.Session != nil && !q.Once {
		allow, known = c.Session.Answered(name, q.Place)
	}
	if !known && !q.Once {
		var err error
		if allow, known, err = rules.Confirmations.Remembered(ctx, c.Caller.Agent, name, q.Place); err != nil {
			known = false // the remembered answer may be no, so ask an operator
			q.Why += "; what was answered for good cannot be read now"
		}
	}
	if known {
		if allow {
			c.origin = q.Origin
			return nil
		}
		return protocol.Errorf(protocol.ConfirmationDenied, "an operator has denied %s for good", name).
			With("reason", "remembered").With("command", name).Then("do without it, ask the operator, or send handoff, so that a person does it")
	}
	var keep func(ctx context.Context, allow bool) error
	if s := c.Session; s != nil {
		keep = func(ctx context.Context, allow bool) error { return session.SaveAnswer(ctx, s, name, q.Place, allow) }
	}
	a, err := rules.Confirmations.Ask(ctx, q, rules.Timeout, keep)
	if err != nil {
		return c.notConfirmedError(name, err)
	}
	if a.Allow {
		now := c.question("")
		c.locate(ctx, as, &now)
		if now.Place != q.Place || now.TabOrigin != q.TabOrigin {
			// The page has navigated by itself: the answer was for another origin.
			return movedError(name, cmp.Or(q.Origin, q.Host), "another origin")
		}
		c.origin = q.Origin
	}
	if !a.Allow {
		return protocol.Errorf(protocol.ConfirmationDenied, "an operator said no to %s", name).
			With("reason", "denied").With("command", name).Then("do without it, ask the operator, or send handoff, so that a person does it")
	}
	return nil
}

// movedError returns the error of a command that was allowed at one origin when the page has gone to another.
func movedError(name, confirmed, origin string) error {
	return protocol.Errorf(protocol.ConfirmationDenied, "%s was allowed at %s, and the page has gone to %s since", name, confirmed, origin).
		With("reason", "moved").With("command", name).Then("take a snapshot to see where the page is, and send the command again")
}

// notConfirmedError returns the error for a question that could not be asked or got no answer.
func (c *Call) notConfirmedError(name string, err error) error {
	switch {
	case errors.Is(err, policy.ErrNoOperator):
		return protocol.Errorf(protocol.ConfirmationDenied, "%s needs an operator's confirmation, and there is no operator", name).
			With("reason", "no_operator").With("command", name).
			Then("the person who runs browserd can add a token with role operator to auth.tokens, or take %s out of policy.confirm", name)
	case errors.Is(err, policy.ErrTooMany):
		return protocol.Errorf(protocol.ConfirmationDenied, "%s needs an operator's confirmation, and too many others wait for one already", name).
			With("reason", "too_many").With("command", name).Then("wait until the others are answered")
	case errors.Is(err, policy.ErrNoAnswer):
		return protocol.Errorf(protocol.ConfirmationDenied, "%s needs an operator's confirmation, and nobody answered in time", name).
			With("reason", "no_answer").With("command", name).
			Then("ask the operator to answer confirmation_requested, and send the command again, with a larger timeout_ms where that ended the wait; or send handoff, so that a person does it")
	}
	return err
}

// offerOverride asks operators about a refusal that a setting would override, so that one of them can allow it
// at once. It returns the error with the question's id in its details; other errors it returns unchanged.
func (c *Call) offerOverride(err error) error {
	rules := c.Runtime.Rules
	var refused *protocol.Error
	if rules.Confirmations == nil || c.autonomy() == policy.ReadOnly ||
		!errors.As(err, &refused) || refused.Code != protocol.PolicyDenied {
		return err
	}
	setting, _ := refused.Details["config"].(map[string]any)
	key, _ := setting["key"].(string)
	entries, _ := setting["add"].([]string)
	if len(entries) == 0 || key != policy.KeyAllowHosts && key != policy.KeyAllowedDomains {
		return err
	}
	adds := policy.Setting{Key: key, Add: slices.Clone(entries)}
	q := c.question(refused.Message)
	q.Config = &adds
	if s := c.reach.session; s != nil {
		q.Session = s.Name()
	}
	if host, ok := refused.Details["host"].(string); ok {
		q.Host = host
	}
	id, asking := rules.Confirmations.Offer(q, func(ctx context.Context, a policy.Answer) error { return c.override(ctx, adds, a) })
	if asking != nil {
		return err
	}
	asked := *refused
	asked.Details = map[string]any{"confirmation": id}
	for k, v := range refused.Details {
		asked.Details[k] = v
	}
	return asked.Then("an operator has been asked (confirm %s): send the same command again once they have said yes, or open another address", id)
}

// onceDuration is how long an address stays allowed that an operator allowed without remembering the answer, so
// that the agent has time to open it.
const onceDuration = 10 * time.Minute

// override adds to the policy for the session in which the address was refused: for its life, or for onceDuration. If
// there is none, or the command opens another one when it is sent again, it adds for the agent, for onceDuration.
// Confirmations itself stores answers that are remembered for good.
func (c *Call) override(ctx context.Context, adds policy.Setting, a policy.Answer) error {
	of := session.AdditionsOf(c.Runtime.Sessions, c.Caller.Agent)
	if s := c.reach.session; s != nil {
		if a.Remember == policy.RememberSession {
			return session.SavePolicyAddition(ctx, s, adds)
		}
		if err := session.CheckHere(s); err != nil {
			return err
		}
		// A single request that is sent again opens another session. A connection keeps the one that it opened.
		reopens := c.created || c.opened && c.Caller.Stateless
		if !reopens && !isDone(s) {
			of = c.reach.within.Additions
		}
	}
	remove, err := of.AddUntil(adds)
	if err != nil {
		return err
	}
	time.AfterFunc(onceDuration, remove)
	return nil
}

func isDone(s *session.Session) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}
