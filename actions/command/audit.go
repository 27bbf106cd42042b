package command

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// awaitConfirmation waits for an operator's confirmation where the command needs one.
func (c *Call) awaitConfirmation(ctx context.Context) error {
	err := c.confirm(ctx)
	if err != nil && c.created {
		c.CloseOpened(ctx) // otherwise the next command would use the session that was refused
	}
	return err
}

// runCommand runs the command if the daemon may still act for its session: waiting for an operator's answer may
// have taken minutes.
func runCommand(ctx context.Context, c *Call) (any, error) {
	if err := checkLease(c); err != nil {
		return nil, err
	}
	if err := recordScript(c); err != nil {
		return nil, err
	}
	c.route.mayHaveActed = true
	return c.Command.run(ctx, c)
}

// runCharged runs the command. Before it, the ledger deducts its price; afterwards the charge is settled and
// the command is recorded in the audit trail.
func (c *Call) runCharged(ctx context.Context) (any, error) {
	l := c.Runtime.Ledger
	if l == nil {
		if err := c.awaitConfirmation(ctx); err != nil {
			return nil, err
		}
		return runCommand(ctx, c)
	}
	began := time.Now()
	charge, err := l.Begin(ctx, c.Caller.Agent, c.Command.Name, c.Command.Price)
	var result any
	how := ledger.Refused
	if err == nil {
		if err = c.awaitConfirmation(ctx); err == nil {
			result, err = runCommand(ctx, c)
			how = outcome(c.entry(result, err), err)
		}
	}
	e := c.entry(result, err)
	e.MS = int(time.Since(began).Milliseconds())
	e.Cost = charge.Settle(ctx, how)
	if c.audited(err) {
		l.Record(e)
	}
	return result, err
}

// recordRefusal records a command that was refused before it took its turn.
func (c *Call) recordRefusal(err error) {
	if c.Runtime.Ledger != nil {
		c.Runtime.Ledger.Record(c.entry(nil, err))
	}
}

// audited reports whether the audit trail has the call: every refusal, and every call that
// does the work of a command whose row does not exempt it.
func (c *Call) audited(err error) bool {
	if c.route.from != nil && c.Command.Is(NoSession) || errors.Is(err, session.ErrMoved) {
		return false // the daemon that forwards the call records it, or the one that runs it
	}
	refused := err != nil && slices.Contains([]protocol.Code{
		protocol.PolicyDenied, protocol.ConfirmationDenied, protocol.CreditsExhausted, protocol.RateLimited,
	}, protocol.CodeOf(err))
	return refused || slices.ContainsFunc(c.effectiveCommands(), func(cmd *Command) bool { return !cmd.Is(Unaudited) })
}

// outcome says what a call is charged for: nothing if it was refused or could not begin, otherwise its work,
// whether or not that succeeded.
func outcome(e ledger.Entry, err error) ledger.Outcome {
	if err == nil {
		if e.Source == "chromium" {
			return ledger.Rendered
		}
		return ledger.Worked
	}
	switch protocol.CodeOf(err) {
	case protocol.Timeout, protocol.Cancelled, protocol.TooLarge, protocol.NavigationFailed, protocol.PageCrashed, protocol.BrowserLost, protocol.Internal:
		return ledger.Worked
	case protocol.FetchFailed:
		// If no provider was asked, because none is configured or all are paused, there was no work.
		var said *protocol.Error
		if errors.As(err, &said) && said.Details["attempts"] != nil && said.Details["asked"] != false {
			return ledger.Worked
		}
	}
	return ledger.Refused
}

// entry returns the call's entry for the audit trail: with the URL that was asked for, or the one that was
// reached, and what the result adds (Audit).
func (c *Call) entry(result any, err error) ledger.Entry {
	e := ledger.Entry{Agent: c.Caller.Agent, Command: c.Command.Name, Verdict: verdict(err), Run: c.run}
	if c.script != nil {
		e.Run = c.script.Run
	}
	if c.Session != nil {
		e.Session = c.Session.Name()
	}
	if url := reflect.Indirect(reflect.ValueOf(c.Params)).FieldByName("URL"); url.IsValid() && url.Kind() == reflect.String {
		e.URL = url.String()
	}
	if r, ok := result.(interface{ Audit(e *ledger.Entry) }); ok && err == nil {
		r.Audit(&e)
	}
	e.URL = c.Runtime.Secrets.RedactText(c.Caller.Agent, e.URL)
	return e
}

// Audit writes what every page command's result says into its entry of the audit trail.
func (r Result) Audit(e *ledger.Entry) {
	e.URL, e.Status, e.Source = r.Page.URL, r.Page.Status, r.Page.Source
}

// verdict returns ok, or the error's code with its reason, if that is a short word of the policy.
func verdict(err error) string {
	if err == nil {
		return "ok"
	}
	v := string(protocol.CodeOf(err))
	var said *protocol.Error
	if errors.As(err, &said) {
		if reason, ok := said.Details["reason"].(string); ok && reason != "" && len(reason) < 60 {
			v += ":" + reason
		}
	}
	return v
}
