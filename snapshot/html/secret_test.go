package html

import (
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/corpus"
	"github.com/browserd/browserd/snapshot"
)

// Which fields are secret, as the script of pages decides (browser.TestSecretFields).
func TestSecretFields(t *testing.T) {
	for _, c := range corpus.Fields {
		d, err := Parse(t.Context(), c.HTML, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := snapshotOf(c.HTML, snapshot.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		all := got.Text + d.HTML(d.Root()) + d.Text(d.Root(), nil)
		if got := !strings.Contains(all, corpus.FieldValue); got != c.Secret {
			t.Errorf("masked: %t, want %t: %s\n%s", got, c.Secret, c.HTML, all)
		}
	}
}

// Text that nobody can see, as far as markup and style sheets tell, is not told.
func TestUnseenText(t *testing.T) {
	for style, seen := range map[string]bool{
		"clip-path:inset(100%)": false, "clip-path: inset(0 100% 0 0)": false, "clip-path:inset(60% 0 45%)": false, "clip-path:circle(0)": false, "clip-path:circle(0px at 3px 3px)": false,
		"clip-path:ellipse(0 50%)": false, "clip-path:polygon(0 0, 0 0,0 0)": false, "position:absolute;clip:rect(0 0 0 0)": false,
		"filter:opacity(0)": false, "filter:blur(1px) opacity(1%)": false, "opacity:.01": false, "opacity:4%": false, "opacity:0": false,
		"color:rgba(0,0,0,.01)": false, "color:rgb(0 0 0 / 1%)": false, "color:#00000003": false, "color:transparent": false, "color:hsla(0,0%,0%,0.02)": false,
		"transform:scale(0)": false, "font-size:0": false, "font-size:1px": false, "text-indent:-9999px": false, "position:absolute;left:-9999px": false,
		"height:0;overflow:hidden": false, "-webkit-text-security:disc": false, "visibility:hidden": false,
		"clip-path:inset(10%)": true, "clip-path:circle(50%)": true, "clip-path:polygon(0 0,100% 0,50% 100%)": true, "filter:opacity(.5)": true, "filter:blur(1px)": true, "opacity:.5": true,
		"color:rgba(0,0,0,.5)": true, "color:#000000ff": true, "color:rgb(0 0 0)": true, "font-size:9px": true, "text-indent:20px": true, "transform:scale(.5)": true,
	} {
		page := `<style>.x{` + style + `}</style><main><p>Before.<div class=x><p>Zurich <b>one</b></div><p class=x>Zurich</p><p>After.</main>`
		d, err := Parse(t.Context(), page, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := snapshotOf(page, snapshot.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{got.Text, d.Text(d.Root(), nil)} {
			if strings.Contains(got, "Zurich") != seen || !strings.Contains(got, "Before.") || !strings.Contains(got, "After.") {
				t.Errorf("%s: seen is %t:\n%s", style, seen, got)
			}
		}
	}
}
