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
func (s *Session) Ensure(ctx context.Context, fresh bool) (Page, error) {
	old := s.Page()
	if old != nil {
		select {
		case <-old.Done():
		default:
			return old, nil
		}
	}
	o := s.options
	var remains protocol.Remains
	if old != nil {
		remains = old.Remains()
		o.Restore = &remains
	}
	page, err := s.manager.source.NewPage(ctx, o, func(typ string, fields map[string]any) { s.manager.emit(s, typ, fields) })
	if err == nil {
		if err = s.again(ctx, page); err != nil {
			page.Close(context.WithoutCancel(ctx))
		}
	}
	if err != nil {
		return nil, err
	}
	if !s.adopt(page) {
		page.Close(context.WithoutCancel(ctx))
		return nil, errClosed()
	}
	if old == nil {
		return page, nil
	}
	s.shown = shown{}
	restored := map[string]any{"url": "", "cookies": remains.CookieCount, "not": notRestored}
	if !fresh && remains.URL != "" && remains.URL != "about:blank" {
		if _, err := page.Open(ctx, remains.URL, protocol.WaitAuto); err == nil {
			restored["url"] = remains.URL
		} else {
			s.manager.log.Warn("restoring a page", "session", s.name, "code", protocol.CodeOf(err))
		}
	}
	s.manager.emit(s, protocol.EventBrowserRestored, map[string]any{"restored": restored})
	told := s.told
	s.told = false
	if fresh || told {
		return page, nil
	}
	s.told = false
	return nil, protocol.Errorf(protocol.BrowserLost, "Chromium died since the last command, and the session went on in a new one").
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
		if s.life.Err() != nil {
			return
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
	lost.Cause = e
	return lost.With("restored", map[string]any{"url": r.URL, "cookies": r.CookieCount, "not": notRestored}).
		Then("send the next command: it starts Chromium again, with the URL and the cookies that details.restored names")
}
