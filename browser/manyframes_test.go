package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/snapshot"
)

// A page of more frames than one look goes into is shown as far as that, and says
// how to go on: nothing is left out, and nothing comes twice.
func TestASnapshotOfManyFrames(t *testing.T) {
	const all = 3*maxFrames + 10
	s := newStage(t)
	var page strings.Builder
	for i := range all {
		fmt.Fprintf(&page, "<iframe title=f%d srcdoc='<button>In %d</button>'></iframe>", i, i)
	}
	v := s.open(t, page.String()+"<button>Behind</button>")
	o := snapshot.DefaultOptions()
	o.MaxNodes, o.MaxChars = 10*all, 1000*all
	seen := map[string]int{}
	rounds := 0
	for ; rounds < 10; rounds++ {
		got, err := v.c.Capture(limit(t, 60*time.Second), o, v.refs)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range got.Nodes {
			if n.Role == "button" {
				seen[n.Name]++
			}
		}
		shown, _ := snapshot.Render(got, o, v.refs)
		if n := strings.Count(shown.Text, "[button] \"In "); n > maxFrames {
			t.Errorf("one look went into %d frames", n)
		}
		if shown.Stats.After == "" {
			break
		}
		o.After = shown.Stats.After
	}
	if rounds < 3 || rounds > 5 {
		t.Errorf("it took %d rounds", rounds+1)
	}
	if len(seen) != all+1 || seen["Behind"] != 1 {
		t.Errorf("%d buttons are shown of %d, the last one %d times", len(seen), all+1, seen["Behind"])
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s is shown %d times", name, n)
		}
	}
}
