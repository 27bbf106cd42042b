package browser

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// event takes the events of the page and of its out-of-process frames. It
// runs on the reader goroutine: it writes down what happened and returns.
func (t *tab) event(s *cdp.Session, method string, params jsonv2.Value) {
	t.stirs.Add(1)
	if t.tooLoud(s, method, len(params)) {
		return
	}
	t.c.log.Record(t.name, s, method, params)
	handle, ok := pageEvents[method]
	if !ok {
		return
	}
	handle(t, s, params)
}

// pageEvents are the events that a tab listens to; all others are dropped
// before they are decoded.
var pageEvents map[string]func(t *tab, s *cdp.Session, params jsonv2.Value)

func init() {
	pageEvents = map[string]func(t *tab, s *cdp.Session, params jsonv2.Value){
		"Page.frameAttached":                on((*tab).frameAttached),
		"Page.frameDetached":                on((*tab).frameDetached),
		"Page.frameNavigated":               on((*tab).frameNavigated),
		"Page.navigatedWithinDocument":      on((*tab).navigatedWithin),
		"Page.frameRequestedNavigation":     on((*tab).frameRequested),
		"Page.frameScheduledNavigation":     on((*tab).frameScheduled),
		"Page.frameStartedNavigating":       on((*tab).frameStarted),
		"Page.frameStoppedLoading":          on((*tab).frameStopped),
		"Page.lifecycleEvent":               on((*tab).lifecycle),
		"Page.javascriptDialogOpening":      on((*tab).dialogOpening),
		"Page.javascriptDialogClosed":       on((*tab).dialogClosed),
		"Runtime.executionContextCreated":   on((*tab).worldCreated),
		"Runtime.executionContextDestroyed": on((*tab).worldDestroyed),
		"Runtime.executionContextsCleared":  on((*tab).worldsCleared),
		"Runtime.bindingCalled":             on((*tab).bindingCalled),
		"Runtime.consoleAPICalled":          on((*tab).consoleCalled),
		"Runtime.exceptionThrown":           on((*tab).exceptionThrown),
		cdp.EventTooLarge:                   on((*tab).leftOut),
		"Network.requestWillBeSent":         on((*tab).requestSent),
		"Network.responseReceived":          on((*tab).responseReceived),
		"Network.dataReceived":              on((*tab).dataReceived),
		"Network.loadingFinished":           on((*tab).loadingFinished),
		"Network.loadingFailed":             on((*tab).loadingFailed),
		"Fetch.requestPaused":               on((*tab).requestPaused),
		"Inspector.targetCrashed":           on((*tab).crash),
		"Target.attachedToTarget":           on((*tab).childAttached),
		"Target.detachedFromTarget":         on((*tab).childDetached),
	}
}

// on decodes an event's parameters for a handler, which is called with the
// context's mu held. An event that does not decode is dropped.
func on[E any](handle func(t *tab, s *cdp.Session, e E)) func(*tab, *cdp.Session, jsonv2.Value) {
	return func(t *tab, s *cdp.Session, params jsonv2.Value) {
		var e E
		if json.Unmarshal(params, &e) != nil {
			return
		}
		t.c.mu.Lock()
		defer t.c.mu.Unlock()
		handle(t, s, e)
	}
}

type frameEvent struct {
	FrameID       cdproto.FrameID `json:"frameId"`
	ParentFrameID cdproto.FrameID `json:"parentFrameId"`
	Reason        string          `json:"reason"`
}

func (t *tab) frameAttached(s *cdp.Session, e frameEvent) {
	if f := t.frames[e.FrameID]; f != nil {
		f.cdp = s
		return
	}
	t.frames[e.FrameID] = &frame{tab: t, id: e.FrameID, parent: t.frames[e.ParentFrameID], cdp: s, since: time.Now()}
}

func (t *tab) frameDetached(s *cdp.Session, e frameEvent) {
	// "swap": the frame moves to another process and goes on there.
	if f := t.frames[e.FrameID]; f != nil && e.Reason != "swap" && f != t.main {
		t.drop(f)
	}
	t.wake()
}

// drop forgets a frame and all below it.
func (t *tab) drop(f *frame) {
	delete(t.frames, f.id)
	t.step.done(f.id, "")
	f.leave()
	for _, child := range t.frames {
		if child.parent == f {
			t.drop(child)
		}
	}
}

// leave forgets the document that the frame held.
func (f *frame) leave() {
	if f.doc != 0 {
		f.tab.c.left = append(f.tab.c.left, f.doc)
	}
	f.doc, f.ctxID, f.num, f.marks, f.since = 0, "", 0, nil, time.Now()
}

type frameNavigated struct {
	Frame struct {
		ID       cdproto.FrameID  `json:"id"`
		ParentID cdproto.FrameID  `json:"parentId"`
		LoaderID cdproto.LoaderID `json:"loaderId"`
		URL      string           `json:"url"`
		Fragment string           `json:"urlFragment"`
		Failed   string           `json:"unreachableUrl"`
	} `json:"frame"`
}

func (t *tab) frameNavigated(s *cdp.Session, e frameNavigated) {
	f := t.frames[e.Frame.ID]
	if f == nil {
		f = &frame{tab: t, id: e.Frame.ID, parent: t.frames[e.Frame.ParentID]}
		t.frames[f.id] = f
	}
	f.cdp, f.url = s, e.Frame.URL+e.Frame.Fragment
	for _, child := range t.frames {
		if child.parent == f {
			t.drop(child)
		}
	}
	t.step.done(f.id, e.Frame.LoaderID)
	if f != t.main {
		t.wake()
		return
	}
	t.listenToAll(s)
	t.c.documents++
	t.document = t.c.documents
	t.url, t.title, t.loader, t.ready = f.url, "", e.Frame.LoaderID, "loading"
	if t.failing = f.url == errorPage; t.failing && e.Frame.Failed != "" {
		t.url = e.Frame.Failed
	}
	t.asked, t.askAgain = nil, false
	t.status = t.statuses[t.loader]
	t.commits++
	t.opening = opening{}
	t.failed, t.refreshing = "", false
	for id := range t.inflight {
		delete(t.inflight, id)
	}
	for id := range t.statuses {
		if id != t.loader {
			delete(t.statuses, id)
		}
	}
	t.c.origins.Add(f.url)
	t.moved()
	t.wake()
	t.appear(t.url)
	t.c.emit(protocol.EventNavigated, map[string]any{"tab": t.name, "url": t.url, "status": t.status, "document": t.document})
}

// moved notes that the tab has another URL, where it is the one that is acted on.
func (t *tab) moved() {
	if t.c.selected == t {
		t.c.effects.navigatedTo(t.url)
	}
}

type navigatedWithin struct {
	FrameID cdproto.FrameID `json:"frameId"`
	URL     string          `json:"url"`
}

func (t *tab) navigatedWithin(s *cdp.Session, e navigatedWithin) {
	if f := t.frames[e.FrameID]; f != nil {
		f.url = e.URL
		t.step.done(f.id, "")
		if f == t.main {
			t.url = e.URL
			t.within++
			t.moved()
		}
		t.wake()
	}
}

type frameRequested struct {
	FrameID     cdproto.FrameID `json:"frameId"`
	Disposition string          `json:"disposition"`
	URL         string          `json:"url"`
}

func (t *tab) frameRequested(s *cdp.Session, e frameRequested) {
	if e.Disposition == "newTab" || e.Disposition == "newWindow" {
		t.c.effects.tabAnnounced()
	}
	if e.FrameID == t.main.id && e.Disposition == "currentTab" && !strings.HasPrefix(e.URL, "javascript:") {
		t.requested++
		t.failed = ""
		t.wake()
	}
}

type frameScheduled struct {
	FrameID cdproto.FrameID `json:"frameId"`
	Delay   float64         `json:"delay"` // seconds
	URL     string          `json:"url"`
}

// refreshSoon is how long a refresh may be put off and still belong to the
// navigation, in seconds: Chromium replaces the entry of the history up to there.
const refreshSoon = 1

// frameScheduled takes it that a document has a refresh, by meta or header.
func (t *tab) frameScheduled(s *cdp.Session, e frameScheduled) {
	if e.FrameID == t.main.id && e.Delay <= refreshSoon && withoutFragment(e.URL) != withoutFragment(t.url) {
		t.refreshing = true
		t.wake()
	}
}

type frameStarted struct {
	FrameID        cdproto.FrameID  `json:"frameId"`
	LoaderID       cdproto.LoaderID `json:"loaderId"`
	URL            string           `json:"url"`
	NavigationType string           `json:"navigationType"`
}

func (t *tab) frameStarted(s *cdp.Session, e frameStarted) {
	if t.step.takes(e.NavigationType) {
		t.step.legs[e.LoaderID] = &leg{frame: e.FrameID}
	}
	if e.FrameID == t.main.id && e.NavigationType != "sameDocument" && e.NavigationType != "historySameDocument" {
		url := withoutFragment(e.URL)
		switch {
		case t.opening.url == url:
			t.opening.begun = true
		case t.opening.begun, strings.HasPrefix(e.NavigationType, "reload") && url != withoutFragment(t.url):
			// The document that is being left asked for it: one that is there
			// cannot load another again.
			t.pulled = true
		}
		t.requested++
		t.appear(e.URL)
		t.wake()
	}
}

func withoutFragment(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}

func (t *tab) frameStopped(s *cdp.Session, e frameEvent) {
	if e.FrameID == t.main.id {
		t.stopped++
		t.wake()
	}
}

type lifecycle struct {
	FrameID  cdproto.FrameID  `json:"frameId"`
	LoaderID cdproto.LoaderID `json:"loaderId"`
	Name     string           `json:"name"`
}

func (t *tab) lifecycle(s *cdp.Session, e lifecycle) {
	if e.FrameID != t.main.id || e.LoaderID != t.loader {
		return
	}
	switch e.Name {
	case "DOMContentLoaded":
		if t.ready == "loading" {
			t.ready = "interactive"
		}
	case "load":
		t.ready = "complete"
	default:
		return
	}
	t.askTitle()
	t.wake()
}

type worldCreated struct {
	Context struct {
		ID       runtime.ExecutionContextID `json:"id"`
		UniqueID string                     `json:"uniqueId"`
		Name     string                     `json:"name"`
		AuxData  struct {
			FrameID cdproto.FrameID `json:"frameId"`
			Type    string          `json:"type"`
		} `json:"auxData"`
	} `json:"context"`
}

func (t *tab) worldCreated(s *cdp.Session, e worldCreated) {
	f := t.frames[e.Context.AuxData.FrameID]
	if f == nil {
		return
	}
	if e.Context.AuxData.Type == "default" {
		f.own, f.ownNum = e.Context.UniqueID, e.Context.ID
	}
	if e.Context.Name != world || e.Context.AuxData.Type != "isolated" || f.ctxID == e.Context.UniqueID {
		return // the last: told once more, since the domain was switched on again
	}
	f.leave()
	f.cdp = s
	f.doc, f.ctxID, f.num = int(docs.Add(1)), e.Context.UniqueID, e.Context.ID
	if f == t.main && t.ready != "loading" && t.loader != "" {
		t.askTitle() // its events came before
	}
	t.wake()
}

func (t *tab) worldDestroyed(s *cdp.Session, e struct {
	UniqueID string `json:"executionContextUniqueId"`
}) {
	for _, f := range t.frames {
		if f.ctxID == e.UniqueID && e.UniqueID != "" {
			f.leave()
			t.wake()
		}
	}
}

func (t *tab) worldsCleared(s *cdp.Session, _ struct{}) {
	for _, f := range t.frames {
		if f.cdp.ID() == s.ID() {
			f.leave()
		}
	}
	t.wake()
}

type remoteValue struct {
	Type        string          `json:"type"`
	Value       json.RawMessage `json:"value"`
	Description string          `json:"description"`
}

func (v remoteValue) text() string {
	var s string
	if v.Type == "string" && json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	if v.Description != "" {
		return v.Description
	}
	return string(v.Value)
}

// leftOut is told of an event that was too large: the console says that there was one.
func (t *tab) leftOut(_ *cdp.Session, e struct {
	Method string `json:"method"`
}) {
	if !loud[e.Method] {
		return
	}
	t.c.log.Write(t.name, "warning", "browserd: what the page wrote is left out: it has more than "+strconv.Itoa(cdp.MaxEvent>>20)+" MiB", "", 0)
}

func (t *tab) consoleCalled(s *cdp.Session, e struct {
	Type string        `json:"type"`
	Args []remoteValue `json:"args"`
	// StackTrace says where it was said.
	StackTrace struct {
		CallFrames []struct {
			URL        string `json:"url"`
			LineNumber int    `json:"lineNumber"`
		} `json:"callFrames"`
	} `json:"stackTrace"`
}) {
	words := make([]string, 0, len(e.Args))
	for _, a := range e.Args {
		words = append(words, a.text())
	}
	text, url, line := strings.Join(words, " "), "", 0
	if at := e.StackTrace.CallFrames; len(at) > 0 {
		url, line = at[0].URL, at[0].LineNumber+1
	}
	t.c.log.Write(t.name, e.Type, text, url, line)
	if e.Type == "error" || e.Type == "assert" {
		t.consoleError(text)
	}
}

func (t *tab) exceptionThrown(s *cdp.Session, e struct {
	ExceptionDetails exceptionDetails `json:"exceptionDetails"`
}) {
	d := &e.ExceptionDetails
	t.c.log.Write(t.name, "exception", d.text(), d.URL, d.LineNumber+1)
	t.consoleError(e.ExceptionDetails.text())
}

// maxConsoleText is how many characters of one console error are kept.
const maxConsoleText = 500

func (t *tab) consoleError(text string) {
	text = protocol.Cut(text, maxConsoleText)
	t.c.effects.consoleError(text)
	t.c.emit(protocol.EventConsoleError, map[string]any{"tab": t.name, "text": text})
}

// pageWaitsFor are the kinds of requests (Network.ResourceType) whose answers
// usually change what the page shows.
var pageWaitsFor = map[string]bool{"Document": true, "Script": true, "Stylesheet": true, "XHR": true, "Fetch": true}

func (t *tab) requestSent(s *cdp.Session, e struct {
	RequestID network.RequestID `json:"requestId"`
	LoaderID  cdproto.LoaderID  `json:"loaderId"`
	FrameID   cdproto.FrameID   `json:"frameId"`
	Type      string            `json:"type"`
	Request   struct {
		URL string `json:"url"`
	} `json:"request"`
}) {
	if !pageWaitsFor[e.Type] {
		return
	}
	if e.Type == "Document" && e.FrameID == t.main.id {
		t.going, t.goingBy = e.Request.URL, e.RequestID
	}
	t.inflight[e.RequestID] = request{kind: e.Type, session: s.ID(), since: time.Now()}
	t.wake()
}

func (t *tab) responseReceived(s *cdp.Session, e struct {
	RequestID network.RequestID `json:"requestId"`
	LoaderID  cdproto.LoaderID  `json:"loaderId"`
	FrameID   cdproto.FrameID   `json:"frameId"`
	Timestamp float64           `json:"timestamp"`
	Type      string            `json:"type"`
	Response  struct {
		Status            int               `json:"status"`
		MimeType          string            `json:"mimeType"`
		Headers           map[string]string `json:"headers"`
		EncodedDataLength float64           `json:"encodedDataLength"`
	} `json:"response"`
}) {
	if e.Type == "Document" && e.FrameID == t.main.id {
		t.statuses[e.LoaderID] = e.Response.Status
		if e.LoaderID == t.loader {
			t.status = e.Response.Status
		}
	}
	r, ok := t.inflight[e.RequestID]
	switch {
	case !ok:
	case e.Response.MimeType == "text/event-stream", r.kind == "Fetch" && e.Response.MimeType == "application/x-ndjson":
		// A stream never ends by itself: nobody waits for it.
		t.ended(e.RequestID)
		t.wake()
	case r.kind == "Fetch" && endsWhenRead(e.Response.Headers):
		t.inflight[e.RequestID] = r.reading(t, s, e.RequestID, e.Response.Headers, e.Timestamp, e.Response.EncodedDataLength)
	}
}

func (t *tab) dataReceived(s *cdp.Session, e struct {
	RequestID         network.RequestID `json:"requestId"`
	Timestamp         float64           `json:"timestamp"`
	EncodedDataLength float64           `json:"encodedDataLength"`
}) {
	if r, ok := t.inflight[e.RequestID]; ok && r.body != nil {
		r.body.comes(e.Timestamp, e.EncodedDataLength)
	}
}

func (t *tab) loadingFinished(s *cdp.Session, e struct {
	RequestID network.RequestID `json:"requestId"`
}) {
	if t.ended(e.RequestID) {
		t.wake()
	}
}

// ended takes a request from those that are under way; false where it is none.
func (t *tab) ended(id network.RequestID) bool {
	r, ok := t.inflight[id]
	if ok {
		delete(t.inflight, id)
		r.ended = time.Now()
		t.answered = r
	}
	return ok
}

func (t *tab) loadingFailed(s *cdp.Session, e struct {
	RequestID     network.RequestID `json:"requestId"`
	Type          string            `json:"type"`
	ErrorText     string            `json:"errorText"`
	Canceled      bool              `json:"canceled"`
	BlockedReason string            `json:"blockedReason"`
}) {
	r, ok := t.inflight[e.RequestID]
	t.ended(e.RequestID)
	if ok && r.kind == "Document" && t.failed == "" {
		t.failed, t.refreshing = e.ErrorText, false
	}
	if e.RequestID == t.goingBy && e.ErrorText != aborted && cdproto.LoaderID(e.RequestID) != t.loader {
		t.lost = &lostPage{url: t.going, reason: e.ErrorText}
	}
	if cdproto.LoaderID(e.RequestID) == t.loader && e.ErrorText != aborted {
		// The document broke off: what has come is all, and Chromium will tell
		// neither DOMContentLoaded nor load of it.
		t.ready = "complete"
		t.askTitle()
	}
	t.step.failed(cdproto.LoaderID(e.RequestID), e.ErrorText) // a navigation's request has its loader's id
	if !e.Canceled {
		t.c.effects.requestFailed()
	}
	t.wake()
}

func (t *tab) childAttached(s *cdp.Session, e attachedToTarget) {
	child := t.c.host.conn.Session(e.SessionID)
	t.children[e.SessionID] = child
	t.c.host.conn.Handle(e.SessionID, func(method string, params jsonv2.Value) { t.event(child, method, params) })
	if e.TargetInfo.isWorker() {
		go t.c.setUpWorker(child)
		return
	}
	// An out-of-process frame's target has the frame's id.
	id := cdproto.FrameID(e.TargetInfo.TargetID)
	if f := t.frames[id]; f != nil {
		f.cdp = child
		f.leave()
	}
	all := t.c.overrides.InForce()
	go func() {
		pending := attachDomains(child)
		pending = append(pending, t.c.overrides.Send(child, all, all, true)...)
		pending = append(pending, t.c.routes.Pause(child)...)
		pending = append(pending, child.Send("Runtime.runIfWaitingForDebugger", cdproto.Empty{}))
		if err := t.c.overrides.Wait(t.life, pending); err != nil {
			t.c.host.log.Debug("attaching to a frame", "error", err)
		}
	}()
}

func (t *tab) childDetached(s *cdp.Session, e struct {
	SessionID target.SessionID `json:"sessionId"`
}) {
	delete(t.children, e.SessionID)
	t.abandon(e.SessionID)
	for _, f := range t.frames {
		if f.cdp.ID() == e.SessionID {
			f.leave()
		}
	}
	t.wake()
}

// keep appends to a list that holds at most n.
func keep[T any](list []T, v T, n int) []T {
	if len(list) >= n {
		return list
	}
	return append(list, v)
}
