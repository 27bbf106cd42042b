package browser

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/protocol"
)

// crash takes it that the page's renderer has died (Inspector.targetCrashed).
// A crashed page answers nothing: the tab is closed, and where it was the
// selected one another takes its place, at the same URL.
func (t *tab) crash(s *Session, _ struct{}) {
	if s.ID() != t.cdp.ID() {
		// An out-of-process frame: the page itself lives on without it.
		for _, f := range t.frames {
			if f.cdp.ID() == s.ID() {
				f.leave()
			}
		}
		t.wake()
		return
	}
	t.die(protocol.Errorf(protocol.PageCrashed, "the page's process died, and %s was replaced", t.name))
}

// die ends a tab that can no longer be used, and puts a new one in its place
// where it was the selected one. The caller holds mu.
func (t *tab) die(err *protocol.Error) {
	c := t.c
	if t.life.Err() != nil {
		return
	}
	url := t.url
	t.end(err.With("url", url))
	c.tabs = slices.DeleteFunc(c.tabs, func(o *tab) bool { return o == t })
	if c.selected == t {
		c.selected = nil
		c.replacing = make(chan struct{})
		go c.replace(url)
	}
	c.emit(protocol.EventPageCrashed, map[string]any{"tab": t.name, "url": url})
	c.host.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: t.target})
}

// replace opens a tab in the place of a selected one that died, and loads its
// URL again. Whoever needs the selected tab waits for it.
func (c *Context) replace(url string) {
	ctx, cancel := context.WithTimeout(c.life, 20*time.Second)
	defer cancel()
	t, err := c.newTab(ctx)
	if err != nil && c.life.Err() == nil {
		c.host.log.Warn("replacing a tab", "error", err)
	}
	if err == nil && url != "" && url != "about:blank" {
		t.cdp.Call(ctx, page.Navigate.Method, page.NavigateParams{URL: url}, nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t != nil {
		c.selected = t
	}
	close(c.replacing)
	c.replacing = nil
}

// notice looks at an error with which a call to the page ended: where the
// command's time was over, the page may be held by a script.
func (t *tab) notice(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	t.c.mu.Lock()
	t.suspect = true
	t.c.mu.Unlock()
}

// How long a page that is held by a script is waited for.
const (
	pulseWait = 300 * time.Millisecond
	freeWait  = 2 * time.Second
)

// free makes sure that the page answers: a script that holds it is ended
// (Runtime.terminateExecution), and where that does not help the tab is
// replaced.
func (t *tab) free(ctx context.Context) error {
	pulse := func(limit time.Duration) bool {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return t.wait(limited, t.cdp.Send("Runtime.evaluate", map[string]any{"expression": "1", "returnByValue": true}), nil) == nil
	}
	// A navigation that is under way holds back the answers to everything else.
	t.cdp.Send("Page.stopLoading", struct{}{})
	ok := pulse(pulseWait)
	if !ok {
		t.cdp.Send("Runtime.terminateExecution", struct{}{})
		ok = pulse(freeWait)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if t.life.Err() != nil {
		return context.Cause(t.life)
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.suspect = false
	if ok {
		return nil
	}
	t.die(protocol.Errorf(protocol.PageCrashed, "the page did not answer any more, and %s was replaced", t.name))
	return context.Cause(t.life)
}
