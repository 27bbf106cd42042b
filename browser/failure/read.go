package failure

import (
	"errors"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// What the script answered in place of an element's content.
var (
	ErrGone = errors.New("the element has left its document")
	ErrNone = errors.New("the element has no such value or attribute")
)

// NotRead returns the error of an element that was not read, for the client. Errors other than
// ErrGone and ErrNone stay as they are.
func NotRead(err error, refs *snapshot.Refs, e snapshot.Entry, kind, attr string) error {
	switch {
	case err == ErrGone:
		return Stale(refs, e, e.Key.Doc, nil)
	case err == ErrNone && kind == "attrs":
		return protocol.Errorf(protocol.InvalidParams, "attr %s: %s has no such attribute", Quote(attr), e.Ref()).With("parameter", "attr").
			Then("read with kind attrs lists its attributes")
	case err == ErrNone:
		return protocol.Errorf(protocol.InvalidParams, "ref %s %s has no value", e.Ref(), Spoken(e.Role, e.Name)).With("parameter", "ref").
			Then("read with kind text")
	}
	return err
}
