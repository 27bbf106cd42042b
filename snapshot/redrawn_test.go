package snapshot

import "testing"

// Only a node that was numbered after the capture before takes the ref of one that has
// left, and only where the source says which have left.
func TestOnlyANewNodeTakesARef(t *testing.T) {
	button := func(node int) Capture {
		return Capture{Input: 1, Visited: 1, Nodes: []Node{{Key: Key{Doc: 1, Node: node}, Role: "button", Name: "Buy", Tag: "button"}}}
	}
	for _, c := range []struct {
		name     string
		departed []Departed
		want     int
	}{
		{"made anew", []Departed{{Doc: 1, Nodes: []int{3}, Last: 6}}, 1},
		{"numbered before", []Departed{{Doc: 1, Nodes: []int{3}, Last: 7}}, 2},
		{"another has left", []Departed{{Doc: 1, Nodes: []int{4}, Last: 6}}, 2},
		{"it left another document", []Departed{{Doc: 2, Nodes: []int{3}, Last: 6}}, 2},
		{"the source does not know", nil, 2},
	} {
		refs := NewRefs()
		_, was := Render(button(3), DefaultOptions(), refs)
		now := button(7)
		now.Departed = c.departed
		refs.RebindRedrawn(&now, was)
		if got := refs.Number(now.Nodes[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, RefOf(got), RefOf(c.want))
		}
	}
}
