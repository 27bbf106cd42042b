package actions

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
)

// outward are the commands that reach the outside by themselves; the trail has
// them even where they change no page.
var outward = []string{"web_fetch", "web_search", "http_request", "eval", "upload", "downloads", "state_save", "state_load"}

// permit waits for an operator's confirmation where the command needs one.
func (c *Call) permit(ctx context.Context) error {
	err := c.may(ctx)
	if err != nil && c.Command.Name == "session_open" {
		c.unopen(ctx) // or the next command would have what was refused
	}
	return err
}

// booked runs the command as the ledger has it: charged before, settled and
// written down after. Without a ledger it just runs.
func (c *Call) booked(ctx context.Context) (any, error) {
	books := c.House.Ledger
	if books == nil {
		if err := c.permit(ctx); err != nil {
			return nil, err
		}
		return c.Command.run(ctx, c)
	}
	began := time.Now()
	charge, err := books.Begin(ctx, c.Caller.Agent, c.Command.Name)
	var result any
	how := ledger.Refused
	if err == nil {
		if err = c.permit(ctx); err == nil {
			result, err = c.Command.run(ctx, c)
			how = outcome(c.entry(result, err), err)
		}
	}
	e := c.entry(result, err)
	e.MS = int(time.Since(began).Milliseconds())
	e.Cost = charge.Settle(ctx, how)
	if c.noteworthy(err) {
		books.Record(e)
	}
	return result, err
}

// bookRefusal writes down what was refused before it could take its turn.
func (c *Call) bookRefusal(err error) {
	if c.House.Ledger != nil {
		c.House.Ledger.Record(c.entry(nil, err))
	}
}

// noteworthy: what acts, what reaches out, what was refused, and what an
// operator decided.
func (c *Call) noteworthy(err error) bool {
	refused := err != nil && slices.Contains([]protocol.Code{
		protocol.PolicyDenied, protocol.ConfirmationDenied, protocol.CreditsExhausted, protocol.RateLimited,
	}, protocol.CodeOf(err))
	return c.Command.Acts || refused || c.Command.Name == "confirm" || slices.Contains(outward, c.Command.Name)
}

// outcome says what a call is charged for: for nothing where it was refused or
// could not begin, otherwise for its work, whether or not that succeeded.
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
		// Where nobody was asked, such as no provider set up or all of them left
		// alone, there was no work.
		var said *protocol.Error
		if errors.As(err, &said) && said.Details["attempts"] != nil && said.Details["asked"] != false {
			return ledger.Worked
		}
	}
	return ledger.Refused
}

// entry is the call as the trail has it: the URL that was asked for, or the
// one that was reached, and what the result says of itself.
func (c *Call) entry(result any, err error) ledger.Entry {
	e := ledger.Entry{Agent: c.Caller.Agent, Command: c.Command.Name, Verdict: verdict(err)}
	if c.Session != nil {
		e.Session = c.Session.Name()
	}
	if url := reflect.Indirect(reflect.ValueOf(c.Params)).FieldByName("URL"); url.IsValid() && url.Kind() == reflect.String {
		e.URL = url.String()
	}
	if r, ok := result.(interface{ book(e *ledger.Entry) }); ok && err == nil {
		r.book(&e)
	}
	return e
}

// book is every page command's part of its entry.
func (r Result) book(e *ledger.Entry) {
	e.URL, e.Status, e.Source = r.Page.URL, r.Page.Status, r.Page.Source
}

// verdict is ok or the error's code, with its reason where that is one word of
// the policy's.
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
