package session

import (
	"context"
	"maps"
	"slices"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// View is what one client of a session was shown last: what its deltas are against. Only
// for the holder of the turn, as are its methods.
type View struct {
	*Session
	client any
	shown
}

// shown is what a client was shown last, and of which document.
type shown struct {
	any      bool
	lines    snapshot.Baseline
	options  snapshot.Options
	document int
}

// maxViews is how many clients a session keeps the view of: those that were shown
// something last. Another one is sent a snapshot before its first delta.
const maxViews = 8

// View returns the view of a client, which is any comparable value. It is valid until the
// session has another page. Only for the holder of the turn.
func (s *Session) View(client any) *View {
	i := slices.IndexFunc(s.views, func(v *View) bool { return v.client == client })
	if i == len(s.views)-1 && i >= 0 {
		return s.views[i]
	}
	v := &View{Session: s, client: client}
	if i >= 0 {
		v = s.views[i]
		s.views = slices.Delete(s.views, i, i+1)
	} else if len(s.views) == maxViews {
		s.views = slices.Delete(s.views, 0, 1)
	}
	s.views = append(s.views, v)
	return v
}

// Snapshot reads the page, writes it as o says, and remembers it as what the
// client was shown.
func (s *View) Snapshot(ctx context.Context, page Page, o snapshot.Options) (snapshot.Snapshot, error) {
	got, err := page.Capture(ctx, o, s.refs)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	s.rebind(page, o, &got)
	snap, lines := snapshot.Render(got, o, s.refs)
	s.show(page, o, lines)
	return snap, nil
}

// maxRevisions limits the documents whose snapshots a session counts.
const maxRevisions = 1000

func (s *View) show(page Page, o snapshot.Options, lines snapshot.Baseline) {
	document := page.State().Document
	s.shown = shown{any: true, lines: lines, options: o, document: document}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revisions[document]++
	if len(s.revisions) > maxRevisions {
		delete(s.revisions, slices.Min(slices.Collect(maps.Keys(s.revisions))))
	}
}

// Changes says what has changed since the client's last snapshot: a delta
// against it, or a whole snapshot if there was none, the document is
// another, what it was limited to is gone, o limits it otherwise, or the snapshot is
// shorter than the delta. The delta has the limits of the snapshot that it is against, but
// o.MaxChars; so has the snapshot in its place. o is how any other whole snapshot is
// written. e is what the client's action did, nil if it only looks: what changed
// outside of those limits is told too.
func (s *View) Changes(ctx context.Context, page Page, o snapshot.Options, e *protocol.Effect) (*snapshot.Snapshot, *snapshot.Delta, error) {
	was := s.shown
	if was.any && was.document == page.State().Document && !limitsDiffer(o, was.options) {
		got, err := page.Capture(ctx, was.options, s.refs)
		if err == nil {
			s.refs.RebindRedrawn(&got, was.lines)
			snap, lines := snapshot.Render(got, was.options, s.refs)
			told := was.options
			told.MaxChars = o.MaxChars
			delta, seen, ok := snapshot.Diff(was.lines, lines, told)
			if !ok {
				if told.JSON = o.JSON; told.JSON || told.MaxChars < snap.Stats.Chars {
					snap, lines = snapshot.Render(got, told, s.refs)
				}
				s.show(page, told, lines)
				return &snap, nil, nil
			}
			s.show(page, was.options, seen)
			delta = s.addOffScope(ctx, page, delta, lines, told, e)
			return nil, &delta, nil
		}
		if c := protocol.CodeOf(err); c != protocol.StaleRef && c != protocol.InvalidParams {
			return nil, nil, err
		}
	}
	snap, err := s.Snapshot(ctx, page, o)
	return &snap, nil, err
}

// limitsDiffer reports whether o sets a limit to another value than was has. Defaults do
// not count.
func limitsDiffer(o, was snapshot.Options) bool {
	d := snapshot.DefaultOptions()
	return differs(o.Scope, d.Scope, was.Scope) || differs(o.After, d.After, was.After) ||
		differs(o.InteractiveOnly, d.InteractiveOnly, was.InteractiveOnly) || differs(o.DedupeText, d.DedupeText, was.DedupeText) ||
		differs(o.MaxNodes, d.MaxNodes, was.MaxNodes) || differs(o.MaxDepth, d.MaxDepth, was.MaxDepth) ||
		differs(o.MaxText, d.MaxText, was.MaxText) ||
		!slices.Equal(o.Attrs, d.Attrs) && !slices.Equal(o.Attrs, was.Attrs)
}

func differs[T comparable](asked, usual, was T) bool { return asked != usual && asked != was }

// Watcher is a page that knows what has changed since the last Capture outside of the
// window that it showed.
type Watcher interface {
	OffScope(ctx context.Context, w snapshot.Window, o snapshot.Options, refs *snapshot.Refs) (snapshot.OffScope, error)
}

// addOffScope adds to a delta what changed outside of the part of the page that the client was
// shown with o. If it was shown the whole page, nothing is added.
func (s *Session) addOffScope(ctx context.Context, page Page, d snapshot.Delta, lines snapshot.Baseline, o snapshot.Options, e *protocol.Effect) snapshot.Delta {
	w, whole := lines.Window(o)
	if whole || e != nil && !e.Changed {
		return d
	}
	budgets := snapshot.OffScopeOptions(o)
	var out snapshot.OffScope
	var err error
	if p, ok := page.(Watcher); ok {
		out, err = p.OffScope(ctx, w, budgets, s.refs)
	} else if e != nil && e.Hit != "" && !slices.Contains(w.Refs, e.Hit) {
		// Without script only what was acted on changes.
		budgets.Scope = e.Hit
		var got snapshot.Capture
		got, err = page.Capture(ctx, budgets, s.refs)
		out = snapshot.OffScope{Nodes: got.Nodes, Left: got.Rest}
	}
	if err != nil {
		// The action is done: that something changed is all that can be said.
		out = snapshot.OffScope{Hidden: 1}
	}
	return d.Add(out, lines, o, s.refs)
}

// Nodes reads the page as o says for the daemon itself: the client is shown nothing, and no node
// gets a ref.
func (s *View) Nodes(ctx context.Context, page Page, o snapshot.Options) ([]snapshot.Node, error) {
	got, err := page.Capture(ctx, o, s.refs)
	if err != nil {
		return nil, err
	}
	s.rebind(page, o, &got)
	return got.Nodes, nil
}

// rebind gives the refs of elements that the page has redrawn since the client's last view to
// what stands in their place.
func (s *View) rebind(page Page, o snapshot.Options, got *snapshot.Capture) {
	if was := s.shown; was.any && was.document == page.State().Document && was.options.InteractiveOnly == o.InteractiveOnly && o.Scope == "" && o.After == "" {
		s.refs.RebindRedrawn(got, was.lines)
	}
}

// Keep returns a func that makes what the client was shown last, as it is now, its last view
// again: what it is shown in between goes to somebody else, or to nobody.
func (s *View) Keep() (restore func()) {
	was := s.shown
	return func() { s.shown = was }
}

// Shown lists the refs that the client was shown last; false if it was
// shown nothing of the document that is open.
func (s *View) Shown(page Page) ([]string, bool) {
	if !s.shown.any || s.shown.document != page.State().Document {
		return nil, false
	}
	return s.shown.lines.Refs(), true
}

// How much of a page's title and address every answer holds, in characters.
const (
	maxTitle = 500
	maxURL   = 8000
)

// Told is State, for an answer to the client.
func (s *Session) Told(page Page) protocol.Page {
	p := s.State(page)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = policy.Origin(p.URL)
	return p
}

// place is what an answer says of where the page is.
type place struct {
	tab, url, title, source string
	status, document        int
}

// ToldTo is Session.Told for a client whose requests come to several daemons, none of which knows what the
// others answered: Page.Told says whether the client's last answer said the same. client is any
// comparable value.
func ToldTo(s *Session, client any, page Page) protocol.Page {
	p := s.Told(page)
	now := place{p.Tab, p.URL, p.Title, p.Source, p.Status, p.Document}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.places[client]
	if s.places == nil || !known && len(s.places) >= maxViews {
		s.places = map[any]place{}
	}
	s.places[client] = now
	p.Told = known && now == before
	return p
}

// Untold forgets what ToldTo said to a client, which may not have been shown it.
func Untold(s *Session, client any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.places, client)
}

// State is where the page is, with the count of its snapshots. Any goroutine
// may call it.
func (s *Session) State(page Page) protocol.Page {
	p := page.State()
	p.Title, p.URL = snapshot.Cut(p.Title, maxTitle), snapshot.Cut(p.URL, maxURL)
	if unverified := s.manager.Unverified; unverified != nil && p.Source != "jina" && unverified(p.URL) {
		p.Certificate = "unverified"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Revision = s.revisions[p.Document]
	p.Capabilities = staticCapabilities
	if p.Source == SourceChromium {
		p.Capabilities = liveCapabilities
	}
	return p
}
