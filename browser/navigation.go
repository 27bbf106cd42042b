package browser

import (
	"cmp"
	"strings"

	cdproto "github.com/chromedp/cdproto/cdp"
	devnet "github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/history"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/protocol"
)

// navigation is what the main frame of a tab shows, and where it goes. The event
// callback writes it, but for what Open, History and the answers of the page's script set.
// It is guarded by the context's mu, since a document that is committed changes the
// frames, the requests and the title at once, and whoever waits looks at several of them.
type navigation struct {
	t *tab
	mainDocument
	navigationCounts
	pendingNavigation
	titleRequest titleRequest
	statuses     map[cdproto.LoaderID]int // HTTP statuses of main documents, before they are committed
	step         *history.Step            // under way; nil: none
}

// mainDocument is the document in the main frame, and how far it has loaded.
type mainDocument struct {
	url      string
	failing  bool // the document at url did not load: Chromium's own page is there
	title    string
	status   int    // HTTP
	ready    string // loading, interactive, complete
	loader   cdproto.LoaderID
	document int // the context's count when the document was committed
}

// navigationCounts are how often something has happened to the main frame. An action
// compares them with what they were when it began.
type navigationCounts struct {
	commits   int // documents committed
	within    int // navigations within a document
	requested int // navigations that were asked for
	stopped   int // times that it stopped loading
}

// pendingNavigation is the navigation of the main frame that was asked for last.
type pendingNavigation struct {
	going      string // URL of the last request for a main document, redirects followed
	goingBy    devnet.RequestID
	lost       *lostPage // the last of them that Chromium has a page of its own for
	failed     string    // why the last of them came to nothing; empty otherwise
	refreshing bool      // the document is about to load another, by a refresh that is due
	pulled     bool      // a document that was left has begun to load again, in place of the next
	opening    opening
}

// errorPage is the address of Chromium's page in the place of one that did not load.
const errorPage = "chrome-error://chromewebdata/"

// lostPage is a main document that did not load.
type lostPage struct {
	url    string // redirects followed
	reason string // net::ERR_…
}

// opening is a URL that is being opened, until its document is committed.
type opening struct {
	url   string
	begun bool // Chromium has begun with it
}

// newNavigation is that of a tab that has just come: an empty page.
func newNavigation(t *tab) navigation {
	return navigation{t: t, mainDocument: mainDocument{url: blank, ready: "complete"}, statuses: map[cdproto.LoaderID]int{}}
}

// address is the address of the document that says it is at url: that of Chromium's
// page for one that did not load is the one that failed, as for a person.
func (n *navigation) address(url string) string {
	if n.failing && url == errorPage {
		return n.url
	}
	return url
}

// seen takes the title and the address that the document's script has reported. The
// caller holds mu.
func (n *navigation) seen(title, url string) { n.title, n.url = title, n.address(url) }

// hasContent says whether the document is parsed, and there to be asked. The caller holds mu.
func (n *navigation) hasContent() bool { return n.ready != "loading" && n.t.frames.main.doc != 0 }

// hasLoaded says whether the document's load event has fired. The caller holds mu.
func (n *navigation) hasLoaded() bool { return n.ready == "complete" && n.t.frames.main.doc != 0 }

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

// frameNavigated takes it that a document is committed in a frame.
func (n *navigation) frameNavigated(s *cdp.Session, e frameNavigated) (changed bool) {
	t, c := n.t, n.t.c
	f := t.frames.navigated(s, e)
	n.step.Done(f.id, e.Frame.LoaderID)
	if f != t.frames.main {
		return true
	}
	if t.throttle.Resume(s) {
		t.frames.leaveAll(s.ID())
	}
	c.documents++
	n.mainDocument = mainDocument{url: f.url, loader: e.Frame.LoaderID, ready: "loading", document: c.documents, status: n.statuses[e.Frame.LoaderID]}
	if n.failing = f.url == errorPage; n.failing && e.Frame.Failed != "" {
		n.url = e.Frame.Failed
	}
	n.titleRequest = titleRequest{}
	n.commits++
	n.opening = opening{}
	n.failed, n.refreshing = "", false
	t.requests.Clear()
	for id := range n.statuses {
		if id != n.loader {
			delete(n.statuses, id)
		}
	}
	c.origins.Add(f.url)
	n.moved()
	t.appear(n.url)
	c.emit(protocol.EventNavigated, map[string]any{"tab": t.name, "url": n.url, "status": n.status, "document": n.document})
	return true
}

// moved notes that the tab has another URL, where it is the one that is acted on.
func (n *navigation) moved() {
	if c := n.t.c; c.selected == n.t {
		c.effects.navigatedTo(n.url)
	}
}

type navigatedWithin struct {
	FrameID cdproto.FrameID `json:"frameId"`
	URL     string          `json:"url"`
}

func (n *navigation) navigatedWithin(_ *cdp.Session, e navigatedWithin) (changed bool) {
	f := n.t.frames.byID[e.FrameID]
	if f == nil {
		return false
	}
	f.url = e.URL
	n.step.Done(f.id, "")
	if f == n.t.frames.main {
		n.url = e.URL
		n.within++
		n.moved()
	}
	return true
}

type frameRequested struct {
	FrameID     cdproto.FrameID `json:"frameId"`
	Disposition string          `json:"disposition"`
	URL         string          `json:"url"`
}

func (n *navigation) frameRequested(_ *cdp.Session, e frameRequested) (changed bool) {
	if e.Disposition == "newTab" || e.Disposition == "newWindow" {
		n.t.c.effects.tabAnnounced()
	}
	if e.FrameID != n.t.frames.main.id || e.Disposition != "currentTab" || strings.HasPrefix(e.URL, "javascript:") {
		return false
	}
	n.requested++
	n.failed = ""
	return true
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
func (n *navigation) frameScheduled(_ *cdp.Session, e frameScheduled) (changed bool) {
	if e.FrameID != n.t.frames.main.id || e.Delay > refreshSoon || withoutFragment(e.URL) == withoutFragment(n.url) {
		return false
	}
	n.refreshing = true
	return true
}

type frameStarted struct {
	FrameID        cdproto.FrameID  `json:"frameId"`
	LoaderID       cdproto.LoaderID `json:"loaderId"`
	URL            string           `json:"url"`
	NavigationType string           `json:"navigationType"`
}

func (n *navigation) frameStarted(_ *cdp.Session, e frameStarted) (changed bool) {
	n.step.Begin(e.NavigationType, e.LoaderID, e.FrameID)
	if e.FrameID != n.t.frames.main.id || e.NavigationType == "sameDocument" || e.NavigationType == "historySameDocument" {
		return false
	}
	url := withoutFragment(e.URL)
	switch {
	case n.opening.url == url:
		n.opening.begun = true
	case n.opening.begun, strings.HasPrefix(e.NavigationType, "reload") && url != withoutFragment(n.url):
		// The document that is being left asked for it: one that is there
		// cannot load another again.
		n.pulled = true
	}
	n.requested++
	n.t.appear(e.URL)
	return true
}

func withoutFragment(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}

func (n *navigation) frameStopped(_ *cdp.Session, e frameEvent) (changed bool) {
	if e.FrameID != n.t.frames.main.id {
		return false
	}
	n.stopped++
	return true
}

type lifecycle struct {
	FrameID  cdproto.FrameID  `json:"frameId"`
	LoaderID cdproto.LoaderID `json:"loaderId"`
	Name     string           `json:"name"`
}

func (n *navigation) lifecycle(_ *cdp.Session, e lifecycle) (changed bool) {
	if e.FrameID != n.t.frames.main.id || e.LoaderID != n.loader {
		return false
	}
	switch e.Name {
	case "DOMContentLoaded":
		if n.ready == "loading" {
			n.ready = "interactive"
		}
	case "load":
		n.ready = "complete"
	default:
		return false
	}
	n.askTitle()
	return true
}

func (n *navigation) requestSent(s *cdp.Session, e network.RequestSent) (changed bool) {
	if e.Type == "Document" && e.FrameID == n.t.frames.main.id {
		n.going, n.goingBy = e.Request.URL, e.RequestID
	}
	return n.t.requests.Sent(s, e)
}

func (n *navigation) responseReceived(s *cdp.Session, e network.ResponseReceived) (changed bool) {
	if e.Type == "Document" && e.FrameID == n.t.frames.main.id {
		n.statuses[e.LoaderID] = e.Response.Status
		if e.LoaderID == n.loader {
			n.status = e.Response.Status
		}
	}
	if e.Response.Status >= 400 {
		if of, ok := n.t.requests.Fail(e.RequestID); ok {
			n.t.c.reports().Failed(protocol.FailedRequest{Method: of.Method, URL: of.URL, Status: e.Response.Status})
		}
	}
	return n.t.requests.Received(n.t.name, s, e)
}

type loadingFailed struct {
	RequestID devnet.RequestID `json:"requestId"`
	ErrorText string           `json:"errorText"`
	Canceled  bool             `json:"canceled"`
	Blocked   string           `json:"blockedReason"`
	CORS      struct {
		Error string `json:"corsError"`
	} `json:"corsErrorStatus"`
}

// error is why, with what Chromium says beside net::ERR_FAILED.
func (e loadingFailed) error() string {
	if why := cmp.Or(e.CORS.Error, e.Blocked); why != "" {
		return e.ErrorText + " (" + why + ")"
	}
	return e.ErrorText
}

func (n *navigation) loadingFailed(_ *cdp.Session, e loadingFailed) (changed bool) {
	loader := cdproto.LoaderID(e.RequestID) // a navigation's request has its loader's id
	if !e.Canceled {
		if of, ok := n.t.requests.Fail(e.RequestID); ok {
			n.t.c.reports().Failed(protocol.FailedRequest{Method: of.Method, URL: of.URL, Error: e.error()})
		}
	}
	if kind, _ := n.t.requests.End(e.RequestID); kind == "Document" && n.failed == "" {
		n.failed, n.refreshing = e.ErrorText, false
	}
	if e.RequestID == n.goingBy && e.ErrorText != aborted && loader != n.loader {
		n.lost = &lostPage{url: n.going, reason: e.ErrorText}
	}
	if loader == n.loader && e.ErrorText != aborted {
		// The document broke off: what has come is all, and Chromium will report
		// neither DOMContentLoaded nor load of it.
		n.ready = "complete"
		n.askTitle()
	}
	n.step.Failed(loader, e.ErrorText)
	return true
}
