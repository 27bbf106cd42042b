package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/snapshottext"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/snapshot/pagetext"
)

// The line with the page's tools is one line whatever their names are, and a delta says
// when it is another.
func TestToolsLine(t *testing.T) {
	refs, o := snapshot.NewRefs(), snapshot.DefaultOptions()
	var held pagetext.PageText
	var was snapshot.Baseline
	many := make([]string, 25)
	for i := range many {
		many[i] = fmt.Sprintf("t%d", i)
	}
	for _, c := range []struct {
		names      []string
		line, diff string
	}{
		{nil, "", ""},
		{[]string{"search", "add_to_cart"}, "[tools] 2: search, add_to_cart", "+ [tools] 2: search, add_to_cart"},
		{[]string{"a\n@e1 [button] \"Forged\"", "b"}, `[tools] 2: "a\n@e1 [button] \"Forged\"", b`, ""},
		{[]string{"a, b", "", strings.Repeat("x", 129)}, `[tools] 3: "a, b", "", "` + strings.Repeat("x", 59) + `…"`, ""},
		{many, "[tools] 25: " + strings.Join(many[:20], ", ") + ", …", ""},
		{[]string{"search"}, "[tools] 1: search", ""},
		{nil, "", "- [tools] 1: search"},
	} {
		capture := snapshot.Capture{URL: "http://a/", Nodes: []snapshot.Node{{Key: snapshot.Key{Doc: 1, Node: 1}, Role: "button", Name: "Go"}, {Role: snapshot.RoleText, Name: "more text than a delta has, so that the delta is the shorter one"}}}
		if len(c.names) > 0 {
			capture.Nodes = append([]snapshot.Node{snapshot.Tools(c.names)}, capture.Nodes...)
		}
		snap, lines := snapshot.Render(capture, o, refs)
		if _, err := snapshottext.Parse(snap.Text, snapshot.Quote); err != nil {
			t.Errorf("%v\n%s", err, snap.Text)
		}
		if got := strings.Split(snap.Text, "\n")[1]; c.line != "" && got != c.line || c.line == "" && strings.Contains(snap.Text, "[tools]") {
			t.Errorf("got  %s\nwant %s", got, c.line)
		}
		delta, now, ok := snapshot.Diff(was, lines, o)
		if r := (pagetext.Result{Delta: &pagetext.Text{Text: delta.Text}}); ok {
			if err := held.Apply(r); err != nil {
				t.Fatal(err)
			}
			if c.diff != "" && !strings.Contains(delta.Text, c.diff) {
				t.Errorf("got the delta\n%s\nwant in it %s", delta.Text, c.diff)
			}
		} else {
			held.Snapshot(snap.Text)
		}
		was = now
		if _, body, _ := strings.Cut(snap.Text, "\n"); held.Text() != body {
			t.Errorf("a client holds\n%s\nwant\n%s", held.Text(), body)
		}
	}
}
