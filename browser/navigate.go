package browser

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// cookieWait is how long an answer may wait for the cookies to be kept: they
// take a millisecond where Chromium has nothing else to do.
const cookieWait = time.Second

// downloadWait is how long the event of a download may take to come.
const downloadWait = 500 * time.Millisecond

// Open loads a URL in the selected tab (Page.navigate) and waits as wait says.
// The URL has been decided on by the policy: only http, https and about:blank
// come this far. Errors: navigation_failed with Chromium's reason, timeout,
// dialog_open.
func (c *Context) Open(ctx context.Context, url, wait string) (protocol.Effect, error) {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") && url != "about:blank" {
		// file: and chrome: are readable, and chrome://settings ends the browser.
		return protocol.Effect{}, protocol.Errorf(protocol.PolicyDenied, "only http, https and about:blank are opened").With("reason", "scheme")
	}
	var at *tab
	commits, loader := 0, cdp.LoaderID("")
	load := func(ctx context.Context, t *tab) error {
		begun := time.Now()
		c.mu.Lock()
		at, commits, t.pulled, t.opening = t, t.commits, false, opening{url: withoutFragment(url)}
		c.mu.Unlock()
		var got struct {
			LoaderID   cdp.LoaderID `json:"loaderId"`
			ErrorText  string       `json:"errorText"`
			IsDownload bool         `json:"isDownload"`
		}
		if err := t.wait(ctx, t.cdp.Send(page.Navigate.Method, page.NavigateParams{URL: url}), &got); err != nil {
			return err
		}
		loader = got.LoaderID
		switch {
		case got.IsDownload:
			// Its event belongs to this command's effect.
			soon, cancel := context.WithTimeout(ctx, downloadWait)
			defer cancel()
			t.until(soon, func() bool { return t.failed == "download" })
			if c.o.Downloads {
				return nil // effect.downloads says it
			}
			return protocol.Errorf(protocol.NavigationFailed, "the address answered with a download, not with a page").With("reason", "download").
				Then("open the session with downloads: true to let it keep files")
		case got.ErrorText != "":
			return t.notLoaded(got.ErrorText, begun)
		case got.LoaderID == "":
			// Within the document nothing is committed; otherwise the page came first.
			c.mu.Lock()
			t.pulled = t.pulled || withoutFragment(t.url) != withoutFragment(url)
			c.mu.Unlock()
			return nil
		}
		return t.until(ctx, func() bool {
			return t.loader == got.LoaderID || t.statuses[got.LoaderID] == 204 || t.pulled && t.commits != commits
		})
	}
	// The document that is left may still do harm. It may have asked to load
	// itself again just before, and Chromium then loads it in place of the new
	// one: it is silenced and left first. Or its process dies, and the tab's
	// replacement takes the URL.
	for try := 0; ; try++ {
		at, loader = nil, ""
		e, err := c.navigate(ctx, wait, load)
		c.mu.Lock()
		pulled := err == nil && at != nil && at.pulled
		died := protocol.CodeOf(err) == protocol.PageCrashed && (loader == "" || at.loader != loader)
		c.mu.Unlock()
		switch {
		case !pulled && !died, died && try == maxOpens:
			return e, err
		case try == maxOpens:
			return e, protocol.Errorf(protocol.NavigationFailed, "the page before loads itself again and again, in place of this one").
				With("reason", "pulled_back").Then("close the tab with tab_close, and open the URL in another")
		case pulled:
			if err := at.silence(ctx); err != nil {
				return e, err
			}
		}
	}
}

// maxOpens is how often a URL is opened once more where the document before
// prevented it.
const maxOpens = 3

// silence leaves a document that does not let go of its tab: its scripts are
// switched off (Emulation.setScriptExecutionDisabled), which the page answers
// when the last of them is over, and then it has nothing left to load itself
// with.
func (t *tab) silence(ctx context.Context) error {
	script := func(off bool) *Pending {
		return t.cdp.Send(emulation.SetScriptExecutionDisabled.Method, emulation.SetScriptExecutionDisabledParams{Value: off})
	}
	t.cdp.Send("Page.stopLoading", struct{}{}) // a navigation under way holds back the answers to everything else
	err := t.wait(ctx, script(true), nil)
	if err == nil {
		err = t.wait(ctx, t.cdp.Send(page.Navigate.Method, page.NavigateParams{URL: "about:blank"}), nil)
	}
	if err == nil {
		err = t.until(ctx, func() bool { return t.url == "about:blank" })
	}
	return errors.Join(err, t.wait(ctx, script(false), nil))
}

func navigationFailed(reason string) error {
	e := protocol.Errorf(protocol.NavigationFailed, "the page did not load: %s", reason).With("reason", reason)
	switch {
	case strings.Contains(reason, "NAME_NOT_RESOLVED"):
		e.Then("check the host name")
	case strings.Contains(reason, "CERT"):
		e.Then("the site's certificate is not valid: nothing on this side helps")
	case strings.Contains(reason, "REFUSED"), strings.Contains(reason, "TIMED_OUT"), strings.Contains(reason, "UNREACHABLE"):
		e.Then("check that the server runs and can be reached, then try again")
	}
	return e
}

// History goes back (-1) or forward (+1) in the selected tab's history, or
// loads the page again (0).
func (c *Context) History(ctx context.Context, delta int) (protocol.Effect, error) {
	return c.navigate(ctx, protocol.WaitAuto, func(ctx context.Context, t *tab) error {
		before := t.begun()
		if delta == 0 {
			if err := t.wait(ctx, t.cdp.Send(page.Reload.Method, page.ReloadParams{}), nil); err != nil {
				return err
			}
			return t.arrived(ctx, before)
		}
		var history struct {
			CurrentIndex int `json:"currentIndex"`
			Entries      []struct {
				ID  int64  `json:"id"`
				URL string `json:"url"`
			} `json:"entries"`
		}
		if err := t.wait(ctx, t.cdp.Send("Page.getNavigationHistory", cdp.Empty{}), &history); err != nil {
			return err
		}
		to := history.CurrentIndex + delta
		if to < 0 || to >= len(history.Entries) || (delta < 0 && history.Entries[to].URL == "about:blank" && to == 0) {
			word := map[int]string{-1: "back", 1: "forward"}[delta]
			return protocol.Errorf(protocol.NavigationFailed, "there is no page to go %s to", word).With("reason", "no_history").Then("open a URL")
		}
		p := t.cdp.Send(page.NavigateToHistoryEntry.Method, page.NavigateToHistoryEntryParams{EntryID: history.Entries[to].ID})
		if err := t.wait(ctx, p, nil); err != nil {
			return err
		}
		return t.arrived(ctx, before)
	})
}

// begun is where the tab is before it navigates.
func (t *tab) begun() start {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return start{at: time.Now(), commits: t.commits, within: t.within, stopped: t.stopped, requested: t.requested}
}

// arrived waits until a navigation that was asked for by CDP is committed, in
// this document or another.
func (t *tab) arrived(ctx context.Context, s start) error {
	var failed string
	err := t.until(ctx, func() bool {
		if t.commits == s.commits && t.stopped != s.stopped && t.within == s.within {
			failed = t.failed
			return t.failed != ""
		}
		return t.commits != s.commits || t.within != s.within
	})
	if err == nil && failed != "" {
		return t.notLoaded(failed, s.at)
	}
	return err
}

// navigate runs a navigation and waits for its document.
func (c *Context) navigate(ctx context.Context, wait string, do func(ctx context.Context, t *tab) error) (protocol.Effect, error) {
	t, err := c.ready(ctx)
	if err != nil {
		return protocol.Effect{}, err
	}
	s := t.begin()
	doing, cancel := context.WithCancelCause(ctx)
	stop := t.onDialog(func() { cancel(errDialog) })
	unheld := t.unhold()
	err = do(doing, t)
	unheld()
	if err == nil {
		err = t.awaitDocument(doing, wait)
	}
	stop()
	if err != nil && context.Cause(doing) == errDialog {
		err = nil
	}
	cancel(nil)
	e := c.effect(t, snapshot.NewRefs(), s, snapshot.Key{})
	if err != nil {
		if ctx.Err() != nil {
			t.cdp.Send("Page.stopLoading", struct{}{})
		}
		t.notice(ctx, err)
		return e, err
	}
	// A page that was opened is what a lost browser is restored to.
	select {
	case <-c.keepCookies():
	case <-time.After(cookieWait):
	}
	return e, nil
}
