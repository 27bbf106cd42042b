package failure

import "github.com/browserd/browserd/protocol"

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
