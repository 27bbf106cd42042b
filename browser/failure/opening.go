package failure

import "github.com/browserd/browserd/protocol"

// Opening gives an error of opening a context its code.
func Opening(err error) error {
	if protocol.CodeOf(err) != protocol.Internal {
		return err
	}
	return protocol.Errorf(protocol.ChromiumUnavailable, "opening a browser context: %w", err)
}
