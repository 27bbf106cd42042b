package fallback

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Gate is a session's way out (policy.Gate).
type Gate interface {
	CheckURL(ctx context.Context, url string) (canonical string, err error)
	Transport() *http.Transport
	// Public says why a URL may not be told to a reader: it leads to no public address.
	Public(ctx context.Context, url string) error
}

// Options are what a Page is made with. Gate and Ladder are needed.
type Options struct {
	Gate      Gate
	Ladder    *Ladder
	Locale    string            // BCP 47; empty: en-US
	UserAgent string            // empty: fetch.UserAgent
	Headers   map[string]string // sent with every request
	Restore   *protocol.Restore // cookies to start with
	// Tried are the sources that were tried before this one, told with the
	// first document.
	Tried []protocol.Attempt
}

// Page is one session's browsing without a browser.
type Page struct {
	o      Options
	client *fetch.Client
	pool   *http.Transport
	jar    *Jar
	done   chan struct{}

	// Only the session's driver touches these.
	history history
	left    []int             // documents that were left and that the refs do not know of yet
	source  string            // of the last open: auto, http or jina
	origins []protocol.Origin // of a state that was loaded: kept for who can use them

	mu       sync.Mutex
	state    protocol.Page
	attempts []protocol.Attempt
	closed   bool
}

// New makes a Page on about:blank; Close ends it.
func New(o Options) *Page {
	p := &Page{o: o, jar: NewJar(), done: make(chan struct{}), source: "auto", attempts: o.Tried}
	p.pool = o.Gate.Transport()
	p.client = &fetch.Client{Transport: wire{p.pool}}
	p.state = protocol.Page{Tab: "t1", URL: blank, Source: HTTP, Ready: "complete"}
	if o.Restore != nil {
		p.jar.restore(o.Restore)
		p.state.Document = o.Restore.Documents
	}
	return p
}

const blank = "about:blank"

// State says where the page is.
func (p *Page) State() protocol.Page {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Attempts are the sources that were tried for the document that is open, or
// that could not be opened.
func (p *Page) Attempts() []protocol.Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.attempts)
}

// Restore is what another page could go on from: the URL and the cookies.
func (p *Page) Restore() protocol.Restore {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := protocol.Restore{URL: p.state.URL, Documents: p.state.Document}
	r.Cookies, r.CookieCount = p.jar.export()
	return r
}

// Done closes when the page is closed: nothing else ends it.
func (p *Page) Done() <-chan struct{} { return p.done }

// Close ends the page's connections. Closing twice is harmless.
func (p *Page) Close(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		close(p.done)
		p.pool.CloseIdleConnections()
	}
	return nil
}

// Act does one action. Errors: those of a ref, not_actionable, invalid_params,
// unsupported for what needs a browser, and those of Open.
func (p *Page) Act(ctx context.Context, refs *snapshot.Refs, a protocol.Act) (r protocol.Outcome, err error) {
	switch o := a.Action.(type) {
	case protocol.Click:
		r.Effect, err = p.click(ctx, refs, o)
	case protocol.Type:
		r.Effect, err = p.typeText(ctx, refs, o)
	case protocol.Select:
		r.Selected, r.Effect, err = p.selectOptions(refs, o)
	case protocol.Check:
		r.Effect, err = p.check(refs, o)
	case protocol.Upload:
		r.Effect, err = p.upload(refs, o)
	default:
		err = protocol.Errorf(protocol.Unsupported, "a static page has no keyboard and no pointer").With("source", p.State().Source).
			Then("open the page with source chromium where there is one")
	}
	return r, err
}

// Capture reads the document for a snapshot. Errors: those of a ref or a
// selector in o.
func (p *Page) Capture(ctx context.Context, o snapshot.Options, refs *snapshot.Refs) (snapshot.Capture, error) {
	d := p.document(refs)
	got, err := d.static.Capture(ctx, o, refs, d.controls)
	got.URL = p.State().URL // with the fragment that was gone to since
	return got, err
}

// document is the open document; the refs forget those that were left.
func (p *Page) document(refs *snapshot.Refs) *document {
	for _, doc := range p.left {
		refs.Forget(doc)
	}
	p.left = nil
	if p.history.now == nil {
		p.history.now = p.empty()
	}
	return p.history.now
}
