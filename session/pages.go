package session

import (
	"context"
	"errors"

	"github.com/browserd/browserd/protocol"
)

// Ensure returns the session's page, making one where there is none. Only for
// the holder of the turn.
//
// Where the page was lost (Chromium died), a new one takes its place with what
// remained of it: the cookies, and the URL is loaded again unless the command
// is about to open another (fresh). The first command that comes after a loss
// which no command was told of answers browser_lost, so that no restart is
// silent; opening a URL needs no telling.
//
// Where Chromium does not come back, a session that may do without it goes on
// at the other sources, and restored.source says so.
func (s *Session) Ensure(ctx context.Context, fresh bool) (Page, error) {
	if page := s.Page(); page != nil && !gone(page) {
		if err := s.untold(); err != nil && !fresh {
			return nil, err
		}
		return page, nil
	}
	return s.ensure(ctx, s.options.Source, fresh)
}

// ensure makes a page at a source, where there is none or the old one is lost.
func (s *Session) ensure(ctx context.Context, source string, fresh bool) (Page, error) {
	old := s.Page()
	if old == nil {
		return s.newPage(ctx, source, nil)
	}
	remains := old.Remains()
	page, err := s.newPage(ctx, source, &remains)
	if err != nil {
		return nil, err
	}
	s.shown = shown{}
	restored := map[string]any{"url": "", "cookies": remains.CookieCount, "not": notRestored, "source": page.State().Source}
	if !fresh && remains.URL != "" && remains.URL != "about:blank" {
		if _, err := page.Open(ctx, remains.URL, protocol.WaitAuto); err == nil {
			restored["url"] = remains.URL
		} else {
			s.manager.log.WarnContext(ctx, "restoring a page", "session", s.name, "code", protocol.CodeOf(err))
		}
		restored["source"] = page.State().Source
	}
	s.manager.emit(s, protocol.EventBrowserRestored, map[string]any{"restored": restored})
	told := s.told
	s.told = false
	if fresh || told {
		return page, nil
	}
	went := "in a new one"
	if page.State().Source != SourceChromium {
		went = "without it: its pages are static documents now"
	}
	return nil, protocol.Errorf(protocol.BrowserLost, "Chromium died since the last command, and the session went on %s", went).
		With("restored", restored)
}

// notRestored is what a new page does not have of a lost one.
var notRestored = []string{"refs", "form contents", "history", "other tabs", "local and session storage", "downloads"}

// adopt makes page the session's and watches for its loss; false where the
// session is closed.
func (s *Session) adopt(page Page) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.page = page
	s.manager.work.Add(1)
	go func() {
		defer s.manager.work.Done()
		select {
		case <-s.life.Done():
			return
		case <-page.Done():
		}
		if s.life.Err() != nil || s.Page() != page {
			return // closed, or given up for another source
		}
		r := page.Remains()
		s.manager.emit(s, protocol.EventBrowserLost, map[string]any{
			"restored": map[string]any{"url": r.URL, "cookies": r.CookieCount, "not": notRestored},
		})
	}()
	return true
}

// Lost completes the error of a command during which the page was lost: what
// will come back with the next command. Other errors pass unchanged. Only for
// the holder of the turn.
func (s *Session) Lost(err error) error {
	if protocol.CodeOf(err) == protocol.PageCrashed {
		s.untold() // now it is told
	}
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.BrowserLost || e.Details["restored"] != nil {
		return err
	}
	page := s.Page()
	if page == nil {
		return err
	}
	s.told = true
	r := page.Remains()
	lost := protocol.Errorf(protocol.BrowserLost, "Chromium died while the command ran")
	if cause, ok := e.Details["cause"].(string); ok {
		lost = protocol.Errorf(protocol.BrowserLost, "%s, and was ended while the command ran", cause).With("cause", cause)
	}
	lost.Cause = e
	return lost.With("restored", map[string]any{"url": r.URL, "cookies": r.CookieCount, "not": notRestored}).
		Then("send the next command: it starts Chromium again, with the URL and the cookies that details.restored names")
}
