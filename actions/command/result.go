package command

import (
	"context"
	"strings"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// Result is what every page command answers with; commands add their own
// fields to it.
type Result struct {
	Session string `json:"session"`
	// SessionEnded is the session that was the caller's before Session and has ended
	// since. The first answer of the new one has it.
	SessionEnded *session.Ended     `json:"session_ended,omitempty"`
	Page         protocol.Page      `json:"page"`
	Effect       *protocol.Effect   `json:"effect,omitempty"`
	Snapshot     *snapshot.Snapshot `json:"snapshot,omitempty"`
	Delta        *snapshot.Delta    `json:"delta,omitempty"`
	// Since is what happened on the page after the previous answer.
	Since *protocol.Since `json:"since,omitempty"`
	// Note says that the answer shows nothing, and what to do.
	Note string `json:"note,omitempty"`
	// Attempts are the sources that were tried for a new document, where no
	// browser serves the session.
	Attempts []protocol.Attempt `json:"attempts,omitempty"`
}

// ServedBy returns the source of the page that the answer is about.
func (r Result) ServedBy() string { return r.Page.Source }

// Shows is the parameter of acting commands that says what they show of the
// page afterwards.
type Shows struct {
	Snapshot string `json:"snapshot" seldom:"true" default:"delta" enum:"delta,full,none" doc:"what is shown afterwards: the change, the whole page, or nothing"`
}

// Acting returns the action with what is shown after it.
func (s Shows) Acting(a protocol.Action) protocol.Act {
	return protocol.Act{Action: a, Unshown: s.Snapshot == "none"}
}

// Page returns the session's page.
func (c *Call) Page(ctx context.Context) (session.Page, error) {
	p, err := c.Session.Ensure(ctx, false)
	if err != nil {
		return nil, c.Session.DescribeLoss(err)
	}
	return p, nil
}

// Live returns the session's page if it is in a browser, or unsupported.
func (c *Call) Live(ctx context.Context) (session.Page, error) {
	p, _, err := Live[session.Device](ctx, c)
	return p, err
}

// Live returns the session's page, and the same page as the interface T that the command needs. Error:
// unsupported if it does not implement T.
func Live[T any](ctx context.Context, c *Call) (session.Page, T, error) {
	var none T
	p, err := c.Page(ctx)
	if err != nil {
		return nil, none, err
	}
	needed, ok := p.(T)
	if !ok {
		return nil, none, protocol.Errorf(protocol.Unsupported, "%s needs a page in Chromium", c.Command.Name).With("source", p.State().Source).
			Then("open the page with source chromium where there is one; without it, links, forms and reading work")
	}
	return p, needed, nil
}

// attempts returns the sources that were tried for the document that e led to.
func attempts(p session.Page, e protocol.Effect) []protocol.Attempt {
	if l, ok := p.(session.SourceChain); ok && e.Navigated != "" {
		return l.Attempts()
	}
	return nil
}

// Result returns what a command that only reads returns beside its own fields.
func (c *Call) Result(p session.Page) Result {
	return Result{Session: c.Session.Name(), SessionEnded: c.ended, Page: ReportState(c, p), Since: since(p)}
}

// ReportState returns the page's state for the answer to c.
func ReportState(c *Call, p session.Page) protocol.Page {
	who := c.Caller
	switch {
	case !who.Shared || !who.Stateless && who.Home == "":
	case c.outer == nil: // the client's requests may reach any daemon of the fleet
		return session.ReportStateTo(c.Session, who.Token, p)
	default: // the outer call's answer may leave this state out
		session.ForgetReported(c.Session, who.Token)
	}
	return c.Session.ReportState(p)
}

// since returns what happened on a page after the previous answer.
func since(p session.Page) *protocol.Since {
	if r, ok := p.(session.Reporter); ok {
		return r.Since()
	}
	return nil
}

// Finish completes an answer that shows the page: it sets Since, and Note if the snapshot is empty.
func (r Result) Finish(p session.Page) Result {
	r.Since = since(p)
	if s := r.Snapshot; s != nil && r.Note == "" && !strings.Contains(s.Text, "\n") {
		r.Note = NothingShown
	}
	return r
}

// NothingShown is the note of a snapshot without a line.
const NothingShown = "the page shows nothing: no text and no control; wait for a text, or take a screenshot"

// Acted returns the result of an acting command: the effect, and the snapshot or delta that s asks for. While a
// dialog blocks the page, the result has neither.
func (c *Call) Acted(ctx context.Context, p session.Page, e protocol.Effect, err error, s Shows) (Result, error) {
	if err != nil {
		return Result{}, c.Session.DescribeLoss(err)
	}
	r := Result{Effect: &e, Attempts: attempts(p, e)}
	if e.Dialog == nil || e.Dialog.Answer != "open" {
		switch s.Snapshot {
		case "delta":
			r.Snapshot, r.Delta, err = View(c).Changes(ctx, p, snapshot.DefaultOptions(), &e)
		case "full":
			var snap snapshot.Snapshot
			snap, err = View(c).Snapshot(ctx, p, snapshot.DefaultOptions())
			r.Snapshot = &snap
		}
		// The action was done. If a dialog opens now, the next command reports it.
		if err != nil && protocol.CodeOf(err) != protocol.DialogOpen {
			return Result{}, c.Session.DescribeLoss(err)
		}
	}
	if r.Delta != nil && r.Delta.Changes > 0 {
		e.Changed = true
	}
	if n, ok := c.Session.Refs().Seen(snapshot.Key{Doc: e.FocusedDoc, Node: e.FocusedNode}); ok && e.Focused == "" {
		e.Focused = snapshot.RefOf(n) // the element got its ref only by the snapshot above
	}
	r.Session, r.SessionEnded, r.Page = c.Session.Name(), c.ended, ReportState(c, p)
	return r.Finish(p), nil
}

// Navigated returns the result of a command that loads a document: its effect, and a snapshot unless show is
// none.
func (c *Call) Navigated(ctx context.Context, page session.Page, e protocol.Effect, err error, show string) (Result, error) {
	if err != nil {
		return Result{}, c.Session.DescribeLoss(err)
	}
	r := Result{Session: c.Session.Name(), SessionEnded: c.ended, Effect: &e, Attempts: attempts(page, e)}
	if show != "none" && (e.Dialog == nil || e.Dialog.Answer != "open") {
		snap, err := View(c).Snapshot(ctx, page, snapshot.DefaultOptions())
		switch {
		case err == nil:
			r.Snapshot = &snap
		case protocol.CodeOf(err) != protocol.DialogOpen:
			return Result{}, c.Session.DescribeLoss(err)
		} // the page is open; if a dialog blocks it now, the next command reports it
	}
	r.Page = ReportState(c, page)
	return r.Finish(page), nil
}
