package e2e_test

import (
	"testing"
)

// A snapshot is named by its document and its revision: no other has both, however
// the session goes to and fro between its tabs.
func TestRevisionsOfADocument(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/one", page("one", "<h1>One</h1>"), "")
	w.serve("/two", page("two", "<h1>Two</h1>"), "")
	a := newAgent(t, d)
	type named struct{ document, revision int }
	seen := map[named]string{}
	look := func(after string, revision int) {
		t.Helper()
		p := a.do("snapshot", nil).Page
		at := named{p.Document, p.Revision}
		if before := seen[at]; before != "" || p.Revision != revision {
			t.Errorf("the snapshot after %s is document %d, revision %d, as the one after %q; want revision %d", after, p.Document, p.Revision, before, revision)
		}
		seen[at] = after
	}
	a.open(w.URL + "/one")
	look("open", 1)
	look("a snapshot", 2)
	a.do("tab_new", params{"url": w.URL + "/two", "snapshot": "none"})
	look("tab_new", 1)
	a.do("tab_select", params{"tab": "t1", "snapshot": "none"})
	look("tab_select", 3)
	a.do("tab_select", params{"tab": "t2", "snapshot": "none"})
	look("tab_select back", 2)
	a.open(w.URL + "/one")
	look("open again", 1)
}
