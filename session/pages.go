package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/browserd/browserd/protocol"
)

// Ensure returns the session's page, and makes one if there is none. Only for the holder of the turn.
//
// If the page was lost because Chromium died, a new page replaces it, with the cookies and other state of the
// lost one. Its URL is loaded again, unless the command is about to open another one (fresh). If no command has
// reported the loss yet, the first one answers browser_lost, unless it opens a URL, so that the client notices
// the restart.
//
// If the URL cannot be loaded again, no command runs on the empty page: each command tries the URL once more
// and answers browser_lost, until a command opens another URL.
//
// If Chromium does not start again, a session whose source is not chromium continues with another source, which
// restored.source names.
func (s *Session) Ensure(ctx context.Context, fresh bool) (Page, error) {
	page := s.Page()
	if page == nil || isLost(page) {
		return s.ensure(ctx, s.options.Source, fresh)
	}
	if err := s.takeUnreportedCrash(); err != nil && !fresh {
		return nil, err
	}
	if s.unrestored == nil || fresh {
		return page, nil
	}
	back, err := s.restore(ctx, page)
	if err == nil {
		s.manager.emit(s, protocol.EventBrowserRestored, map[string]any{"restored": back})
	}
	return s.pageAfterRestore(ctx, page, back, err)
}

// ensure makes a page at a source if there is none or the old one was lost.
func (s *Session) ensure(ctx context.Context, source string, fresh bool) (Page, error) {
	old, optional := s.Page(), source != SourceChromium
	if old == nil {
		return s.newPage(ctx, source, optional, nil)
	}
	restore := s.restorable(old)
	page, err := s.newPage(ctx, source, optional, &restore)
	if err != nil {
		return nil, s.noPageError(old, err, fresh)
	}
	s.views = nil
	s.unrestored = &restore
	if page.State().Source != SourceChromium && old.State().Source == SourceChromium {
		s.reported = false // the client has not been told yet that the session continues without Chromium
	}
	if fresh {
		s.manager.emit(s, protocol.EventBrowserRestored, map[string]any{"restored": s.restoredDetails(page, "")})
		s.clearLoss()
		return page, nil
	}
	back, err := s.restore(ctx, page)
	s.manager.emit(s, protocol.EventBrowserRestored, map[string]any{"restored": back})
	return s.pageAfterRestore(ctx, page, back, err)
}

// lossCause says why a page was lost, as the beginning of a sentence.
func lossCause(page Page) string {
	if page.State().Attached {
		return "the person's own browser was closed, or ended the connection,"
	}
	return "Chromium died"
}

// noPageError returns the error of a command if no page could replace the lost one. A person's own browser may
// stay closed for a long time, so its loss is reported before it is back.
func (l *loss) noPageError(old Page, err error, fresh bool) error {
	e := (*protocol.Error)(nil)
	if !old.State().Attached || fresh || l.reported || !errors.As(err, &e) || e.Code != protocol.ChromiumUnavailable && e.Code != protocol.WaitingForConsent {
		return err
	}
	l.reported = true
	return l.addRestorable(old, protocol.Errorf(protocol.BrowserLost, "%s since the last command, and is not there: %s", lossCause(old), e.Message)).
		Then("%s; then send the command again, which opens the URL of details.restored", e.Data().Next)
}

// addRestorable adds to an error what the next command will restore of the lost page.
func (l *loss) addRestorable(old Page, lost *protocol.Error) *protocol.Error {
	r := l.restorable(old)
	return lost.With("restored", map[string]any{"url": r.URL, "cookies": r.CookieCount, "not": l.notRestoredParts()})
}

// restorable returns the state from which a new page can continue. If page is itself a replacement whose URL
// was never loaded, this is the state of the page that was lost before it.
func (l *loss) restorable(page Page) protocol.Restore {
	r := page.Restore()
	if l.unrestored != nil {
		documents := r.Documents
		r = *l.unrestored
		r.Documents = documents
	}
	return r
}

// restore loads the lost page's URL and returns what was restored, for details.restored.
func (s *Session) restore(ctx context.Context, page Page) (back map[string]any, err error) {
	url := s.unrestored.URL
	if url == "" || url == "about:blank" {
		return s.restoredDetails(page, ""), nil
	}
	_, err = page.Open(ctx, url, protocol.WaitAuto)
	if protocol.CodeOf(err) == protocol.Timeout && page.State().URL == url {
		err = nil // the page is slow: if each command loaded it again, it would never be ready
	}
	if err != nil {
		s.manager.log.WarnContext(ctx, "restoring a page", "session", s.name, "code", protocol.CodeOf(err))
		return s.restoredDetails(page, ""), err
	}
	return s.restoredDetails(page, url), nil
}

// restoredDetails returns details.restored: the parts of the lost page that the new page has.
func (l *loss) restoredDetails(page Page, url string) map[string]any {
	return map[string]any{"url": url, "cookies": l.unrestored.CookieCount, "not": l.notRestoredParts(), "source": page.State().Source}
}

// pageAfterRestore decides, after restore, whether the command gets the page: it does if
// everything was restored and the loss has been reported to the client.
func (s *Session) pageAfterRestore(ctx context.Context, page Page, back map[string]any, err error) (Page, error) {
	went, static := "in a new one", page.State().Source != SourceChromium
	if static {
		went = "without it: its pages are static documents now"
	}
	reported := s.reported
	switch {
	case err == nil:
		s.clearLoss()
		if reported {
			return page, nil
		}
		lost := protocol.Errorf(protocol.BrowserLost, "%s since the last command, and the session went on %s", lossCause(page), went).With("restored", back)
		if s.cause == causeNodeLost {
			lost = protocol.Errorf(protocol.BrowserLost, "the node that had the session was lost, and the session went on at another one").With("restored", back).With("cause", causeNodeLost)
			s.cause = ""
		}
		if static {
			lost.Then("send the command again to go on with the static document, or open its URL, which tries Chromium once more")
		}
		return nil, lost
	case ctx.Err() != nil:
		return nil, err // the command's own deadline or cancellation, not a failure of the page
	case protocol.CodeOf(err) == protocol.PageCrashed:
		s.clearLoss() // do not load a page again and again that crashes its process
		return nil, err
	}
	s.reported = true
	return nil, protocol.Errorf(protocol.BrowserLost, "%s, the session went on %s, and the URL could not be loaded again: %w", strings.TrimSuffix(lossCause(page), ","), went, err).
		With("restored", back).With("url", s.unrestored.URL).With("reason", string(protocol.CodeOf(err))).
		Then("send the command again, which tries the URL once more, or open another")
}

// clearLoss forgets the lost state, so that commands work on the page as it is.
func (l *loss) clearLoss() { l.unrestored, l.reported, l.storageRestored = nil, false, false }

// notRestored lists what is not restored of a lost page. bothStorages is restored if the fleet's database has
// it.
var notRestored = []string{"refs", "form contents", "history", "other tabs", bothStorages, "downloads"}

const bothStorages = "local and session storage"

// notRestoredParts lists the parts of the lost page that are not restored.
func (l *loss) notRestoredParts() []string {
	if !l.storageRestored {
		return notRestored
	}
	return slices.DeleteFunc(slices.Clone(notRestored), func(what string) bool { return what == bothStorages })
}

// adopt makes page the session's page and watches for its loss. It returns false if the
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
			return // the session was closed, or moved to another source
		}
		r := page.Restore()
		s.manager.emit(s, protocol.EventBrowserLost, map[string]any{
			"restored": map[string]any{"url": r.URL, "cookies": r.CookieCount, "not": notRestored},
		})
	}()
	return true
}

// DescribeLoss completes the error of a command during which the page was lost: it adds what the next command
// will restore. It returns other errors unchanged. Only for the holder of the turn.
func (s *Session) DescribeLoss(err error) error {
	if protocol.CodeOf(err) == protocol.PageCrashed {
		s.takeUnreportedCrash() // this error reports it
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
	lost := protocol.Errorf(protocol.BrowserLost, "%s while the command ran", lossCause(page))
	if cause, ok := e.Details["cause"].(string); ok {
		lost = protocol.Errorf(protocol.BrowserLost, "%s, and was ended while the command ran", cause).With("cause", cause)
	}
	lost.Cause = e
	next := "send the next command: it starts Chromium again, with the URL and the cookies that details.restored names"
	if page.State().Attached {
		next = "send the next command when the person has opened their browser again: it asks them once, and opens the URL of details.restored"
	}
	return s.addRestorable(page, lost).Then("%s", next)
}
