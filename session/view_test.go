package session

import (
	"context"
	"testing"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// watched is a page with a text that changes off-scope. It counts how often it is asked for off-scope changes.
type watched struct {
	Page
	rest  int
	asked int
}

func (w *watched) State() protocol.Page { return protocol.Page{Document: 1} }

func (w *watched) Capture(context.Context, snapshot.Options, *snapshot.Refs) (snapshot.Capture, error) {
	return snapshot.Capture{Nodes: []snapshot.Node{{Key: snapshot.Key{Doc: 1, Node: 1}, Role: "link", Name: "One"}}, Rest: w.rest}, nil
}

func (w *watched) OffScope(context.Context, snapshot.Window, snapshot.Options, *snapshot.Refs) (snapshot.OffScope, error) {
	w.asked++
	return snapshot.OffScope{Nodes: []snapshot.Node{{Role: snapshot.RoleText, Name: "Rejected"}}}, nil
}

// A page is asked for off-scope changes only if something is off-scope and the action changed something.
func TestOffScopeIsReadOnlyIfNeeded(t *testing.T) {
	scoped := snapshot.DefaultOptions()
	scoped.Scope = "ul"
	for name, c := range map[string]struct {
		rest   int
		o      snapshot.Options
		effect *protocol.Effect
		want   string
	}{
		"the whole page":       {0, snapshot.DefaultOptions(), &protocol.Effect{Changed: true}, ""},
		"a part":               {5, snapshot.DefaultOptions(), &protocol.Effect{Changed: true}, `* text "Rejected"`},
		"a scope":              {0, scoped, &protocol.Effect{Changed: true}, `* text "Rejected"`},
		"a part, not changed":  {5, snapshot.DefaultOptions(), &protocol.Effect{}, ""},
		"a part, only a look":  {5, snapshot.DefaultOptions(), nil, `* text "Rejected"`},
		"the whole, by a look": {0, snapshot.DefaultOptions(), nil, ""},
	} {
		s := &Session{refs: snapshot.NewRefs(), revisions: map[int]int{}}
		p := &watched{rest: c.rest}
		v := s.View(nil)
		if _, err := v.Snapshot(t.Context(), p, c.o); err != nil {
			t.Fatal(err)
		}
		_, d, err := v.Changes(t.Context(), p, snapshot.DefaultOptions(), c.effect)
		if err != nil || d == nil || d.Text != c.want || p.asked > 0 != (c.want != "") {
			t.Errorf("%s: %+v, %v, asked %d times; want %q", name, d, err, p.asked, c.want)
		}
	}
}
