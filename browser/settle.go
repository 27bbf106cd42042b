package browser

import (
	"context"
	"errors"
	"time"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// How long an action waits for what it set off. docs/decisions/settling.md has all
// limits of an action, the script's among them.
const (
	// navigationWait is how long a navigation that an action asked for may take to be committed.
	navigationWait = 20 * time.Second
	// requestsWait is how long the requests of an action may keep it waiting.
	requestsWait = 2 * time.Second
	// closingWait is how long Chromium may take to close a tab whose page has asked for that.
	closingWait = time.Second
	// hoverWait is how long a hover effect may take to start, if a snapshot follows: jQuery UI's menus take 0.3 s.
	hoverWait = 400 * time.Millisecond
)

// settled is what the script saw of the page from the beginning of an action until the page was quiet.
type settled struct {
	script.Settled
	doc       int // the document that it was seen in
	focusedIn int // and the one that Focused is in
}

// settle waits until the page has settled after an action: a navigation that was asked for is committed and its
// document is there; requests that the action made are answered, and the DOM is quiet. docs/decisions/settling.md
// lists how long each of these may take.
func (s *observation) settle(ctx context.Context) error {
	t := s.tab
	deadline := time.Now().Add(requestsWait)
	for {
		if navigated, err := s.awaitCommit(ctx); err != nil || navigated {
			if err != nil {
				return err
			}
			return t.nav.awaitDocument(ctx, protocol.WaitAuto)
		}
		err := s.quiet(ctx)
		if protocol.CodeOf(err) == protocol.StaleRef {
			// The document was left while it was asked: go round and see where to.
			if err := t.until(ctx, func() bool { return t.nav.commits != s.commits || t.frames.main.doc != 0 }); err != nil {
				return err
			}
			continue
		}
		if s.seen.Closing && err == nil {
			limited, cancel := context.WithTimeout(ctx, closingWait)
			t.until(limited, func() bool { return false })
			cancel()
			err = context.Cause(t.life)
		}
		if err != nil {
			return err
		}
		s.awaitDownloadBegin(ctx, deadline)
		if s.navigating() {
			continue
		}
		waiting, err := s.awaitRequests(ctx, deadline)
		if err != nil || !waiting {
			return err
		}
	}
}

// navigating reports whether the action asked for a navigation that has not come to anything yet.
func (s *observation) navigating() bool {
	t := s.tab
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return t.nav.commits != s.commits || t.nav.requested != s.requested && t.nav.stopped == s.stopped && t.nav.failed == ""
}

// awaitCommit waits, where the action asked for a navigation, until that is committed, has failed, or was none
// (a download, an answer 204).
func (s *observation) awaitCommit(ctx context.Context) (navigated bool, err error) {
	t := s.tab
	if !s.navigating() {
		s.awaitDownload(ctx)
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, navigationWait)
	defer cancel()
	err = t.until(limited, func() bool {
		return t.nav.commits != s.commits || t.nav.failed != "" || t.nav.stopped != s.stopped || t.nav.requested == s.requested
	})
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	if err == nil {
		s.awaitDownload(ctx)
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	navigated = t.nav.commits != s.commits
	if !navigated {
		s.requested = t.nav.requested
	}
	return navigated, err
}

// lateDownload is how long after a navigation that came to nothing Chromium may
// take to say that it was a download: it says so on another session.
const lateDownload = 300 * time.Millisecond

// aborted is why a navigation failed that became a download, or was given up for another reason.
const aborted = "net::ERR_ABORTED"

// awaitDownload waits, where the navigation came to nothing and nobody said why, a moment for the event of a download.
func (s *observation) awaitDownload(ctx context.Context) {
	t := s.tab
	t.c.mu.Lock()
	asked := t.nav.requested != s.requested && t.nav.commits == s.commits && t.nav.sameDocument == s.sameDocument &&
		(t.nav.failed == aborted || t.nav.failed == "" && t.nav.stopped != s.stopped)
	if asked {
		s.requested = t.nav.requested
	}
	t.c.mu.Unlock()
	if !asked {
		return
	}
	soon, cancel := context.WithTimeout(ctx, lateDownload)
	defer cancel()
	t.until(soon, func() bool {
		return t.nav.failed == "download" || t.nav.commits != s.commits || t.nav.requested != s.requested
	})
}

// awaitDownloadBegin waits for the download to begin if a link that asks for one was clicked: Chromium does not
// report that request on the tab's CDP session.
func (s *observation) awaitDownloadBegin(ctx context.Context, deadline time.Time) {
	t := s.tab
	if !s.seen.Saves {
		return
	}
	s.seen.Saves = false
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	t.until(limited, func() bool {
		return len(t.c.effects.Downloads)+len(t.c.effects.DownloadsDenied) > 0 || t.nav.commits != s.commits || t.nav.requested != s.requested
	})
}

// quiet asks the script to wait until the DOM is quiet, and takes what it saw.
func (s *observation) quiet(ctx context.Context) error {
	t := s.tab
	d, err := t.frames.main.document()
	if err != nil {
		return err
	}
	seen, ok := s.takeSettleResult()
	if !ok || seen.doc != d.doc {
		before := seen
		for _, in := range t.frameDocs() {
			if in.doc == before.doc {
				continue
			}
			within, err := in.quiet(ctx, s.settling)
			if protocol.CodeOf(err) == protocol.StaleRef {
				continue // it was left; what comes of that the tab tells
			} else if err != nil {
				return err
			}
			within.add(before)
			before = within
		}
		h := s.settling
		h.late = h.late && before.doc == 0
		s.polled = time.Now()
		if seen, err = d.quiet(ctx, h); err != nil {
			return err
		}
		seen.add(before)
		if before.Focused != 0 {
			// The document above says only that the focus is in the frame.
			seen.Focused, seen.focusedIn = before.Focused, before.focusedIn
		}
	}
	seen.add(s.seen)
	s.seen = seen
	t.c.mu.Lock()
	t.nav.setTitleAndURL(seen.Title, seen.URL)
	t.c.mu.Unlock()
	return nil
}

// quiet waits until the document is quiet.
func (d *document) quiet(ctx context.Context, h settling) (settled, error) {
	late := 0
	if !h.unshown && h.late {
		late = int(hoverWait.Milliseconds())
	}
	seen, err := evaluate(ctx, d, script.Settle, script.SettleArgs{Shown: !h.unshown, Late: late})
	return settled{Settled: seen, doc: d.doc, focusedIn: d.doc}, err
}

// add takes what was seen before, or in another frame, into s.
func (s *settled) add(o settled) {
	s.Changed, s.Saves = s.Changed || o.Changed, s.Saves || o.Saves
	s.Announced = append(o.Announced, s.Announced...)
	if s.Focused == 0 {
		s.Focused, s.focusedIn = o.Focused, o.focusedIn
	}
}

// setSettleResult stores the settle result of a frame's document that came back with the input itself.
func (t *tab) setSettleResult(f *frame, s script.Settled) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	seen := settled{Settled: s, doc: f.doc, focusedIn: f.doc}
	if t.c.effects != nil {
		t.c.effects.settled = &seen
	}
}

// takeSettleResult returns, once, what setSettleResult took.
func (s *observation) takeSettleResult() (settled, bool) {
	c := s.tab.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.effects == nil || c.effects.settled == nil {
		return settled{}, false
	}
	seen := *c.effects.settled
	c.effects.settled = nil
	return seen, true
}

// awaitRequests waits for the requests that were made since the action began; waited says that there were some, so
// that the page may have changed again. One that was answered while the page was polled counts, once: what the page
// does with the answer may come right behind that poll.
func (s *observation) awaitRequests(ctx context.Context, deadline time.Time) (waited bool, err error) {
	t := s.tab
	pending := func() bool { return t.requests.InFlightSince(s.at) }
	t.c.mu.Lock()
	waited = pending()
	since, ended := t.requests.LastEnded()
	t.c.mu.Unlock()
	just := !s.again && since.After(s.at) && ended.After(s.polled)
	if !waited && !just || time.Now().After(deadline) {
		return false, nil
	}
	s.asked = true
	if !waited {
		s.again = true
		return true, nil
	}
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	err = t.until(limited, func() bool { return !pending() || t.nav.commits != s.commits })
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return true, nil
	}
	return true, err
}
