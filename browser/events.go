package browser

import (
	"encoding/json"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	devnet "github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/webmcp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/browser/pagetools"
	"github.com/browserd/browserd/browser/person"
	"github.com/browserd/browserd/browser/report"
)

// event takes the events of the page and of its out-of-process frames. It
// runs on the reader goroutine: it writes down what happened and returns.
func (t *tab) event(s *cdp.Session, method string, params jsonv2.Value) {
	if method == person.FrameEvent { // people look on, and the page does nothing
		return
	}
	t.activity.Add(1)
	if t.throttle.Drop(s, method, len(params)) {
		return
	}
	t.c.log.Record(t.name, s, method, params)
	handle, ok := pageEvents[method]
	if !ok {
		return
	}
	handle(t, s, params)
}

// pageEvents are the events that a tab listens to, each with its owner; all others
// are dropped before they are decoded.
var pageEvents map[string]func(t *tab, s *cdp.Session, params jsonv2.Value)

func init() {
	tree := func(t *tab) *frames { return &t.frames }
	nav := func(t *tab) *navigation { return &t.nav }
	opened := func(t *tab) *dialogs { return &t.dialogs }
	page := func(t *tab) *tab { return t }
	pageEvents = map[string]func(t *tab, s *cdp.Session, params jsonv2.Value){
		"Page.frameAttached":                on(tree, (*frames).attached),
		"Page.frameDetached":                on(tree, (*frames).detached),
		"Page.frameNavigated":               on(nav, (*navigation).frameNavigated),
		"Page.navigatedWithinDocument":      on(nav, (*navigation).navigatedWithin),
		"Page.frameRequestedNavigation":     on(nav, (*navigation).frameRequested),
		"Page.frameScheduledNavigation":     on(nav, (*navigation).frameScheduled),
		"Page.frameStartedNavigating":       on(nav, (*navigation).frameStarted),
		"Page.frameStoppedLoading":          on(nav, (*navigation).frameStopped),
		"Page.lifecycleEvent":               on(nav, (*navigation).lifecycle),
		"Page.javascriptDialogOpening":      on(opened, (*dialogs).opening),
		"Page.javascriptDialogClosed":       on(opened, (*dialogs).closed),
		"Runtime.executionContextCreated":   on(tree, (*frames).worldCreated),
		"Runtime.executionContextDestroyed": on(tree, (*frames).worldDestroyed),
		"Runtime.executionContextsCleared":  on(tree, (*frames).worldsCleared),
		"Runtime.bindingCalled":             on(page, (*tab).bindingCalled),
		"Runtime.consoleAPICalled":          on(page, recordConsole[report.ConsoleCalled]),
		"Runtime.exceptionThrown":           on(page, recordConsole[report.ExceptionThrown]),
		"Log.entryAdded":                    on(page, recordConsole[report.EntryAdded]),
		cdp.EventTooLarge:                   on(page, reportTooLarge),
		"Network.requestWillBeSent":         on(nav, (*navigation).requestSent),
		"Network.responseReceived":          on(nav, (*navigation).responseReceived),
		"Network.dataReceived":              on(page, dataReceived),
		"Network.loadingFinished":           on(page, loadingFinished),
		"Network.loadingFailed":             on(nav, (*navigation).loadingFailed),
		"Fetch.requestPaused":               on(page, (*tab).requestPaused),
		"Inspector.targetCrashed":           on(page, rendererCrashed),
		"Target.attachedToTarget":           on(tree, (*frames).childAttached),
		"Target.detachedFromTarget":         on(tree, (*frames).childDetached),
		"WebAuthn.credentialAdded":          func(t *tab, s *cdp.Session, e jsonv2.Value) { t.c.Made(s.ID(), e) },
		"WebAuthn.credentialAsserted":       func(t *tab, s *cdp.Session, e jsonv2.Value) { t.c.Used(s.ID(), e) },
		webmcp.ToolsAdded.Method:            toolEvent((*pagetools.List).Added),
		webmcp.ToolsRemoved.Method:          toolEvent((*pagetools.List).Removed),
		webmcp.ToolInvoked.Method:           toolEvent((*pagetools.List).Invoked),
		webmcp.ToolResponded.Method:         toolEvent((*pagetools.List).Responded),
	}
}

// on decodes an event's parameters for a handler of its owner in the tab. The handler is
// called with the context's mu held, and reports whether anything has changed that somebody
// may be waiting for. An event that does not decode is dropped.
func on[O, E any](owner func(*tab) O, handle func(o O, s *cdp.Session, e E) (changed bool)) func(*tab, *cdp.Session, jsonv2.Value) {
	return func(t *tab, s *cdp.Session, params jsonv2.Value) {
		var e E
		if json.Unmarshal(params, &e) != nil {
			return
		}
		t.c.mu.Lock()
		defer t.c.mu.Unlock()
		if handle(owner(t), s, e) {
			t.wake()
		}
	}
}

func dataReceived(t *tab, _ *cdp.Session, e network.DataReceived) (changed bool) {
	return t.requests.Data(e)
}

func loadingFinished(t *tab, _ *cdp.Session, e struct {
	RequestID devnet.RequestID `json:"requestId"`
}) (changed bool) {
	_, changed = t.requests.End(e.RequestID)
	return changed
}
