package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// What changed off-scope is one round trip more; what a window shows is none of it.
func TestRoundTripsOffScope(t *testing.T) {
	roundTripsOf(t, `<title>Shop</title><h1>Shop</h1><button onclick="above.textContent='above'; below.textContent='below'">Apply</button><p id=above></p>`+
		strings.Repeat(`<a href=/>Item</a>`, 30)+`<p id=below></p>`, offScope)
}

func offScope(v *visit, away *farAway, want func(string, [][]string, int)) {
	t := v.t
	o := snapshot.DefaultOptions()
	o.MaxNodes = 10
	look := func() snapshot.Window {
		t.Helper()
		got, err := v.c.Capture(limit(t, 20*time.Second), o, v.refs)
		if err != nil {
			t.Fatal(err)
		}
		_, lines := snapshot.Render(got, o, v.refs)
		w, whole := lines.Window(o)
		if whole {
			t.Fatal("the window is the whole page")
		}
		return w
	}
	look()
	if _, err := v.c.Act(limit(t, 20*time.Second), v.refs, protocol.Act{Action: protocol.Click{Ref: v.ref("button", "Apply")}}); err != nil {
		t.Fatal(err)
	}
	w := look()
	for _, changed := range []int{1, 0} { // it is told once
		var out snapshot.OffScope
		trips := away.roundTrips(func() {
			var err error
			if out, err = v.c.OffScope(limit(t, 20*time.Second), w, snapshot.OffScopeOptions(o), v.refs); err != nil {
				t.Fatal(err)
			}
		})
		want("what changed off-scope", trips, 1)
		if len(out.Nodes) != changed || changed == 1 && out.Nodes[0].Name != "below" || out.Left != 0 {
			t.Errorf("off-scope: %+v", out)
		}
	}
}
