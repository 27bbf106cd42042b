// Package failure is what the client gets to read of an element that a command could not
// act on: errors with a code, a sentence, details and the next step. The command may have
// found the element gone, changed, covered, disabled or of another kind.
//
// Its functions turn answers of the page script (package script) into errors. They ask
// the page nothing and keep nothing; elements that an error names get refs, so the caller
// has the session's turn.
package failure

import (
	"github.com/browserd/browserd/snapshot"
)

// Quote returns a text as messages quote it, cut to 80 characters.
func Quote(s string) string { return snapshot.Quote(snapshot.Cut(s, 80)) }

// Spoken returns how a message names an element: `button "Go"`.
func Spoken(role, name string) string {
	if name == "" {
		return role
	}
	return role + " " + Quote(name)
}

// Describe returns how a message names the element of a ref: `@e1 button "Go"`. Errors: those
// of a ref.
func Describe(refs *snapshot.Refs, ref string) (string, error) {
	e, err := refs.Lookup(ref)
	if err != nil {
		return "", err
	}
	return e.Ref() + " " + Spoken(e.Role, e.Name), nil
}
