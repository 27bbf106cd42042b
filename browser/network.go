package browser

import (
	"context"
	"slices"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/protocol"
)

// records are what the context records of its console and network: the log, the routes
// that block or answer requests, and the downloads. Each guards its own state, and may be
// told of an event while the context's mu is held.
type records struct {
	c         *Context
	log       network.Log
	routes    network.Routes
	downloads *network.Downloads // set once, when the context is made
}

// Console returns what the session's pages wrote to the console, oldest first,
// and the number to ask from next time. Any goroutine may call it.
func (r *records) Console(q protocol.Watching) ([]protocol.Console, int) { return r.log.Console(q) }

// Network returns the requests of the session's pages, oldest first, and the
// number to ask from next time. Any goroutine may call it. Errors:
// invalid_params where there is no entry of that id.
func (r *records) Network(ctx context.Context, q protocol.Watching) ([]protocol.Exchange, int, error) {
	return r.log.Requests(ctx, q)
}

// Downloads lists what the session's pages offered for download: see
// [network.Downloads.List].
func (r *records) Downloads(ctx context.Context, name string, wait bool) ([]protocol.Download, error) {
	return r.downloads.List(ctx, name, wait)
}

// DownloadContent reads a part of a finished download: see
// [network.Downloads.Content].
func (r *records) DownloadContent(name string, offset int64, n int) (content []byte, size int64, err error) {
	return r.downloads.Content(name, offset, n)
}

// SetRoutes makes routes what becomes of the requests of the session's pages,
// those that are open and those to come. Requests are paused for it only while
// there are routes, and only those that match one. Errors: invalid_params (an
// unknown kind).
func (r *records) SetRoutes(ctx context.Context, routes []protocol.Route) error {
	return r.routes.Set(ctx, routes, r.c.sessions())
}

// SetHeaders gives headers to the requests of the session's pages, those that are open
// and those to come, as far as they go to the origins of the headers. Any before are gone.
func (r *records) SetHeaders(ctx context.Context, h *protocol.Headers) error {
	return r.routes.SetHeaders(ctx, h, r.c.sessions())
}

// sessions returns the CDP sessions of all pages, out-of-process frames and workers.
func (c *Context) sessions() (sessions []*cdp.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tabs {
		sessions = append(sessions, t.cdp)
		for _, child := range t.frames.sessions {
			sessions = append(sessions, child)
		}
	}
	for _, w := range c.workers {
		sessions = append(sessions, w)
	}
	return sessions
}

// Routes returns the session's routes, each with the number of requests that it has
// matched.
func (r *records) Routes() []protocol.Route { return r.routes.List() }

// requestPaused answers a request that a route or its headers have paused. While the proxy's
// challenge is answered, network.AnswerChallenge has the requests.
func (t *tab) requestPaused(s *cdp.Session, e network.PausedRequest) (changed bool) {
	if t.answeringChallenge.Load() {
		return false
	}
	if e.Response() {
		f := t.frames.byID[e.FrameID]
		go t.documentPaused(s, e, f != nil && f.parent == nil && e.Type == "Document") // ends with the tab
		return false
	}
	t.c.routes.Paused(s, e, func() (network.Initiator, bool) {
		var own, parent *network.Frame
		if f := t.frames.byID[e.FrameID]; f != nil {
			own = &f.requester
			if f.parent != nil {
				parent = &f.parent.requester
			}
		}
		return t.requests.Initiator(e, own, parent)
	})
	return false
}

// downloadBegins gives a download to the context whose frame began it. One
// that belongs to none, since its tab was closed meanwhile, is cancelled wherever it is.
func (h *host) downloadBegins(e network.DownloadBegins) {
	all := h.all()
	if slices.ContainsFunc(all, func(c *Context) bool { return c.downloadBegins(e) }) {
		return
	}
	for _, c := range all {
		c.downloads.Disown(e.GUID)
	}
}

// downloadBegins notes a download that a frame of this context began; false
// where the frame is not one of its own.
func (r *records) downloadBegins(e network.DownloadBegins) bool {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tabs {
		if t.frames.byID[e.FrameID] == nil {
			continue
		}
		if !t.nav.withholdsPDF(e.URL) {
			c.reports().Download(r.downloads.Begin(t.name, e))
		}
		t.nav.failed = "download"
		t.wake()
		return true
	}
	return false
}
