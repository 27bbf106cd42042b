package session

import (
	"context"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// View is what one client of a session was shown last: the baseline of its next delta. Only the holder of the
// turn may use it.
type View struct {
	*Session
	client any
	shown
}

// shown is what a client was shown last, and of which document. It is the zero value before the first snapshot.
type shown struct {
	valid    bool
	lines    snapshot.Baseline
	options  snapshot.Options
	document int
}

// maxViews is how many clients a session remembers a view of: those that used theirs last. Any other client
// gets a snapshot before its first delta.
const maxViews = 8

// View returns the view of a client, which is any comparable value. The view is valid until the session gets
// another page. Only for the holder of the turn.
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

// Snapshot returns a snapshot of the page with the options o, and makes it the client's view.
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
	s.shown = shown{valid: true, lines: lines, options: o, document: document}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revisions[document]++
	if len(s.revisions) > maxRevisions {
		delete(s.revisions, slices.Min(slices.Collect(maps.Keys(s.revisions))))
	}
}

// Changes returns what has changed since the client's view: a delta, or a whole snapshot if there is no view,
// the page has another document, the element that the view was limited to is gone, o sets other limits, or the
// snapshot is shorter than the delta. A delta has the limits of the view, except for o.MaxChars, and so has a
// snapshot that replaces it because it is shorter. Any other snapshot has the options o. e is the effect of the
// client's action; nil if the command only reads. The delta also says what changed outside of the view's
// limits.
func (s *View) Changes(ctx context.Context, page Page, o snapshot.Options, e *protocol.Effect) (*snapshot.Snapshot, *snapshot.Delta, error) {
	was := s.shown
	if was.valid && was.document == page.State().Document && !limitsDiffer(o, was.options) {
		got, err := page.Capture(ctx, was.options, s.refs)
		if err == nil {
			s.refs.RebindRedrawn(&got, was.lines)
			snap, lines := snapshot.Render(got, was.options, s.refs)
			limits := was.options
			limits.MaxChars = o.MaxChars
			delta, seen, ok := snapshot.Diff(was.lines, lines, limits)
			if !ok {
				if limits.JSON = o.JSON; limits.JSON || limits.MaxChars < snap.Stats.Chars {
					snap, lines = snapshot.Render(got, limits, s.refs)
				}
				s.show(page, limits, lines)
				return &snap, nil, nil
			}
			s.show(page, was.options, seen)
			delta = s.addOffScope(ctx, page, delta, lines, limits, e)
			return nil, &delta, nil
		}
		if c := protocol.CodeOf(err); c != protocol.StaleRef && c != protocol.InvalidParams {
			return nil, nil, err
		}
	}
	snap, err := s.Snapshot(ctx, page, o)
	return &snap, nil, err
}

// limitsDiffer reports whether o sets a limit that differs from the one in was. Default values in o do not
// count.
func limitsDiffer(o, was snapshot.Options) bool {
	d := snapshot.DefaultOptions()
	return differs(o.Scope, d.Scope, was.Scope) || differs(o.After, d.After, was.After) ||
		differs(o.InteractiveOnly, d.InteractiveOnly, was.InteractiveOnly) || differs(o.DedupeText, d.DedupeText, was.DedupeText) ||
		differs(o.MaxNodes, d.MaxNodes, was.MaxNodes) || differs(o.MaxDepth, d.MaxDepth, was.MaxDepth) ||
		differs(o.MaxText, d.MaxText, was.MaxText) ||
		!slices.Equal(o.Attrs, d.Attrs) && !slices.Equal(o.Attrs, was.Attrs)
}

func differs[T comparable](asked, usual, was T) bool { return asked != usual && asked != was }

// OffScopeReader is a page that can tell what has changed since the last Capture outside of the window that was
// shown.
type OffScopeReader interface {
	OffScope(ctx context.Context, w snapshot.Window, o snapshot.Options, refs *snapshot.Refs) (snapshot.OffScope, error)
}

// addOffScope adds to a delta what changed outside of the part of the page that the client was shown with the
// options o. If the client was shown the whole page, it adds nothing.
func (s *Session) addOffScope(ctx context.Context, page Page, d snapshot.Delta, lines snapshot.Baseline, o snapshot.Options, e *protocol.Effect) snapshot.Delta {
	w, whole := lines.Window(o)
	if whole || e != nil && !e.Changed {
		return d
	}
	budgets := snapshot.OffScopeOptions(o)
	var out snapshot.OffScope
	var err error
	if p, ok := page.(OffScopeReader); ok {
		out, err = p.OffScope(ctx, w, budgets, s.refs)
	} else if e != nil && e.Hit != "" && !slices.Contains(w.Refs, e.Hit) {
		// In a static page only the element that was acted on changes.
		budgets.Scope = e.Hit
		var got snapshot.Capture
		got, err = page.Capture(ctx, budgets, s.refs)
		out = snapshot.OffScope{Nodes: got.Nodes, Left: got.Rest}
	}
	if err != nil {
		// The action was done, so this is no error of the command: report only that something changed.
		out = snapshot.OffScope{Hidden: 1}
	}
	return d.Add(out, lines, o, s.refs)
}

// Nodes captures the page with the options o for the daemon's own use: the client's view stays, and no node
// gets a ref.
func (s *View) Nodes(ctx context.Context, page Page, o snapshot.Options) ([]snapshot.Node, error) {
	got, err := page.Capture(ctx, o, s.refs)
	if err != nil {
		return nil, err
	}
	s.rebind(page, o, &got)
	return got.Nodes, nil
}

// rebind gives the refs of elements that the page has redrawn since the client's view to the elements that
// replaced them.
func (s *View) rebind(page Page, o snapshot.Options, got *snapshot.Capture) {
	if was := s.shown; was.valid && was.document == page.State().Document && was.options.InteractiveOnly == o.InteractiveOnly && o.Scope == "" && o.After == "" {
		s.refs.RebindRedrawn(got, was.lines)
	}
}

// Preserve returns a func that restores the view as it is now. Call it around snapshots that the client will
// not see.
func (s *View) Preserve() (restore func()) {
	was := s.shown
	return func() { s.shown = was }
}

// ShownRefs returns the refs in the client's view. It returns false if the client was shown nothing of the open
// document.
func (s *View) ShownRefs(page Page) ([]string, bool) {
	if !s.shown.valid || s.shown.document != page.State().Document {
		return nil, false
	}
	return s.shown.lines.Refs(), true
}

// Limits of a page's title and URL in answers, in characters.
const (
	maxTitle = 500
	maxURL   = 8000
)

// LongTitle is from how many characters on the title of a source may have been cut: Chromium's is cut at 2,000 units
// of UTF-16.
const LongTitle = 1000

// ReportState is State for an answer to the client. It records the address that the client is told
// (OriginOfPage).
func (s *Session) ReportState(page Page) protocol.Page {
	p := s.State(page)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reportedURL = p.URL
	return p
}

// reportedPage is what an answer says about the page.
type reportedPage struct {
	tab, url, title, source string
	status, document        int
}

// ReportStateTo is Session.ReportState for a client whose requests reach several daemons. These do not know
// each other's answers, so Page.Told says whether the client's last answer about this session said the same.
// client is any comparable value.
func ReportStateTo(s *Session, client any, page Page) protocol.Page {
	p := s.ReportState(page)
	now := reportedPage{p.Tab, p.URL, p.Title, p.Source, p.Status, p.Document}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.reportedPages[client]
	if s.reportedPages == nil || !known && len(s.reportedPages) >= maxViews {
		s.reportedPages = map[any]reportedPage{}
	}
	s.reportedPages[client] = now
	p.Told = known && now == before
	return p
}

// ForgetReported forgets what ReportStateTo returned last for a client. Call it if the client may not have got
// that answer.
func ForgetReported(s *Session, client any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reportedPages, client)
}

// State returns the page's state for an answer, with the revision of its document and its capabilities. Any
// goroutine may call it.
func (s *Session) State(page Page) protocol.Page {
	p := page.State()
	if unverified := s.manager.Unverified; unverified != nil && p.Source != "jina" && unverified(p.URL) {
		p.Certificate = "unverified"
	}
	if redact := s.manager.Redact; redact != nil { // before the cuts: nothing tells the beginning of a secret from other text
		p.Title, p.URL = redact(s.agent, p.Title, utf8.RuneCountInString(p.Title) >= LongTitle), redact(s.agent, p.URL, false)
	}
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
