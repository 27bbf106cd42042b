package failure

import "github.com/browserd/browserd/protocol"

// Selector returns the error of a query whose css is no selector: its locator's, or that of a step
// of its chain.
func Selector(q protocol.Query) error {
	if q.Locator == nil {
		return protocol.Errorf(protocol.InvalidParams, "chain: one of its steps is no CSS selector, or no XPath").With("parameter", "chain")
	}
	return protocol.Errorf(protocol.InvalidParams, "ref: %s is no CSS selector", Quote(q.Locator.CSS)).With("parameter", "ref")
}
