package browser

import (
	"context"
	"slices"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/browser/recovery"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/protocol"
)

// tabRecovery replaces a tab whose page has died or does not answer.
type tabRecovery struct {
	*recovery.Recovery
	url string // of the tab that died, whose place this one took; guarded by the context's mu
}

func newTabRecovery(t *tab) tabRecovery {
	return tabRecovery{Recovery: recovery.New(recovery.Page{Session: t.cdp, Life: t.life, Wait: t.wait, Replace: func() {
		t.c.mu.Lock()
		defer t.c.mu.Unlock()
		t.die(protocol.Errorf(protocol.PageCrashed, "the page did not answer any more, and %s was replaced", t.name).With("reason", "no_answer"), t.nav.url)
	}})}
}

// crashed closes the tab of a page whose renderer process has died: such a page answers
// nothing. If it was the selected tab, a new one replaces it and loads the same URL, unless
// the page died of the memory limit or has crashed there before. The new tab is empty then.
func (c *Context) crashed(id target.ID, reason, sentence string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tabs {
		if t.target != id {
			continue
		}
		url, what := t.nav.url, "was replaced"
		if reason == chromium.ReasonMemory || t.nav.url == t.recovery.url {
			url, what = "", "is empty now"
		}
		t.die(protocol.Errorf(protocol.PageCrashed, "the page's process died, since %s, and %s %s", sentence, t.name, what).With("reason", reason), url)
		return
	}
}

// crashWait is how much later than Inspector.targetCrashed, which does not say
// why, Target.targetCrashed may come, which does. It comes a millisecond later.
const crashWait = 300 * time.Millisecond

// rendererCrashed handles Inspector.targetCrashed: a renderer process of the page has died.
func rendererCrashed(t *tab, s *cdp.Session, _ struct{}) (changed bool) {
	if s.ID() != t.cdp.ID() {
		// An out-of-process frame: the page itself lives on without it.
		t.frames.forgetDocuments(s.ID())
		return true
	}
	time.AfterFunc(crashWait, func() { t.c.crashed(t.target, "crashed", "it crashed") })
	return false
}

// die ends a tab that can no longer be used, and puts a new one in its place
// where it was the selected one, which loads url. The caller holds mu.
func (t *tab) die(err *protocol.Error, url string) {
	c := t.c
	if t.life.Err() != nil {
		return
	}
	if t.nav.url == t.recovery.url {
		url = "" // it dies of what it shows: not a third time
	}
	c.tabs = slices.DeleteFunc(c.tabs, func(o *tab) bool { return o == t })
	if c.selected == t {
		c.selected = nil
		c.replacing = make(chan struct{})
		go c.replace(url, c.replacing)
	}
	fields := map[string]any{"tab": t.name, "url": t.nav.url}
	if reason, ok := err.Details["reason"]; ok {
		fields["reason"] = reason
	}
	if url == "" && t.nav.url != targets.Blank {
		fields["left_out"] = true // it is not loaded again
	}
	t.reportOpened(t.nav.url)
	c.emit(protocol.EventPageCrashed, fields)
	// Behind the event: what it says is known before a command is told.
	t.end(err.With("url", t.nav.url))
	c.host.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: t.target})
}

// replace opens a tab in the place of a selected one that died, and loads its
// URL again, if there is one, and closes done. Whoever needs the selected tab
// waits for it; where another was selected meanwhile, that one stays.
func (c *Context) replace(url string, done chan struct{}) {
	ctx, cancel := context.WithTimeout(c.life, 20*time.Second)
	defer cancel()
	t, err := c.newTab(ctx, url)
	if err != nil && c.life.Err() == nil {
		c.host.log.Warn("replacing a tab", "error", err)
	}
	if err == nil && url != "" && url != targets.Blank {
		c.mu.Lock()
		t.recovery.url = url
		c.mu.Unlock()
		t.cdp.Call(ctx, page.Navigate.Method, page.NavigateParams{URL: url}, nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	close(done)
	if c.replacing != done {
		return // the one that was selected meanwhile has died as well, and is replaced itself
	}
	c.replacing = nil
	if c.selected == nil && err == nil && t.life.Err() == nil {
		c.selected = t // one that has died as well is no better: the next command opens another
	}
}
