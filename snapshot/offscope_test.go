package snapshot

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/browserd/browserd/snapshot/pagetext"
)

// What changed outside of a window keeps the delta's budget, is no part of the client's
// text, and what did not fit is counted.
func TestOffScopeWithinEveryBudget(t *testing.T) {
	link := func(node int, name string) Node {
		return Node{Key: Key{Doc: 1, Node: node}, Role: "link", Name: name}
	}
	shown := []Node{link(1, "One"), {Role: RoleText, Name: "behind the last"}}
	out := OffScope{Nodes: []Node{link(1, "One"), {Role: RoleText, Name: "behind the last"}, link(7, "Seven"), {Role: RoleText, Name: "Coupon rejected"}}, Left: 2}
	for budget := range 200 {
		refs, o := NewRefs(), DefaultOptions()
		_, was := Render(Capture{Nodes: shown, Rest: 5}, o, refs)
		o.MaxChars = budget
		d, _, _ := Diff(was, was, o)
		d = d.Add(out, was, o, refs)
		if n := utf8.RuneCountInString(d.Text); n > budget || n != d.Stats.Chars {
			t.Fatalf("%d characters of %d, stats say %d:\n%s", n, budget, d.Stats.Chars, d.Text)
		}
		if d.Changes != 4 {
			t.Fatalf("max_chars %d: %d changes, want 4", budget, d.Changes)
		}
		if d.Text == "" {
			continue
		}
		rows := strings.Split(d.Text, "\n")
		last := rows[len(rows)-1]
		if want := fmt.Sprintf("* [more] %d changes outside of what was shown; continue with after=@e1", 4-(len(rows)-1)); last != want {
			t.Fatalf("max_chars %d: %s, want %s", budget, last, want)
		}
		held := pagetext.PageText{}
		if err := held.Delta(d.Text); err != nil || held.Text() != "" {
			t.Fatalf("max_chars %d: %v, and the client holds %q", budget, err, held.Text())
		}
	}
	refs, o := NewRefs(), DefaultOptions()
	_, was := Render(Capture{Nodes: shown, Rest: 5}, o, refs)
	d, _, _ := Diff(was, was, o)
	d = d.Add(out, was, o, refs)
	want := "* @e2 [link] \"Seven\"\n* text \"Coupon rejected\"\n* [more] 2 changes outside of what was shown; continue with after=@e1"
	if d.Text != want || d.Stats.NodesEmitted != 1 {
		t.Errorf("got\n%s\nwant\n%s", d.Text, want)
	}
}
