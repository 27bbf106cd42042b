package failure

import "github.com/browserd/browserd/protocol"

// Selector returns the error of a locator whose css is no selector.
func Selector(css string) error {
	return protocol.Errorf(protocol.InvalidParams, "ref: %s is no CSS selector", Quote(css)).With("parameter", "ref")
}
