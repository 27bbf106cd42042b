package browser

import (
	"slices"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/event"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/browser/throttle"
)

// setUpWorker listens to what a worker writes to the console and asks of the network, as for a page, and lets it run.
// A worklet has no Network domain, and of the emulation a worker has the User-Agent, the headers and being offline: what
// Chromium refuses does not apply to it. It returns what Pause of network.Routes does.
func (c *Context) setUpWorker(s *cdp.Session) (paused []*cdp.Pending) {
	all := c.overrides.InForce()
	s.Send("Runtime.enable", cdproto.Empty{})
	s.Send("Log.enable", cdproto.Empty{})
	throttle.Enable(s, "Network")
	targets.AutoAttach(s)
	c.overrides.Send(s, all, all, true)
	paused = c.routes.Pause(s)
	s.Send("Runtime.runIfWaitingForDebugger", cdproto.Empty{})
	return paused
}

// workerAttached listens to a shared or service worker of the context, which outlives the page that made it. What it does
// is reported for the tab that was selected when it began or, once that has closed, of the oldest that is left. Called on
// the reader goroutine.
func (c *Context) workerAttached(e event.AttachedToTarget) {
	s := c.host.conn.Session(e.SessionID)
	c.mu.Lock()
	t := c.selected
	c.workers[e.SessionID] = s
	c.mu.Unlock()
	c.host.conn.Handle(e.SessionID, func(method string, params jsonv2.Value) {
		c.mu.Lock()
		if !slices.Contains(c.tabs, t) {
			t = nil
			if len(c.tabs) > 0 {
				t = c.tabs[0]
			}
		}
		reporter := t
		c.mu.Unlock()
		if reporter != nil {
			reporter.event(s, method, params)
		}
	})
	c.host.workerScripts.Begin(c.life, func() []*cdp.Pending { return c.setUpWorker(s) })
}

// workerDetached forgets a shared or service worker that has ended.
func (c *Context) workerDetached(id target.SessionID) {
	c.mu.Lock()
	delete(c.workers, id)
	for _, t := range c.tabs {
		t.forgetSession(id)
	}
	c.mu.Unlock()
	c.host.conn.Handle(id, nil)
}
