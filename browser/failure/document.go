package failure

import (
	"errors"

	"github.com/browserd/browserd/protocol"
)

// OtherTab returns the error of a ref to an element in a tab that is not the selected one.
func OtherTab(ref, tab string) error {
	return protocol.Errorf(protocol.StaleRef, "%s is in another tab than the selected one", ref).
		With("candidates", []any{}).With("tab", tab).Then("tab_select {\"tab\": %q}, then send the command again", tab)
}

// DocumentLeft returns the error of a ref to an element of a document that is not shown any more.
func DocumentLeft(ref string) error {
	return protocol.Errorf(protocol.StaleRef, "%s is gone: it was in a document that the page has left", ref).
		With("candidates", []any{}).Then("take a snapshot of the page as it is now")
}

// DialogOpen returns the error of a command for a page that a dialog holds.
func DialogOpen(d *protocol.Dialog) error {
	return protocol.Errorf(protocol.DialogOpen, "a dialog (%s) is open and holds the page", d.Kind).
		With("kind", d.Kind).With("message", d.Message)
}

// Held is err as the error of an expression. Where a dialog came after it was sent it has begun, goes
// on when the dialog is answered, and must not be sent again.
func Held(err error, sent bool) error {
	var e *protocol.Error
	if !sent || !errors.As(err, &e) || e.Code != protocol.DialogOpen {
		return err
	}
	e.Message += "; the expression has begun, and its value is lost"
	return e.With("begun", true).Then("answer with dialog {accept}, and the expression goes on; do not send it again")
}

// MovedSinceConfirmed returns the error of what was allowed at one origin when the page has gone to another.
func MovedSinceConfirmed(confirmed, origin string) error {
	return protocol.Errorf(protocol.ConfirmationDenied, "it was allowed at %s, and the page has gone to %s since", confirmed, origin).
		With("reason", "moved").Then("take a snapshot to see where the page is, and send the command again")
}

// Thrown returns the error of an expression that threw what is said.
func Thrown(said string) error {
	return protocol.Errorf(protocol.InvalidParams, "the expression threw: %s", protocol.Cut(said, 300)).
		With("parameter", "expression").Then("correct the expression")
}

// NoFrame returns the error of a page tool's frame that is none.
func NoFrame(ref string) error {
	return protocol.Errorf(protocol.InvalidParams, "frame: %s is no frame with a document", ref).
		With("parameter", "frame").Then("use a frame of page_tools")
}

// NoDialog returns the error of an answer to a dialog that is not open.
func NoDialog() *protocol.Error {
	return protocol.Errorf(protocol.NotActionable, "no dialog is open").
		With("reason", "detached").Then("take a snapshot: a confirm or prompt that nobody answers within session.dialog_timeout (10s) is dismissed, and since says so; alert and beforeunload are answered at once")
}

// IsDownload returns the error of an address that has a file where a page was asked for.
func IsDownload() error {
	return protocol.Errorf(protocol.NavigationFailed, "the address answered with a download, not with a page").With("reason", "download").
		Then("downloads with allow true, then the same again")
}

// PulledBack returns the error of a page that loads itself in place of the one that was asked for.
func PulledBack() error {
	return protocol.Errorf(protocol.NavigationFailed, "the page before loads itself again and again, in place of this one").
		With("reason", "pulled_back").Then("close the tab with tab_close, and open the URL in another")
}

// StepAborted returns the error of a step of the history that came to nothing, for Chromium's reason.
func StepAborted(reason string) error {
	return protocol.Errorf(protocol.NavigationFailed, "the page did not load: %s", reason).With("reason", reason).
		Then("the address answered without a page, or this page does not let itself be left: open a URL")
}
