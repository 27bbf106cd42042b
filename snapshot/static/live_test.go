package static

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/snapshot"
)

// TestLikeTheLivePage reads the pages of the live page's goldens: the same
// document gives the same lines, refs aside.
func TestLikeTheLivePage(t *testing.T) {
	for _, name := range []string{"hidden", "clobber", "xhtml", "frameset"} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile("../../browser/testdata/walk/" + name + ".html")
			if err != nil {
				t.Fatal(err)
			}
			golden, err := os.ReadFile("../../browser/testdata/walk/" + name + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			d, err := Parse(string(raw), nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			o := snapshot.DefaultOptions()
			c, err := d.Capture(o, snapshot.NewRefs(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := dump(c)
			o.InteractiveOnly = false
			c, err = d.Capture(o, snapshot.NewRefs(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got += "\n==== whole ====\n" + dump(c)
			want := regexp.MustCompile(`(?m)^( *)\d+ \[`).ReplaceAllString(string(golden), "$1[")
			want = regexp.MustCompile(`(?m)^( *<frame of .*|rest .*)\n`).ReplaceAllString(want, "")
			if d := cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
}
