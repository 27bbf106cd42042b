package browser

import (
	"context"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/history"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/protocol"
)

// History goes back (-1) or forward (+1) in the selected tab's history, or
// loads the page again (0). A step may be one of the page's frames alone, where
// that is what had gone on. Errors: navigation_failed with Chromium's reason or
// no_history, timeout.
func (c *Context) History(ctx context.Context, delta int) (protocol.Effect, error) {
	return c.navigate(ctx, protocol.WaitAuto, func(ctx context.Context, t *tab) error {
		s := t.nav.startObservation()
		step := history.NewStep()
		t.c.mu.Lock()
		t.nav.step, t.nav.requestURL = step, t.nav.url
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
			return t.nav.awaitHistoryStep(ctx, s, step)
		}
		var entries struct {
			CurrentIndex int `json:"currentIndex"`
			Entries      []struct {
				ID  int64  `json:"id"`
				URL string `json:"url"`
			} `json:"entries"`
		}
		if err := t.wait(ctx, t.cdp.Send("Page.getNavigationHistory", cdproto.Empty{}), &entries); err != nil {
			return err
		}
		to := entries.CurrentIndex + delta
		if to < 0 || to >= len(entries.Entries) || (delta < 0 && entries.Entries[to].URL == targets.Blank && to == 0) {
			word := map[int]string{-1: "back", 1: "forward"}[delta]
			return protocol.Errorf(protocol.NavigationFailed, "there is no page to go %s to", word).With("reason", "no_history").Then("open a URL")
		}
		t.c.mu.Lock()
		t.nav.requestURL = entries.Entries[to].URL
		t.c.mu.Unlock()
		p := t.cdp.Send(page.NavigateToHistoryEntry.Method, page.NavigateToHistoryEntryParams{EntryID: entries.Entries[to].ID})
		if err := t.wait(ctx, p, nil); err != nil {
			return err
		}
		return t.nav.awaitHistoryStep(ctx, s, step)
	})
}

// startObservation returns the state of the tab before it navigates.
func (n *navigation) startObservation() observation {
	n.t.c.mu.Lock()
	defer n.t.c.mu.Unlock()
	return observation{tab: n.t, at: time.Now(), navigationCounts: n.navigationCounts}
}

// awaitHistoryStep waits until a history step that CDP was asked for has failed or is
// committed: in the same document, in another one or in a frame.
func (n *navigation) awaitHistoryStep(ctx context.Context, s observation, step *history.Step) error {
	var failed string
	err := n.t.until(ctx, func() bool {
		over := false
		over, failed = step.Over(n.t.frames.main.id, n.stopped != s.stopped)
		return over || n.commits != s.commits || n.sameDocument != s.sameDocument
	})
	switch {
	case err != nil:
		return err
	case failed == aborted:
		// No server says so: it answered without a document, or the page went on
		// in another way.
		return failure.StepAborted(failed)
	case failed != "":
		n.awaitErrorPage(ctx, s.commits)
		return n.navigationError(failed, s.at)
	}
	return nil
}
