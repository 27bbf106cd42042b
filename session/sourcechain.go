package session

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// SourceChain is what a page that no browser serves can do beyond Page: it gets its
// documents from one of several sources, and says which were tried.
type SourceChain interface {
	Page
	// OpenFrom loads url from a source: http, jina, or auto.
	OpenFrom(ctx context.Context, source, url string) (protocol.Effect, error)
	// Attempts are the sources that were tried for the document that is open.
	// Any goroutine may call it.
	Attempts() []protocol.Attempt
}

// What the sources can do, as page.capabilities says it.
var (
	liveCapabilities   = []string{"links", "forms", "script", "keyboard", "pointer", "pictures", "tabs"}
	staticCapabilities = []string{"links", "forms"}
)

// For returns the page that an open goes to, and the source that it is to load
// from: what the client asks for by name, else what the session was opened
// with, else Chromium where there is one. A session that goes on at another
// source takes its cookies along. Errors: chromium_unavailable, where Chromium
// was asked for by name. Only for the holder of the turn.
func (s *Session) For(ctx context.Context, source string) (Page, string, error) {
	page, source, err := s.pageFor(ctx, source)
	if err == nil && s.missing != nil {
		s.giveUp() // another URL is opened in place of what is missing
	}
	return page, source, err
}

func (s *Session) pageFor(ctx context.Context, source string) (Page, string, error) {
	if source == "" || source == SourceAuto {
		source = s.options.Source
	}
	if source == "" {
		source = SourceAuto
	}
	old := s.Page()
	if old == nil || gone(old) {
		page, err := s.ensure(ctx, source, true)
		return page, source, err
	}
	live := old.State().Source == SourceChromium
	switch {
	case source == SourceAuto && live, source != SourceAuto && live == (source == SourceChromium):
		return old, source, nil
	case source == SourceAuto:
		// Begun without Chromium: it may be there by now.
		if page, err := s.move(ctx, old, SourceChromium, true); err == nil {
			return page, source, nil
		} else if ctx.Err() != nil || protocol.CodeOf(err) == protocol.SessionNotFound {
			return nil, source, err
		}
		return old, source, nil
	}
	page, err := s.move(ctx, old, source, false)
	return page, source, err
}

// The sources that a client may ask for.
const (
	SourceAuto     = "auto"
	SourceChromium = "chromium"
)

// move goes on at another source, with the cookies. dispensable is that of Options.
func (s *Session) move(ctx context.Context, old Page, source string, dispensable bool) (Page, error) {
	restore := old.Restore()
	page, err := s.newPage(ctx, source, dispensable, &restore)
	if err != nil {
		return nil, err
	}
	s.shown = shown{}
	s.discard(old)
	return page, nil
}

// discard closes a page that is not the session's, or no more, while the session
// goes on: a source that does not answer holds nobody up.
func (s *Session) discard(page Page) {
	m := s.manager
	m.mu.Lock()
	closing := m.closing
	if !closing {
		m.work.Add(1) // which nobody waits for yet
	}
	m.mu.Unlock()
	if closing {
		m.closePage(s, page)
		return
	}
	go func() {
		defer m.work.Done()
		m.closePage(s, page)
	}()
}

// newPage makes a page at a source and makes it the session's.
func (s *Session) newPage(ctx context.Context, source string, dispensable bool, restore *protocol.Restore) (Page, error) {
	o := s.options
	o.Name, o.Source, o.Dispensable, o.Restore = s.name, source, dispensable, restore
	page, err := s.manager.source.NewPage(ctx, o, s.happens)
	if err != nil {
		return nil, err
	}
	if err := s.kept.again(ctx, page); err != nil {
		s.discard(page)
		return nil, err
	}
	if !s.adopt(page) {
		s.discard(page)
		return nil, errClosed()
	}
	return page, nil
}

// happens is told what happens to the session's pages.
func (s *Session) happens(typ string, fields map[string]any) {
	if typ == protocol.EventPageCrashed && fields["left_out"] == true {
		s.mu.Lock()
		s.death = fields
		s.mu.Unlock()
	}
	s.manager.emit(s, typ, fields)
}

// unreported returns page_crashed, once, where a page died that was not loaded
// again, and no command has answered so.
func (s *Session) unreported() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fields := s.death
	s.death = nil
	if fields == nil {
		return nil
	}
	err := protocol.Errorf(protocol.PageCrashed, "the page was ended since the last command, and is not loaded again")
	for k, v := range fields {
		err.With(k, v)
	}
	return err
}

// Opened is told that a URL was opened: what the page before died of needs no
// telling any more.
func (s *Session) Opened(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.death["url"] != url {
		s.death = nil
	}
}

func gone(p Page) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}
