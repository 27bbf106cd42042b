package e2e_test

import (
	"strings"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// A ref of a tab that is not selected is not said to be gone: the error names its tab, and
// there the ref still means its element.
func TestARefOfAnotherTabNamesIt(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/page", page("page", `<button>Here</button>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	ref := a.snapshot().ref(t, "button", "Here")
	a.do("tab_new", nil)
	e := a.refused("click", click(ref, nil), protocol.StaleRef)
	if e.Details["tab"] != "t1" || strings.Contains(e.Message, "gone") || !strings.Contains(e.Next, `"t1"`) {
		t.Errorf("%s, next: %s, %v", e.Message, e.Next, e.Details)
	}
	a.do("tab_select", params{"tab": "t1"})
	if hit := a.do("click", click(ref, nil)).Effect.Hit; hit != ref {
		t.Errorf("in its tab it hits %q", hit)
	}
	a.do("tab_new", nil)
	a.do("tab_close", params{"tab": "t1"})
	if e := a.refused("click", click(ref, nil), protocol.StaleRef); !strings.Contains(e.Message, "gone") {
		t.Errorf("its tab is closed: %s", e.Message)
	}
}
