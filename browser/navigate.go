package browser

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// cookieWait is how long an answer may wait for the cookies to be kept: a millisecond where Chromium has nothing else to do.
const cookieWait = time.Second

// downloadWait is how long the event of a download may take to come.
const downloadWait = 500 * time.Millisecond

// Open loads a URL in the selected tab (Page.navigate) and waits as wait says.
// The URL has been decided on by the policy: only http, https and about:blank
// come this far. Errors: navigation_failed with Chromium's reason, or
// policy_denied, of the URL or of the one (details.url) to which its page goes on
// at once; timeout, dialog_open.
func (c *Context) Open(ctx context.Context, url, wait string) (protocol.Effect, error) {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") && url != targets.Blank {
		// file: and chrome: are readable, and chrome://settings ends the browser.
		return protocol.Effect{}, protocol.Errorf(protocol.PolicyDenied, "only http, https and about:blank are opened").With("reason", "scheme")
	}
	var at *tab
	commits, loader := 0, cdproto.LoaderID("")
	once := func(ctx context.Context, t *tab) error {
		begun := time.Now()
		c.mu.Lock()
		from := t.nav.url
		at, commits, t.nav.replaced, t.nav.opening, t.nav.requestURL = t, t.nav.commits, false, opening{url: withoutFragment(url)}, url
		c.mu.Unlock()
		var got struct {
			LoaderID   cdproto.LoaderID `json:"loaderId"`
			ErrorText  string           `json:"errorText"`
			IsDownload bool             `json:"isDownload"`
		}
		c.Leaves(t.cdp, from)
		if err := t.wait(ctx, t.cdp.Send(page.Navigate.Method, page.NavigateParams{URL: url}), &got); err != nil {
			return err
		}
		loader = got.LoaderID
		switch {
		case got.IsDownload:
			// Its event belongs to this command's effect.
			soon, cancel := context.WithTimeout(ctx, downloadWait)
			defer cancel()
			t.until(soon, func() bool { return t.nav.failed == "download" })
			if c.downloads.Allowed() {
				return nil // effect.downloads says it
			}
			return failure.IsDownload()
		case got.ErrorText != "":
			if got.ErrorText != aborted {
				t.nav.awaitErrorPage(ctx, commits)
			}
			return t.nav.navigationError(got.ErrorText, begun)
		case got.LoaderID == "":
			// Within the document nothing is committed; otherwise the page came first.
			c.mu.Lock()
			t.nav.replaced = t.nav.replaced || withoutFragment(t.nav.url) != withoutFragment(url)
			c.mu.Unlock()
			return nil
		}
		return t.until(ctx, func() bool {
			return t.nav.loader == got.LoaderID || t.nav.responses[got.LoaderID].status == 204 || t.nav.replaced && t.nav.commits != commits
		})
	}
	load := func(ctx context.Context, t *tab) error {
		err := once(ctx, t)
		pdf, unread := t.nav.gotPDF()
		if pdf {
			err = t.openPDF(ctx, func() error { return once(ctx, t) })
			_, unread = t.nav.gotPDF()
		}
		return cmp.Or(unread, err)
	}
	// The document that is left may still do harm. It may have asked to load
	// itself again just before, and Chromium then loads it in place of the new
	// one: its scripts are disabled, and it is left first. Or its process dies, and the tab's
	// replacement takes the URL.
	for try := 0; ; try++ {
		at, loader = nil, ""
		e, err := c.navigate(ctx, wait, load)
		c.mu.Lock()
		replaced := err == nil && at != nil && at.nav.replaced
		died := protocol.CodeOf(err) == protocol.PageCrashed && (loader == "" || at.nav.loader != loader)
		c.mu.Unlock()
		switch {
		case !replaced && !died, died && try == maxOpens:
			return e, err
		case try == maxOpens:
			return e, failure.PulledBack()
		case replaced:
			if err := at.nav.disableScripts(ctx); err != nil {
				return e, err
			}
		}
	}
}

// errorPageWait is how long Chromium's page for a navigation that failed may take to come: 0.1 s, in a process of its own.
const errorPageWait = time.Second

// awaitErrorPage waits for that page. A command that came before it would find
// the tab between two processes, and be told that there is no page.
func (n *navigation) awaitErrorPage(ctx context.Context, commits int) {
	soon, cancel := context.WithTimeout(ctx, errorPageWait)
	defer cancel()
	n.t.until(soon, func() bool { return n.commits != commits && n.hasContent() })
}

// maxOpens is how often a URL is opened once more where the document before
// prevented it.
const maxOpens = 3

// disableScripts stops a document that navigates again whenever another one is opened in
// its tab. Its scripts are disabled (Emulation.setScriptExecutionDisabled). Chromium
// answers when the last of them has returned: after that the document cannot navigate
// any more.
func (n *navigation) disableScripts(ctx context.Context) error {
	t := n.t
	script := func(off bool) *cdp.Pending {
		return t.cdp.Send(emulation.SetScriptExecutionDisabled.Method, emulation.SetScriptExecutionDisabledParams{Value: off})
	}
	t.cdp.Send("Page.stopLoading", struct{}{}) // a navigation under way holds back the answers to everything else
	err := t.wait(ctx, script(true), nil)
	if err == nil {
		err = t.wait(ctx, t.cdp.Send(page.Navigate.Method, page.NavigateParams{URL: "about:blank"}), nil)
	}
	if err == nil {
		err = t.until(ctx, func() bool { return n.url == targets.Blank })
	}
	return errors.Join(err, t.wait(ctx, script(false), nil))
}

// navigate runs a navigation and waits for its document.
func (c *Context) navigate(ctx context.Context, wait string, do func(ctx context.Context, t *tab) error) (protocol.Effect, error) {
	t, err := c.ready(ctx, "")
	if err != nil {
		return protocol.Effect{}, err
	}
	s := t.begin(settling{})
	doing, cancel := context.WithCancelCause(ctx)
	stop := t.dialogs.onOpen(func() { cancel(errDialog) })
	unheld := t.recovery.TerminateScripts()
	phase := waitCommit
	err = do(doing, t)
	unheld()
	if err == nil {
		phase = wait
		err = t.nav.awaitDocument(doing, wait)
	}
	if err == nil {
		err = s.loadError(doing) // what came may have gone on to a page that does not load
	}
	stop()
	if err != nil && context.Cause(doing) == errDialog {
		err = nil
	}
	cancel(nil)
	e := s.end(snapshot.NewRefs(), snapshot.Key{})
	if err != nil {
		if ctx.Err() != nil {
			t.cdp.Send("Page.stopLoading", struct{}{})
		}
		t.recovery.Notice(ctx, err)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && protocol.CodeOf(err) == protocol.Internal {
			err = t.nav.timeoutError(phase) // and not, say, page_crashed
		}
		return e, err
	}
	if d, err := t.frames.main.document(); err == nil {
		d.reported.Ahead(t.life, d.listening(), t.activity.Load())
	}
	// A page that was opened is what a lost browser is restored to.
	select {
	case <-c.cookies.jar.Keep():
	case <-time.After(cookieWait):
	}
	return e, nil
}

// waitCommit is what a navigation is waited for first: a document. The modes of open say how far it must be.
const waitCommit = "commit"

// timeoutError returns the error of a navigation that timed out: what was waited for, and which page is shown instead.
func (n *navigation) timeoutError(phase string) error {
	n.t.c.mu.Lock()
	defer n.t.c.mu.Unlock()
	waited, what := map[string]any{"state": phase, "url": n.url}, n.url+" to be loaded"
	if phase == waitCommit {
		waited["url"], what = n.requestURL, n.requestURL+" to answer with a page, or for this page to let itself be left"
	}
	seen := map[string]any{"url": n.url, "ready": n.ready}
	if open := n.t.requests.InFlight(); open > 0 {
		seen["requests"] = open
	}
	return protocol.Errorf(protocol.Timeout, "timed out waiting for %s", what).With("waited_for", waited).With("seen", seen)
}
