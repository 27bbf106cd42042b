package condition

import (
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// CheckRef refuses a ref that was never given out, or that is none. A locator and an element
// that has gone are well formed. Errors: unknown_ref, invalid_params.
func CheckRef(refs *snapshot.Refs, ref string) error {
	if _, ok, err := protocol.ParseLocator(ref); ok || ref == "" {
		return err
	}
	if _, err := refs.Lookup(ref); protocol.CodeOf(err) != protocol.StaleRef {
		return err
	}
	return nil
}

// Located returns the word for what a locator found, as of a ref's element. Several elements are
// ambiguous_target, unless the wait is for them to go. err is that of the search.
func Located(q protocol.Wait, nodes []snapshot.Node, refs *snapshot.Refs, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case len(nodes) == 0:
		return "gone", nil
	case len(nodes) > 1 && !q.Gone:
		return "", snapshot.Ambiguous(q.Ref, nodes, refs)
	}
	return "visible", nil
}
