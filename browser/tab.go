package browser

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/event"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/browser/throttle"
	"github.com/browserd/browserd/protocol"
)

// docs numbers the documents of all contexts, so that a number is never used
// twice, in no session.
var docs atomic.Int64

// tab is one page target: what it consists of, each part with an owner of its own. The
// context's mu guards what has no lock of its own here: the tabs of a context, and what
// is waited for in several parts at once (until), change together.
type tab struct {
	c      *Context
	name   string // t1, t2, …
	target target.ID
	cdp    *cdp.Session // the page's own cdp session; Input goes here
	// life ends with the tab: closed, crashed or lost; the cause says which.
	life context.Context
	end  context.CancelCauseFunc
	// up closes when the tab is set up and runs.
	up    chan struct{}
	upErr error

	frames   frames
	nav      navigation
	dialogs  dialogs
	requests *network.Requests
	throttle *throttle.Throttle
	popup    popup
	recovery tabRecovery
	changed  chan struct{} // closed and replaced when any of these changes

	// activity counts what was done to the page, and what it has reported.
	activity           atomic.Int64
	answeringChallenge atomic.Bool    // network.AnswerChallenge has the paused requests
	pointer            *input.Pointer // the driver's own
	inputsReceived     int            // times that the hit test reported that input has reached its element; the event callback writes it
}

// popup is what a tab has to do with tabs that pages open. Guarded by the context's mu.
type popup struct {
	opener   target.ID // the tab that opened this one; empty: the session did
	reported bool      // a tab_opened event has been emitted
	refused  int       // tabs that it opened over the limit, since its script was ended for it
}

// newTab opens a tab, for a URL where one is given, and waits until it is ready.
// It does not load it.
func (c *Context) newTab(ctx context.Context, url string) (*tab, error) {
	id, err := c.CreateTab(ctx)
	if err != nil {
		return nil, err
	}
	// Target.attachedToTarget was sent before the answer, so the tab is known by now.
	t := c.byTarget(id)
	if t == nil {
		return nil, failure.NotAttached()
	}
	if url == "" {
		url = targets.Blank
	}
	c.mu.Lock()
	t.reportOpened(url)
	c.mu.Unlock()
	select {
	case <-t.up:
		return t, t.upErr
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-t.life.Done():
		return nil, context.Cause(t.life)
	}
}

func (c *Context) byTarget(id target.ID) *tab {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tabs {
		if t.target == id {
			return t
		}
	}
	return nil
}

// attached takes a page that appeared in the context: one that newTab asked
// for, or a popup. Called on the reader goroutine.
func (c *Context) attached(e event.AttachedToTarget) {
	if c.targets.Intercept(e) {
		return
	}
	t := &tab{
		c: c, target: e.TargetInfo.TargetID, popup: popup{opener: e.TargetInfo.OpenerID}, cdp: c.host.conn.Session(e.SessionID),
		up: make(chan struct{}), changed: make(chan struct{}),
		pointer: c.mouse.Over(c.host.conn.Session(e.SessionID)),
	}
	t.life, t.end = context.WithCancelCause(c.life)
	t.frames, t.nav, t.dialogs, t.recovery = newFrames(t), newNavigation(t), newDialogs(t), newTabRecovery(t)
	t.requests = network.NewRequests(&c.log, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.wake()
	})
	t.throttle = throttle.New(t.life, t.throttled)
	c.mu.Lock()
	// A context without a selected tab gets one, however many windows its pages
	// have opened.
	place := c.selected == nil && t.popup.opener == ""
	over := len(c.tabs) >= c.o.MaxTabs && !place || c.closed
	if !over {
		c.tabCount++
		t.name = fmt.Sprintf("t%d", c.tabCount)
		if len(c.tabs) > 0 {
			c.documents++ // an empty document of its own, beside the others
		}
		t.nav.document = c.documents
		c.tabs = append(c.tabs, t)
		if c.selected == nil && c.replacing == nil {
			c.selected = t
		}
	}
	var flooding *tab
	if over {
		flooding = c.refusedTab(t.popup.opener)
	}
	c.effects.tabOpened(t, t.popup.opener != "", !over)
	for _, o := range c.tabs {
		o.wake()
	}
	c.mu.Unlock()
	if over {
		// One that waits for its debugger holds up the page that opened it.
		t.cdp.Send("Runtime.runIfWaitingForDebugger", cdproto.Empty{})
		c.host.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: t.target})
		if flooding != nil {
			flooding.cdp.Send("Runtime.terminateExecution", cdproto.Empty{})
		}
		return
	}
	c.host.conn.Handle(e.SessionID, func(method string, params jsonv2.Value) { t.event(t.cdp, method, params) })
	go func() {
		t.upErr = t.setUp(t.life)
		close(t.up)
		// Where it is a page's and the page says no URL for it.
		time.AfterFunc(openedWait, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if t.life.Err() == nil {
				t.reportOpened(t.nav.url)
			}
		})
	}()
}

// reportOpened says once, in an event, that the tab has appeared: as soon as its URL is
// known, and before whatever else is said of it. The caller holds mu.
func (t *tab) reportOpened(url string) {
	if t.popup.reported {
		return
	}
	t.popup.reported = true
	t.c.emit(protocol.EventTabOpened, map[string]any{"tab": t.name, "url": url})
}

// maxRefused is how many tabs over the limit a page may ask for in a row before its script is ended: each of them
// takes Chromium milliseconds, in which the page does nothing else.
const maxRefused = 20

// refusedTab counts a tab that is not kept, and returns the tab that opened it
// where it does not stop. The caller holds mu.
func (c *Context) refusedTab(opener target.ID) *tab {
	for _, t := range c.tabs {
		if t.target == opener {
			if t.popup.refused++; t.popup.refused > maxRefused {
				t.popup.refused = 0
				return t
			}
		}
	}
	return nil
}

// setUp prepares the page and lets it run. All commands are written at once
// and waited for together.
func (t *tab) setUp(ctx context.Context) error {
	all := t.c.overrides.InForce()
	wait := targets.Attach(t.cdp)
	t.c.people.Attach(t.cdp)
	send := func(method string, params any) { wait = append(wait, t.cdp.Send(method, params)) }
	send(page.SetInterceptFileChooserDialog.Method, page.SetInterceptFileChooserDialogParams{Enabled: true})
	send(emulation.SetFocusEmulationEnabled.Method, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	wait = append(wait, t.c.overrides.Send(t.cdp, all, all, false)...)
	wait = append(wait, t.c.routes.Pause(t.cdp)...)
	if err := t.c.Authenticators.Attach(ctx, t.life, t.cdp); err != nil {
		return err
	}
	send("Runtime.runIfWaitingForDebugger", cdproto.Empty{})
	return t.c.overrides.Wait(ctx, wait)
}

// detached removes a tab whose cdp session has ended: the tab was closed.
func (c *Context) detached(id target.SessionID) {
	c.mu.Lock()
	var gone *tab
	for i, t := range c.tabs {
		if t.cdp.ID() != id {
			continue
		}
		gone = t
		t.reportOpened(t.nav.url)
		c.tabs = append(c.tabs[:i], c.tabs[i+1:]...)
		if c.selected == t {
			c.selected = nil
			if n := len(c.tabs); n > 0 {
				c.selected = c.tabs[n-1]
			}
		}
		break
	}
	c.mu.Unlock()
	if gone != nil {
		gone.end(protocol.Errorf(protocol.StaleRef, "tab %s was closed", gone.name))
		gone.forget()
		c.emit(protocol.EventTabClosed, map[string]any{"tab": gone.name})
	}
}

// forget stops listening to the tab's sessions.
func (t *tab) forget() {
	t.c.mu.Lock()
	ids := []target.SessionID{t.cdp.ID()}
	for id := range t.frames.sessions {
		ids = append(ids, id)
	}
	t.dialogs.stop()
	t.c.mu.Unlock()
	for _, id := range ids {
		t.c.host.conn.Handle(id, nil)
	}
	t.end(protocol.Errorf(protocol.StaleRef, "tab %s was closed", t.name))
}

// info describes the tab; the caller holds mu.
func (t *tab) info() protocol.Tab {
	return protocol.Tab{Tab: t.name, URL: t.nav.url, Title: t.nav.title, Selected: t.c.selected == t, Person: t.c.HasTab(t.target)}
}

// throttled is called when a domain of a cdp session is about to be disabled for a time,
// since the page causes too many of its events.
func (t *tab) throttled(s *cdp.Session, domain string, pause time.Duration) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	switch domain {
	case throttle.Tools:
		t.frames.tools.Overflow(t.frames.main.doc)
		t.c.log.Write(t.name, "warning", "browserd: the page registers too many tools: further ones are left out", "", 0)
		return
	case "Network":
		t.requests.Clear() // their ends will not be reported
		t.wake()
	case "Runtime":
		for _, f := range t.frames.byID {
			if f.cdp.ID() == s.ID() {
				f.reported = nil // remote objects end with the domain
			}
		}
	}
	t.c.log.Write(t.name, "warning", "browserd: the page floods "+map[string]string{"Network": "the network", "Runtime": "the console", "Log": "Chromium's log"}[domain]+
		": what comes in the next "+pause.String()+" is left out", "", 0)
}

// forgetSession forgets what a cdp session that has ended has reported. The caller holds
// mu, on the reader goroutine.
func (t *tab) forgetSession(id target.SessionID) {
	if t.requests.Forget(id) {
		t.wake()
	}
	t.throttle.Forget(id)
}

// wake tells whoever waits that the tab's state has changed; the caller holds mu.
func (t *tab) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// until waits until holds, asked with mu held whenever the tab's state has changed, or ctx ends. Of a tab that is gone nothing holds.
func (t *tab) until(ctx context.Context, holds func() bool) error {
	for t.life.Err() == nil {
		t.c.mu.Lock()
		ok, changed := holds(), t.changed
		t.c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.life.Done():
		}
	}
	return context.Cause(t.life)
}
