package html

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/snapshot"
)

// likeLive are the pages of the live page's goldens, with what their scripts do
// written into the markup, and without what only boxes and properties tell:
// pairs of old and new. Pages of overlays, of modal dialogs and of shadow roots
// made by script are left out: nothing of that is in their markup.
var likeLive = map[string]struct{ page, golden []string }{
	"pairs":     {},
	"partnames": {},
	"pictured":  {},
	"imagemap":  {},
	"popovers":  {},
	"secrets":   {},
	"article":   {page: []string{"<script>document.write('word '.repeat(100))</script>", strings.Repeat("word ", 100)}},
	"clickables": {page: []string{
		`Ripple<div data-listens`, "Ripple<div", // that nothing takes a click there is for boxes to tell
		" data-listens", " onclick=1",
	}},
	"looks": {page: []string{" data-listens", " onclick=1"}, golden: []string{
		` color="#ff0000"`, "", ` color="#0000ff"`, "", ` color="#008000"`, "", ` color="#ff00ff"`, "", // of a style
		` size="18x18"`, "", ` size="20x12"`, "", ` size="8x17"`, "",
	}},
	"page": {page: []string{"<script>for(let i=0;i<40;i++)document.write('<option>'+i)</script>", fortyOptions()}},
	"forms": {golden: []string{
		`[checkbox mixed] "Mixed"`, `[checkbox] "Mixed"`, // indeterminate is a property
		"max=9 invisible", "max=9", // has no size
	}},
	"hidden":      {golden: []string{"2 [button] \"C\"\n", ""}}, // aria-hidden: whether a click reaches it is for boxes to tell
	"clobber":     {},
	"chart":       {},
	"labels":      {},
	"behind":      {},
	"xhtml":       {},
	"cells":       {},
	"glyphs":      {},
	"rows":        {},
	"buttonroles": {},
	"rowcount":    {},
	"frameset":    {},
}

func fortyOptions() string {
	var b strings.Builder
	for i := range 40 {
		b.WriteString("<option>" + string(rune('0'+i/10)) + string(rune('0'+i%10)))
	}
	return strings.ReplaceAll(b.String(), "<option>0", "<option>")
}

var (
	numbers = regexp.MustCompile(`(?m)^( *)\d+ \[`)
	frames  = regexp.MustCompile(`(?m)^( *<frame of .*|rest .*)\n`)
)

// TestLikeTheLivePage holds a static document to the lines of the live page of the
// same markup, refs aside.
func TestLikeTheLivePage(t *testing.T) {
	for name, unlike := range likeLive {
		t.Run(name, func(t *testing.T) {
			page := readLive(t, name+".html", unlike.page)
			want := readLive(t, name+".golden", unlike.golden)
			want = frames.ReplaceAllString(numbers.ReplaceAllString(want, "$1["), "")

			d, err := Parse(t.Context(), page, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			o := snapshot.DefaultOptions()
			got := ""
			for _, digest := range []bool{true, false} {
				if o.InteractiveOnly = digest; !digest {
					got += "\n==== whole ====\n"
				}
				c, err := d.Capture(t.Context(), o, snapshot.NewRefs(), nil)
				if err != nil {
					t.Fatal(err)
				}
				got += dump(c)
			}
			if d := cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
}

func readLive(t *testing.T, file string, pairs []string) string {
	t.Helper()
	raw, err := os.ReadFile("../../browser/testdata/walk/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(raw), pairs[i]) {
			t.Fatalf("%s has no %q", file, pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(string(raw))
}
