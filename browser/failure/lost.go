package failure

import (
	"errors"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Lost is the error of a command whose Chromium died.
func Lost(cause error) error {
	e := protocol.Errorf(protocol.BrowserLost, "Chromium died: %w", cause)
	if silent := (cdp.Unresponsive{}); errors.As(cause, &silent) {
		e.With("cause", silent.Message)
	}
	return e
}

// Closed is the error of a session that was closed meanwhile.
func Closed() error { return protocol.Errorf(protocol.SessionNotFound, "the session is closed") }

// NotAttached is the error of a page that was made and that nothing could be attached to:
// its process died before, or could not be started.
func NotAttached() error {
	return protocol.Errorf(protocol.PageCrashed, "the process of the new page died at once, or could not be started").
		With("reason", "crashed").Then("try again; where it stays so, the machine has no memory or no processes left")
}

// Gone recognises Chromium's ways of saying that a document was left while a
// command ran in it (V8RuntimeAgentImpl, content::RenderFrameDevToolsAgentHost).
// They have one JSON-RPC code for many reasons, so the text decides.
func Gone(err error) error {
	if errors.Is(err, cdp.ErrDetached) {
		return DocumentGone() // a frame whose process has gone with it
	}
	var e *cdp.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Code == -32603 {
		return ErrEnded
	}
	switch e.Message {
	case "uniqueContextId not found", "Cannot find context with specified id", "Execution context was destroyed.",
		"Inspected target navigated or closed", "Promise was collected", "Session with given id not found.", "Cannot find default execution context", "Could not find object with given id":
		return DocumentGone()
	}
	return err
}

// ErrEnded is the answer of a script that was ended while it ran
// (Runtime.terminateExecution: JSON-RPC's internal error).
var ErrEnded = protocol.Errorf(protocol.Timeout, "the page's scripts were ended, since they held the page")

// DocumentGone is the error of a document that the page has left.
func DocumentGone() *protocol.Error {
	return protocol.Errorf(protocol.StaleRef, "the document is gone: the page has navigated").
		With("candidates", []any{}).Then("take a snapshot of the page as it is now")
}
