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
// Where the URL cannot be loaded again, no command works on the empty page in its
// place: each tries it once more and answers browser_lost, until one opens a URL.
//
// Where Chromium does not come back, a session that may do without it goes on
// at the other sources, and restored.source says so.
func (s *Session) Ensure(ctx context.Context, fresh bool) (Page, error) {
	page := s.Page()
	if page == nil || gone(page) {
		return s.ensure(ctx, s.options.Source, fresh)
	}
	if err := s.unreported(); err != nil && !fresh {
		return nil, err
	}
	if s.missing == nil || fresh {
		return page, nil
	}
	back, err := s.restore(ctx, page)
	if err == nil {
		s.manager.emit(s, protocol.EventBrowserRestored, map[string]any{"restored": back})
	}
	return s.afterwards(ctx, page, back, err)
}

// ensure makes a page at a source, where there is none or the old one is lost.
func (s *Session) ensure(ctx context.Context, source string, fresh bool) (Page, error) {
	old, dispensable := s.Page(), source != SourceChromium
	if old == nil {
		return s.newPage(ctx, source, dispensable, nil)
	}
	restore := s.restorable(old)
	page, err := s.newPage(ctx, source, dispensable, &restore)
	if err != nil {
		return nil, err
	}
	s.shown = shown{}
	s.missing = &restore
	if page.State().Source != SourceChromium {
		s.reported = false // that it goes on without Chromium, nobody was told
	}
	if fresh {
		s.manager.emit(s, protocol.EventBrowserRestored, map[string]any{"restored": s.back(page, "")})
		s.giveUp()
		return page, nil
	}
	back, err := s.restore(ctx, page)
	s.manager.emit(s, protocol.EventBrowserRestored, map[string]any{"restored": back})
	return s.afterwards(ctx, page, back, err)
}

// restorable is what a new page could go on from: what is missing of the page that was
// lost before this one, where this one never got it.
func (l *loss) restorable(page Page) protocol.Restore {
	r := page.Restore()
	if l.missing != nil {
		documents := r.Documents
		r = *l.missing
		r.Documents = documents
	}
	return r
}

// restore loads the URL that is missing, and says what the session has back.
func (s *Session) restore(ctx context.Context, page Page) (back map[string]any, err error) {
	url := s.missing.URL
	if url == "" || url == "about:blank" {
		return s.back(page, ""), nil
	}
	_, err = page.Open(ctx, url, protocol.WaitAuto)
	if protocol.CodeOf(err) == protocol.Timeout && page.State().URL == url {
		err = nil // it is there, and slow: loaded anew by each command it would never be done
	}
	if err != nil {
		s.manager.log.WarnContext(ctx, "restoring a page", "session", s.name, "code", protocol.CodeOf(err))
		return s.back(page, ""), err
	}
	return s.back(page, url), nil
}

// back is details.restored: what the session has of a lost page in another.
func (l *loss) back(page Page, url string) map[string]any {
	return map[string]any{"url": url, "cookies": l.missing.CookieCount, "not": notRestored, "source": page.State().Source}
}

// afterwards gives the page to a command after restore: where all is back, and a
// command was told of the loss.
func (s *Session) afterwards(ctx context.Context, page Page, back map[string]any, err error) (Page, error) {
	went, static := "in a new one", page.State().Source != SourceChromium
	if static {
		went = "without it: its pages are static documents now"
	}
	reported := s.reported
	switch {
	case err == nil:
		s.giveUp()
		if reported {
			return page, nil
		}
		lost := protocol.Errorf(protocol.BrowserLost, "Chromium died since the last command, and the session went on %s", went).With("restored", back)
		if static {
			lost.Then("send the command again to go on with the static document, or open its URL, which tries Chromium once more")
		}
		return nil, lost
	case ctx.Err() != nil:
		return nil, err // it is of the command, not of the page
	case protocol.CodeOf(err) == protocol.PageCrashed:
		s.giveUp() // what kills its page is not loaded again and again
		return nil, err
	}
	s.reported = true
	return nil, protocol.Errorf(protocol.BrowserLost, "Chromium died, the session went on %s, and the URL could not be loaded again: %w", went, err).
		With("restored", back).With("url", s.missing.URL).With("reason", string(protocol.CodeOf(err))).
		Then("send the command again, which tries the URL once more, or open another")
}

// giveUp lets commands work on the page as it is, whatever is missing.
func (l *loss) giveUp() { l.missing, l.reported = nil, false }

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
		r := page.Restore()
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
		s.unreported() // now it is told
	}
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.BrowserLost || e.Details["restored"] != nil {
		return err
	}
	page := s.Page()
	if page == nil {
		return err
	}
	s.reported = true
	r := s.restorable(page)
	lost := protocol.Errorf(protocol.BrowserLost, "Chromium died while the command ran")
	if cause, ok := e.Details["cause"].(string); ok {
		lost = protocol.Errorf(protocol.BrowserLost, "%s, and was ended while the command ran", cause).With("cause", cause)
	}
	lost.Cause = e
	return lost.With("restored", map[string]any{"url": r.URL, "cookies": r.CookieCount, "not": notRestored}).
		Then("send the next command: it starts Chromium again, with the URL and the cookies that details.restored names")
}
