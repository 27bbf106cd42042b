package browser

import (
	"context"
	"errors"
	"time"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// How long an action waits for what it set off.
const (
	// navigationWait is how long a navigation that an action asked for may take
	// to be committed, where the command's own time allows.
	navigationWait = 20 * time.Second
	// contentWait is how long a document may take to have its content once it is
	// committed: one that never ends is shown as far as it came.
	contentWait = 8 * time.Second
	// requestsWait is how long the requests of an action may keep it waiting.
	requestsWait = 2 * time.Second
	// hoverWait is how long what a mouse opens by coming may take to begin, where
	// somebody looks: Ant Design waits for 0.15 s, jQuery UI's menus for 0.3.
	hoverWait = 400 * time.Millisecond
	// afterContent is how long a new document may take to become quiet once its
	// content is there.
	afterContent = 3 * time.Second
)

// settled is what the script saw of the page from the beginning of an action
// until the page was quiet.
type settled struct {
	script.Settled
	doc       int // the document that it was seen in
	focusedIn int // and the one that Focused is in
}

// settle waits until the page has settled after an action: a navigation that
// was asked for is committed and its document is there; requests that the
// action made are answered, and the DOM is quiet. All of it is bounded.
func (t *tab) settle(ctx context.Context, s *observation) error {
	deadline := time.Now().Add(requestsWait)
	for {
		if navigated, err := t.awaitCommit(ctx, s); err != nil || navigated {
			if err != nil {
				return err
			}
			return t.awaitDocument(ctx, protocol.WaitAuto)
		}
		err := t.quiet(ctx, s)
		if protocol.CodeOf(err) == protocol.StaleRef {
			// The document was left while it was asked: go round and see where to.
			if err := t.until(ctx, func() bool { return t.commits != s.commits || t.main.doc != 0 }); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		t.awaitSaved(ctx, s, deadline)
		if t.navigating(s) {
			continue
		}
		waiting, err := t.awaitRequests(ctx, s, deadline)
		if err != nil || !waiting {
			return err
		}
	}
}

// navigating says whether the action asked for a navigation that has not come
// to anything yet.
func (t *tab) navigating(s *observation) bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return t.commits != s.commits || t.requested != s.requested && t.stopped == s.stopped && t.failed == ""
}

// awaitCommit waits, where the action asked for a navigation, until that is
// committed, has failed, or turned out to be none (a download, an answer 204).
func (t *tab) awaitCommit(ctx context.Context, s *observation) (navigated bool, err error) {
	if !t.navigating(s) {
		t.awaitDownload(ctx, s)
		return false, nil
	}
	limited, cancel := context.WithTimeout(ctx, navigationWait)
	defer cancel()
	err = t.until(limited, func() bool {
		return t.commits != s.commits || t.failed != "" || t.stopped != s.stopped || t.requested == s.requested
	})
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	if err == nil {
		t.awaitDownload(ctx, s)
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	navigated = t.commits != s.commits
	if !navigated {
		s.requested = t.requested
	}
	return navigated, err
}

// lateDownload is how long after a navigation that came to nothing Chromium may
// take to say that it was a download: it says so on another session.
const lateDownload = 300 * time.Millisecond

// aborted is why a navigation failed that became a download, or was given up
// for another reason.
const aborted = "net::ERR_ABORTED"

// awaitDownload waits, where the navigation came to nothing and nobody said
// why, a moment for the event of a download.
func (t *tab) awaitDownload(ctx context.Context, s *observation) {
	t.c.mu.Lock()
	asked := t.requested != s.requested && t.commits == s.commits && t.within == s.within &&
		(t.failed == aborted || t.failed == "" && t.stopped != s.stopped)
	if asked {
		s.requested = t.requested
	}
	t.c.mu.Unlock()
	if !asked {
		return
	}
	soon, cancel := context.WithTimeout(ctx, lateDownload)
	defer cancel()
	t.until(soon, func() bool {
		return t.failed == "download" || t.commits != s.commits || t.requested != s.requested
	})
}

// awaitSaved waits, where a link was clicked that asks for a download, until that
// begins: Chromium asks the server for it without a word on the tab's session.
func (t *tab) awaitSaved(ctx context.Context, s *observation, deadline time.Time) {
	if !s.seen.Saves {
		return
	}
	s.seen.Saves = false
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	t.until(limited, func() bool {
		return len(t.c.effects.downloads) > 0 || t.commits != s.commits || t.requested != s.requested
	})
}

// quiet asks the script to wait until the DOM is quiet, and takes what it saw.
func (t *tab) quiet(ctx context.Context, s *observation) error {
	d, err := t.main.document()
	if err != nil {
		return err
	}
	seen, ok := t.settledAlready()
	if !ok || seen.doc != d.doc {
		before := seen
		for _, in := range t.actedIn() {
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
		s.looked = time.Now()
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
	t.title, t.url = seen.Title, t.told(seen.URL)
	t.c.mu.Unlock()
	return nil
}

// quiet is that in one document.
func (d *document) quiet(ctx context.Context, h settling) (settled, error) {
	shown, late := !h.noSnapshot, 0
	if shown && h.late {
		late = int(hoverWait.Milliseconds())
	}
	seen, err := evaluate(ctx, d, script.Settle, script.SettleArgs{Max: 500, Frame: shown, Late: late})
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

// settledWith takes what the script saw of a frame's document where it came
// back with the input itself, which spares a round trip.
func (t *tab) settledWith(f *frame, s script.Settled) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	seen := settled{Settled: s, doc: f.doc, focusedIn: f.doc}
	if t.c.effects != nil {
		t.c.effects.settled = &seen
	}
}

// settledAlready returns, once, what settledWith took.
func (t *tab) settledAlready() (settled, bool) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.effects == nil || t.c.effects.settled == nil {
		return settled{}, false
	}
	s := *t.c.effects.settled
	t.c.effects.settled = nil
	return s, true
}

// awaitRequests waits for the requests that were made since the action began;
// waited says that there were some, so that the page may have changed again. One
// that was answered while the page was looked at counts, once: what the page does
// with the answer may come right behind that look.
func (t *tab) awaitRequests(ctx context.Context, s *observation, deadline time.Time) (waited bool, err error) {
	pending := func() bool {
		for _, r := range t.inflight {
			if r.since.After(s.at) {
				return true
			}
		}
		return false
	}
	t.c.mu.Lock()
	waited = pending()
	just := !s.again && t.answered.since.After(s.at) && t.answered.ended.After(s.looked)
	t.c.mu.Unlock()
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
	err = t.until(limited, func() bool { return !pending() || t.commits != s.commits })
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return true, nil
	}
	return true, err
}

// awaitDocument waits until a document that was committed is as far as mode
// says, and its title is known.
func (t *tab) awaitDocument(ctx context.Context, mode string) error {
	var err error
	switch mode {
	case protocol.WaitNone:
		return nil
	case protocol.WaitDOMContentLoaded:
		err = t.until(ctx, func() bool { return t.ready != "loading" && t.main.doc != 0 })
	case protocol.WaitLoad:
		err = t.until(ctx, func() bool { return t.ready == "complete" && t.main.doc != 0 })
	case protocol.WaitNetworkIdle:
		err = t.until(ctx, func() bool { return t.ready == "complete" && t.main.doc != 0 })
		if err == nil {
			err = t.idle(ctx, 500*time.Millisecond)
		}
	default:
		return t.awaitContent(ctx)
	}
	if err == nil {
		t.awaitTitle(ctx)
	}
	return err
}

// awaitContent waits until a document that was committed has its content and is
// quiet.
func (t *tab) awaitContent(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, contentWait)
	defer cancel()
	if err := t.until(limited, func() bool { return t.ready != "loading" && t.main.doc != 0 }); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return t.rest(ctx)
}

// rest waits until a document that has its content is quiet too: no request
// under way that the page waits for, no refresh due, and no change of its DOM for a moment.
// It gives up waiting after afterContent, without an error.
func (t *tab) rest(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, afterContent)
	defer cancel()
	for {
		err := t.until(limited, func() bool { return len(t.inflight) == 0 && !t.refreshing })
		var seen script.Settled
		if err == nil {
			seen, err = evaluate(limited, t.main, script.Settle, script.SettleArgs{Max: 500, Fresh: true})
		}
		if err == nil {
			t.c.mu.Lock()
			busy := len(t.inflight) > 0 || t.refreshing
			t.title, t.url = seen.Title, t.told(seen.URL)
			t.c.mu.Unlock()
			if busy {
				continue
			}
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case limited.Err() != nil:
			return nil
		case protocol.CodeOf(err) != protocol.StaleRef:
			return err
		}
		// The page went on to another document by itself: follow it.
		if err := t.until(limited, func() bool { return t.ready != "loading" && t.main.doc != 0 }); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return nil
		}
	}
}

// idle waits until no request has been under way for the given time.
func (t *tab) idle(ctx context.Context, for_ time.Duration) error {
	for {
		if err := t.until(ctx, func() bool { return len(t.inflight) == 0 }); err != nil {
			return err
		}
		quiet, cancel := context.WithTimeout(ctx, for_)
		err := t.until(quiet, func() bool { return len(t.inflight) > 0 })
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
