package browser

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/protocol"
)

// targetCrashed is the event Target.targetCrashed: a page's process has died.
type targetCrashed struct {
	TargetID  target.ID `json:"targetId"`
	Status    string    `json:"status"`
	ErrorCode int       `json:"errorCode"`
}

// renderersStart gives a Chromium up that starts no renderer any more: its zygote, which
// forks them, may have died when the machine had no processes or memory left, and
// Chromium never starts another. Only the reader goroutine calls it.
func (h *host) renderersStart(status string) {
	const within, times = 30 * time.Second, 8
	if status != "failed to launch" {
		return
	}
	now := time.Now()
	h.unlaunched = append(slices.DeleteFunc(h.unlaunched, func(at time.Time) bool { return now.Sub(at) > within }), now)
	if len(h.unlaunched) >= times {
		go h.conn.GiveUp("Chromium starts no process for a page any more")
	}
}

// recovery is what is known of a tab whose page has died or does not answer. Guarded by
// the context's mu; the driver and replace write it.
type recovery struct {
	t       *tab
	url     string // of the tab that died, whose place this one took
	suspect bool   // a call to the page did not answer in time
}

// crashed takes it that the process of one of the context's pages has died. A
// crashed page answers nothing: the tab is closed, and where it was the selected
// one another takes its place, at the same URL, unless the page would only take
// all the memory again.
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

// rendererCrashed takes it that a renderer of the page has died (Inspector.targetCrashed).
func rendererCrashed(t *tab, s *cdp.Session, _ struct{}) (changed bool) {
	if s.ID() != t.cdp.ID() {
		// An out-of-process frame: the page itself lives on without it.
		t.frames.leaveAll(s.ID())
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
	if url == "" && t.nav.url != blank {
		fields["left_out"] = true // it is not loaded again
	}
	t.appear(t.nav.url)
	c.emit(protocol.EventPageCrashed, fields)
	// Behind the event: what it says is known before a command is told.
	t.end(err.With("url", t.nav.url))
	c.host.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: t.target})
}

// replace opens a tab in the place of a selected one that died, and loads its
// URL again, where there is one, and closes done. Whoever needs the selected tab
// waits for it; where another was selected meanwhile, that one stays.
func (c *Context) replace(url string, done chan struct{}) {
	ctx, cancel := context.WithTimeout(c.life, 20*time.Second)
	defer cancel()
	t, err := c.newTab(ctx, url)
	if err != nil && c.life.Err() == nil {
		c.host.log.Warn("replacing a tab", "error", err)
	}
	if err == nil && url != "" && url != blank {
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

// notice looks at an error with which a call to the page ended: where the
// command's time was over, the page may be held by a script.
func (r *recovery) notice(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	r.t.c.mu.Lock()
	r.suspect = true
	r.t.c.mu.Unlock()
}

// leaveWait is how long a page may hold up a navigation away from it before its
// scripts are ended.
const leaveWait = 2 * time.Second

// unhold ends, every leaveWait until stop is called, the script that runs in the
// page (Runtime.terminateExecution): a loop in beforeunload or pagehide would
// keep the tab where it is for ever, since Chromium waits for a page that is
// inspected.
func (r *recovery) unhold() (stop func()) {
	t := r.t
	ended := make(chan struct{})
	go func() {
		every := time.NewTicker(leaveWait)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				t.cdp.Send("Runtime.terminateExecution", struct{}{})
			case <-ended:
				return
			case <-t.life.Done():
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(ended) })
}

// How long a page that is held by a script is waited for.
const (
	pulseWait = 300 * time.Millisecond
	freeWait  = 2 * time.Second
)

// free makes sure that the page answers: a script that holds it is ended
// (Runtime.terminateExecution), and where that does not help the tab is
// replaced.
func (r *recovery) free(ctx context.Context) error {
	t := r.t
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
	r.suspect = false
	if ok {
		return nil
	}
	t.die(protocol.Errorf(protocol.PageCrashed, "the page did not answer any more, and %s was replaced", t.name).With("reason", "no_answer"), t.nav.url)
	return context.Cause(t.life)
}
