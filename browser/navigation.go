package browser

import (
	"strings"

	cdproto "github.com/chromedp/cdproto/cdp"
	devnet "github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/event"
	"github.com/browserd/browserd/browser/history"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/browser/targets"
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
	responses    map[cdproto.LoaderID]mainResponse // of main documents, before they are committed
	step         *history.Step                     // under way; nil: none
}

// mainDocument is the document in the main frame, and how far it has loaded.
type mainDocument struct {
	url         string
	onErrorPage bool // the document at url did not load: Chromium shows its error page
	title       string
	status      int    // HTTP
	ready       string // loading, interactive, complete
	loader      cdproto.LoaderID
	document    int  // the context's count when the document was committed
	pdf         bool // it is the text of a PDF
}

// mainResponse is the response to a request for a main document.
type mainResponse struct {
	status int
	media  string // as Chromium has it
	pdf    bool   // it is answered with the text of a PDF
	failed error  // why the PDF cannot be read
}

// navigationCounts are how often something has happened to the main frame. An action
// compares them with what they were when it began.
type navigationCounts struct {
	commits      int // documents committed
	sameDocument int // navigations within a document
	requested    int // navigations that were asked for
	stopped      int // times that it stopped loading
}

// pendingNavigation is the navigation of the main frame that was asked for last.
type pendingNavigation struct {
	initialURL string // URL that a tab without a document loads; empty: none, or it has stopped
	requestURL string // URL of the last request for a main document, redirects followed
	requestID  devnet.RequestID
	failedLoad *failedLoad // the last of them that Chromium shows an error page for
	failed     string      // why the last of them failed; empty if it did not
	refreshing bool        // the document is about to load another, by a refresh that is due
	replaced   bool        // a document that was left has begun to load again, in place of the next
	opening    opening
	readingPDF bool // a PDF is opened for its text, even where downloads are allowed
}

// errorPage is the address of Chromium's page in the place of one that did not load.
const errorPage = "chrome-error://chromewebdata/"

// failedLoad is the main document of a navigation that failed.
type failedLoad struct {
	url    string // redirects followed
	reason string // net::ERR_…
}

// opening is a URL that is being opened, until its document is committed.
type opening struct {
	url   string
	begun bool // Chromium has begun with it
}

// newNavigation returns the navigation of a new tab, which shows an empty page.
func newNavigation(t *tab) navigation {
	return navigation{t: t, mainDocument: mainDocument{url: targets.Blank, ready: "complete"}, responses: map[cdproto.LoaderID]mainResponse{}}
}

// address returns the address of a document whose own URL is url. On Chromium's error page
// that is the address that failed to load, as in the address bar.
func (n *navigation) address(url string) string {
	if n.onErrorPage && url == errorPage {
		return n.url
	}
	return url
}

// setTitleAndURL stores the title and the address that the page script reported. The
// caller holds mu.
func (n *navigation) setTitleAndURL(title, url string) { n.title, n.url = title, n.address(url) }

// hasContent reports whether the document is parsed, and there to be asked. The caller holds mu.
func (n *navigation) hasContent() bool { return n.ready != "loading" && n.t.frames.main.doc != 0 }

// hasLoaded reports whether the document's load event has fired. The caller holds mu.
func (n *navigation) hasLoaded() bool { return n.ready == "complete" && n.t.frames.main.doc != 0 }

// frameNavigated handles Page.frameNavigated: a document was committed in a frame.
func (n *navigation) frameNavigated(s *cdp.Session, e event.FrameNavigated) (changed bool) {
	t, c := n.t, n.t.c
	f := t.frames.navigated(s, e)
	n.step.Done(f.id, e.Frame.LoaderID)
	if f != t.frames.main {
		return true
	}
	if t.throttle.Resume(s) {
		t.frames.forgetDocuments(s.ID())
	}
	c.documents++
	n.mainDocument = mainDocument{url: f.url, loader: e.Frame.LoaderID, ready: "loading", document: c.documents, status: n.responses[e.Frame.LoaderID].status, pdf: n.responses[e.Frame.LoaderID].pdf}
	if n.onErrorPage = f.url == errorPage; n.onErrorPage && e.Frame.Failed != "" {
		n.url = e.Frame.Failed
	}
	n.titleRequest = titleRequest{}
	n.commits++
	n.opening = opening{}
	n.failed, n.refreshing = "", false
	t.requests.Clear()
	for id := range n.responses {
		if id != n.loader {
			delete(n.responses, id)
		}
	}
	c.ShownAt(f.url)
	n.urlChanged()
	t.reportOpened(n.url)
	c.emit(protocol.EventNavigated, map[string]any{"tab": t.name, "url": n.url, "status": n.status, "document": n.document})
	return true
}

// urlChanged adds the new URL to the effects of the action under way, if the action is in this tab.
func (n *navigation) urlChanged() {
	if c := n.t.c; c.selected == n.t {
		c.effects.navigatedTo(n.url)
	}
}

func (n *navigation) navigatedWithin(_ *cdp.Session, e event.NavigatedWithin) (changed bool) {
	f := n.t.frames.byID[e.FrameID]
	if f == nil {
		return false
	}
	f.url = e.URL
	n.step.Done(f.id, "")
	if f == n.t.frames.main {
		n.url = e.URL
		n.sameDocument++
		n.urlChanged()
	}
	return true
}

func (n *navigation) frameRequested(_ *cdp.Session, e event.FrameRequested) (changed bool) {
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

// maxRefreshDelay is how long a refresh may be put off and still belong to the
// navigation, in seconds: Chromium replaces the entry of the history up to there.
const maxRefreshDelay = 1

// frameScheduled notes that a document has a refresh, by a meta element or a Refresh header.
func (n *navigation) frameScheduled(_ *cdp.Session, e event.FrameScheduled) (changed bool) {
	if e.FrameID != n.t.frames.main.id || e.Delay > maxRefreshDelay || withoutFragment(e.URL) == withoutFragment(n.url) {
		return false
	}
	n.refreshing = true
	return true
}

func (n *navigation) frameStarted(_ *cdp.Session, e event.FrameStarted) (changed bool) {
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
		n.replaced = true
	}
	n.requested++
	n.initialURL = e.URL
	n.t.reportOpened(e.URL)
	return true
}

func withoutFragment(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}

func (n *navigation) frameStopped(_ *cdp.Session, e event.Frame) (changed bool) {
	if e.FrameID != n.t.frames.main.id {
		return false
	}
	n.stopped++
	n.initialURL = ""
	return true
}

func (n *navigation) lifecycle(_ *cdp.Session, e event.Lifecycle) (changed bool) {
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
		n.requestURL, n.requestID = e.Request.URL, e.RequestID
	}
	changed = n.t.requests.Sent(s, e)
	n.t.c.routes.Retry()
	return changed
}

func (n *navigation) responseReceived(s *cdp.Session, e network.ResponseReceived) (changed bool) {
	if e.Type == "Document" && e.FrameID == n.t.frames.main.id {
		r := n.responses[e.LoaderID]
		r.status, r.media = e.Response.Status, e.Response.MimeType
		n.responses[e.LoaderID] = r
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

func (n *navigation) loadingFailed(_ *cdp.Session, e event.LoadingFailed) (changed bool) {
	loader := cdproto.LoaderID(e.RequestID) // a navigation's request has its loader's id
	if !e.Canceled {
		if of, ok := n.t.requests.Fail(e.RequestID); ok {
			n.t.c.reports().Failed(protocol.FailedRequest{Method: of.Method, URL: of.URL, Error: e.Why()})
		}
	}
	if kind, _ := n.t.requests.End(e.RequestID); kind == "Document" && n.failed == "" {
		n.failed, n.refreshing = e.ErrorText, false
	}
	if e.RequestID == n.requestID && e.ErrorText != aborted && loader != n.loader {
		n.failedLoad = &failedLoad{url: n.requestURL, reason: e.ErrorText}
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
