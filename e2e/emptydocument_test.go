package e2e_test

import (
	"testing"

	"github.com/browserd/browserd/protocol"
)

// A document has no element at all for a moment while another takes its place,
// or for good where a script removes it: what looks at the page finds nothing.
func TestADocumentWithoutElements(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/empty", page("empty", "<h1>Empty</h1>"), "")
	a := newAgent(t, d)
	a.open(w.URL + "/empty")
	a.do("eval", params{"expression": "document.documentElement.remove()"})
	for method, p := range map[string]params{
		"snapshot": {}, "find": {"text": "Empty"}, "read": {"kind": "text"}, "wait": {"gone": "h1"}, "press": {"key": "Tab"},
		"scroll": {"direction": "down"}, "screenshot": {},
	} {
		if _, err := a.try(method, p); protocol.CodeOf(err) == protocol.Internal && err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	a.do("scroll", params{"to": "bottom"})
}
