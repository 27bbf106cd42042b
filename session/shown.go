package session

import (
	"context"
	"maps"
	"slices"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// shown is what the client was shown last, and of which document.
type shown struct {
	any      bool
	lines    snapshot.Shown
	options  snapshot.Options
	document int
}

// Snapshot reads the page, writes it as o says, and remembers it as what the
// client was shown. Only for the holder of the turn.
func (s *Session) Snapshot(ctx context.Context, page Page, o snapshot.Options) (snapshot.Snapshot, error) {
	got, err := page.Capture(ctx, o, s.refs)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	snap, lines := snapshot.Render(got, o, s.refs)
	s.show(page, o, lines)
	return snap, nil
}

// maxRevisions is of how many documents a session knows how often the client was
// shown them.
const maxRevisions = 1000

func (s *Session) show(page Page, o snapshot.Options, lines snapshot.Shown) {
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
// against it, or a whole snapshot where there was none, the document is
// another, or what it was limited to is gone. The delta has the limits of the
// snapshot that it is against, but o.MaxChars; o is also how a whole snapshot is
// written. Only for the holder of the turn.
func (s *Session) Changes(ctx context.Context, page Page, o snapshot.Options) (*snapshot.Snapshot, *snapshot.Delta, error) {
	was := s.shown
	if was.any && was.document == page.State().Document {
		got, err := page.Capture(ctx, was.options, s.refs)
		if err == nil {
			_, lines := snapshot.Render(got, was.options, s.refs)
			told := was.options
			told.MaxChars = o.MaxChars
			delta, seen := snapshot.Diff(was.lines, lines, told, s.refs)
			s.show(page, was.options, seen)
			return nil, &delta, nil
		}
		if c := protocol.CodeOf(err); c != protocol.StaleRef && c != protocol.InvalidParams {
			return nil, nil, err
		}
	}
	snap, err := s.Snapshot(ctx, page, o)
	return &snap, nil, err
}

// Shown lists the refs that the client was shown last; false where it was
// shown nothing of the document that is open. Only for the holder of the turn.
func (s *Session) Shown(page Page) ([]string, bool) {
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

// State is where the page is, with the count of its snapshots. Any goroutine
// may call it.
func (s *Session) State(page Page) protocol.Page {
	p := page.State()
	p.Title, p.URL = snapshot.Cut(p.Title, maxTitle), snapshot.Cut(p.URL, maxURL)
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Revision = s.revisions[p.Document]
	p.Capabilities = staticCapabilities
	if p.Source == SourceChromium {
		p.Capabilities = liveCapabilities
	}
	return p
}
