package browser

import (
	"context"
	"strings"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/protocol"
)

// History goes back (-1) or forward (+1) in the selected tab's history, or
// loads the page again (0). A step may be one of the page's frames alone, where
// that is what had gone on. Errors: navigation_failed with Chromium's reason or
// no_history, timeout.
func (c *Context) History(ctx context.Context, delta int) (protocol.Effect, error) {
	return c.navigate(ctx, protocol.WaitAuto, func(ctx context.Context, t *tab) error {
		s := t.nav.begun()
		step := &historyStep{legs: map[cdproto.LoaderID]*leg{}}
		t.c.mu.Lock()
		t.nav.step, t.nav.going = step, t.nav.url
		t.c.mu.Unlock()
		defer func() {
			t.c.mu.Lock()
			t.nav.step = nil
			t.c.mu.Unlock()
		}()
		if delta == 0 {
			if err := t.wait(ctx, t.cdp.Send(page.Reload.Method, page.ReloadParams{}), nil); err != nil {
				return err
			}
			return t.nav.arrived(ctx, s, step)
		}
		var history struct {
			CurrentIndex int `json:"currentIndex"`
			Entries      []struct {
				ID  int64  `json:"id"`
				URL string `json:"url"`
			} `json:"entries"`
		}
		if err := t.wait(ctx, t.cdp.Send("Page.getNavigationHistory", cdproto.Empty{}), &history); err != nil {
			return err
		}
		to := history.CurrentIndex + delta
		if to < 0 || to >= len(history.Entries) || (delta < 0 && history.Entries[to].URL == blank && to == 0) {
			word := map[int]string{-1: "back", 1: "forward"}[delta]
			return protocol.Errorf(protocol.NavigationFailed, "there is no page to go %s to", word).With("reason", "no_history").Then("open a URL")
		}
		t.c.mu.Lock()
		t.nav.going = history.Entries[to].URL
		t.c.mu.Unlock()
		p := t.cdp.Send(page.NavigateToHistoryEntry.Method, page.NavigateToHistoryEntryParams{EntryID: history.Entries[to].ID})
		if err := t.wait(ctx, p, nil); err != nil {
			return err
		}
		return t.nav.arrived(ctx, s, step)
	})
}

// historyStep is what has become of a step in the history, or of a reload (HTML,
// apply the history step). Chromium answers the command before any of it, and the
// step moves the frames that it is about: not always the main one. Guarded by the
// context's mu.
type historyStep struct {
	legs map[cdproto.LoaderID]*leg
}

// leg is what one frame has to do with a step.
type leg struct {
	frame  cdproto.FrameID
	done   bool
	failed string // net::ERR_…
}

// includes says whether navigations of that kind (Page.frameStartedNavigating) may
// be the step's.
func (h *historyStep) includes(kind string) bool {
	return h != nil && (strings.HasPrefix(kind, "history") || strings.HasPrefix(kind, "reload"))
}

// done takes it that a navigation of the frame is committed: the loader's, or,
// within a document, whichever is under way.
func (h *historyStep) done(frame cdproto.FrameID, loader cdproto.LoaderID) {
	if h == nil {
		return
	}
	for id, l := range h.legs {
		if l.frame == frame && (loader == "" || id == loader) {
			l.done = true
		}
	}
}

// failed takes it that a navigation came to nothing, or to a page that says why.
func (h *historyStep) failed(loader cdproto.LoaderID, reason string) {
	if h != nil && h.legs[loader] != nil {
		h.legs[loader].failed = reason
	}
}

// over says that nothing of the step is under way any more, and why it failed,
// where it did. stopped says that the main frame is loading nothing.
func (h *historyStep) over(main cdproto.FrameID, stopped bool) (over bool, failed string) {
	for _, l := range h.legs {
		switch {
		case l.failed != "" && (l.done || l.frame != main || stopped):
			failed = l.failed
		case !l.done:
			return false, ""
		}
	}
	return len(h.legs) > 0, failed
}

// begun is where the tab is before it navigates.
func (n *navigation) begun() observation {
	n.t.c.mu.Lock()
	defer n.t.c.mu.Unlock()
	return observation{tab: n.t, at: time.Now(), navigationCounts: n.navigationCounts}
}

// arrived waits until a step that was asked for by CDP is committed, in this
// document, in another or in a frame, or has failed.
func (n *navigation) arrived(ctx context.Context, s observation, step *historyStep) error {
	var failed string
	err := n.t.until(ctx, func() bool {
		over := false
		over, failed = step.over(n.t.frames.main.id, n.stopped != s.stopped)
		return over || n.commits != s.commits || n.within != s.within
	})
	switch {
	case err != nil:
		return err
	case failed == aborted:
		// No server says so: it answered without a document, or the page went on
		// in another way.
		return protocol.Errorf(protocol.NavigationFailed, "the page did not load: %s", failed).With("reason", failed).
			Then("the address answered without a page, or this page does not let itself be left: open a URL")
	case failed != "":
		n.awaitErrorPage(ctx, s.commits)
		return n.notLoaded(failed, s.at)
	}
	return nil
}
