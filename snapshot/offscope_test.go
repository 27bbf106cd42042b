package snapshot

import (
	"testing"
	"unicode/utf8"
)

// What changed outside of a window keeps the delta's budget, is a delta that Parse
// reads, and what did not fit is counted.
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
		d, _ := Diff(was, was, o, refs)
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
		p, err := parse(d.Text)
		if err != nil || p.Kind != "delta" || len(p.Lines)+p.Rest.Count != 4 || p.Rest.Count == 0 || p.Rest.After != 1 {
			t.Fatalf("max_chars %d: %v, %+v in\n%s", budget, err, p, d.Text)
		}
	}
	refs, o := NewRefs(), DefaultOptions()
	_, was := Render(Capture{Nodes: shown, Rest: 5}, o, refs)
	d, _ := Diff(was, was, o, refs)
	d = d.Add(out, was, o, refs)
	want := "+ @e2 [link] \"Seven\"\n+ text \"Coupon rejected\"\n[more] 2 changes outside of what was shown; continue with after=@e1"
	if d.Text != want || d.Stats.NodesEmitted != 1 {
		t.Errorf("got\n%s\nwant\n%s", d.Text, want)
	}
}
