package browser

import (
	"context"

	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/network"
)

// maxPDF is how many bytes of a PDF are read.
const maxPDF = 50 << 20

// gotPDF reports whether the last request for a main document was answered with a PDF, which
// Chromium does not show, or shows in a plug-in; unread is why the PDF could not be read, if
// that was tried.
func (n *navigation) gotPDF() (pdf bool, unread error) {
	c := n.t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	r := n.responses[cdproto.LoaderID(n.requestID)]
	return c.o.ReadPDF != nil && network.IsPDF(r.media), r.failed
}

// withholdsPDF reports whether a download is the PDF that Open will show in its place. The
// caller holds mu.
func (n *navigation) withholdsPDF(url string) bool {
	return n.opening.url != "" && n.t.c.o.ReadPDF != nil && !n.t.c.downloads.Allowed() && url == n.requestURL && network.IsPDF(n.responses[cdproto.LoaderID(n.requestID)].media)
}

// documentPaused answers a document's request that is paused at its response: a PDF in the
// main frame that is no download with the page of its text.
func (t *tab) documentPaused(s *cdp.Session, e network.PausedRequest, top bool) {
	c := t.c
	c.mu.Lock()
	read := c.o.ReadPDF
	show := top && read != nil && e.PDF() && (!c.downloads.Allowed() || t.nav.readingPDF)
	c.mu.Unlock()
	if !show {
		network.GoOn(s, e)
		return
	}
	network.ShowPDF(t.life, s, e, maxPDF, read, func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.nav.responses[e.NetworkID] = mainResponse{status: e.Status, media: "text/html", pdf: err == nil, failed: err}
	})
}

// openPDF loads the PDF at the main frame's address once more, as the page of its text.
func (t *tab) openPDF(ctx context.Context, load func() error) error {
	c := t.c
	if err := c.routes.PauseDocuments(ctx, c.sessions()); err != nil {
		return err
	}
	reading := func(yes bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.nav.readingPDF = yes
	}
	reading(true)
	defer reading(false)
	return load()
}
