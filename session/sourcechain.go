package session

import (
	"context"
	"time"

	"github.com/browserd/browserd/protocol"
)

// SourceChain is a page without a browser. It gets its documents from one of several sources and records which
// sources were tried.
type SourceChain interface {
	Page
	// OpenFrom loads url from a source: http, jina or auto.
	OpenFrom(ctx context.Context, source, url string) (protocol.Effect, error)
	// Attempts returns the sources that were tried for the open document. Any goroutine
	// may call it.
	Attempts() []protocol.Attempt
}

// The capabilities of the sources, for page.capabilities.
var (
	liveCapabilities   = []string{"links", "forms", "script", "keyboard", "pointer", "pictures", "tabs"}
	staticCapabilities = []string{"links", "forms"}
)

// PageForOpen returns the page on which to open a URL, and the source to load it from: the one that
// the client names, else the one that the session was opened with, else Chromium if it is
// available. If the session changes its source, it keeps its cookies. Errors:
// chromium_unavailable if the client names chromium. Only for the holder of the turn.
func (s *Session) PageForOpen(ctx context.Context, source string) (Page, string, error) {
	page, source, err := s.pageForOpen(ctx, source)
	if err == nil && s.unrestored != nil {
		s.clearLoss() // another URL is opened, so the lost one is not loaded again
	}
	return page, source, err
}

func (s *Session) pageForOpen(ctx context.Context, source string) (Page, string, error) {
	if source == "" || source == SourceAuto {
		source = s.options.Source
	}
	if source == "" {
		source = SourceAuto
	}
	old := s.Page()
	if old == nil || isLost(old) {
		page, err := s.ensure(ctx, source, true)
		return page, source, err
	}
	live := old.State().Source == SourceChromium
	switch {
	case source == SourceAuto && live, source != SourceAuto && live == (source == SourceChromium):
		return old, source, nil
	case source == SourceAuto:
		// The session began without Chromium, which may be available by now.
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

// move continues the session at another source, with its cookies. optional is as in
// Options.
func (s *Session) move(ctx context.Context, old Page, source string, optional bool) (Page, error) {
	restore := old.Restore()
	page, err := s.newPage(ctx, source, optional, &restore)
	if err != nil {
		return nil, err
	}
	s.views = nil
	s.discard(old)
	return page, nil
}

// discard closes a page that the session does not use (any longer), in the background, so that a source that
// does not answer delays nothing.
func (s *Session) discard(page Page) {
	m := s.manager
	m.mu.Lock()
	closing := m.closing
	if !closing {
		m.work.Add(1) // safe: Shutdown has not begun to wait
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
func (s *Session) newPage(ctx context.Context, source string, optional bool, restore *protocol.Restore) (Page, error) {
	o := s.options
	o.Name, o.Source, o.Optional, o.Restore = s.name, source, optional, restore
	var page Page
	err := retryInUse(ctx, s, func() (err error) {
		page, err = s.manager.source.NewPage(ctx, o, s.handleEvent)
		return err
	})
	if err != nil {
		return nil, err
	}
	hadState := s.pendingState != nil
	err = keepScripts(s)
	if err == nil {
		err = resume(ctx, s)
	}
	if err == nil {
		err = s.pageSettings.apply(ctx, page)
	}
	if err == nil && restore != nil && !hadState {
		s.mu.Lock()
		k := s.saver
		s.mu.Unlock()
		err = k.reload(ctx, page)
	}
	if err != nil {
		s.discard(page)
		return nil, err
	}
	if !s.adopt(page) {
		s.discard(page)
		return nil, errClosed()
	}
	return page, nil
}

// handleEvent handles the events of the session's pages. The agent gets none while a person drives (the next
// delta says what has changed) or while hidesPages holds.
func (s *Session) handleEvent(typ string, fields map[string]any) {
	if typ == protocol.EventPageCrashed && fields["left_out"] == true {
		s.mu.Lock()
		s.unreportedCrash = fields
		s.mu.Unlock()
	}
	emitTo(s.manager, s, s.control.DroveAt(time.Now()) || hidesPages(s), typ, fields)
}

// takeUnreportedCrash returns page_crashed, once, if a page crashed that was not loaded again and no
// command has reported it.
func (s *Session) takeUnreportedCrash() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fields := s.unreportedCrash
	s.unreportedCrash = nil
	if fields == nil {
		return nil
	}
	err := protocol.Errorf(protocol.PageCrashed, "the page was ended since the last command, and is not loaded again")
	for k, v := range fields {
		err.With(k, v)
	}
	return err
}

// Opened is called after a URL was opened. A crash of the page before is then no longer
// reported.
func (s *Session) Opened(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreportedCrash["url"] != url {
		s.unreportedCrash = nil
	}
}

func isLost(p Page) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}
