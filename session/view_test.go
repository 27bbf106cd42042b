package session

import (
	"context"
	"log/slog"
	"testing"
	"time"

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

// Headers without origins are for the origin that the last answer named, and for no other: the page may have gone
// elsewhere since.
func TestOriginOfPage(t *testing.T) {
	s, err := NewManager(Config{Max: 1, MaxPerAgent: 1, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.DiscardHandler)).Open("agent", Options{})
	if err != nil {
		t.Fatal(err)
	}
	page := &fakePage{url: "https://shop.test/cart", from: "chromium"}
	for _, step := range []struct {
		told bool
		url  string
		want string // empty: an error
	}{
		{false, "https://shop.test/cart", "https://shop.test"}, // no answer has named another
		{true, "https://shop.test/cart", "https://shop.test"},
		{false, "https://shop.test/pay?step=2", "https://shop.test"},
		{false, "https://shop.test:8443/pay", ""},
		{false, "https://other.test/", ""},
		{true, "https://other.test/", "https://other.test"},
	} {
		page.url = step.url
		if step.told {
			s.ReportState(page)
		}
		got, err := s.OriginOfPage(page)
		if got != step.want || (err == nil) != (step.want != "") || err != nil && protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("%+v: %q, %v", step, got, err)
		}
	}
}
