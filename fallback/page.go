package fallback

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Gate is a session's egress (policy.Gate). Any goroutine may call it.
type Gate interface {
	// CheckURL returns the canonical form of a URL that may be opened, else policy_denied.
	CheckURL(ctx context.Context, url string) (canonical string, err error)
	// Transport returns a new transport that dials only what the policy allows.
	Transport() *http.Transport
	// Public returns an error for a URL whose host is not a public address.
	Public(ctx context.Context, url string) error
}

// Options are the parameters of New. Gate and Sources are required.
type Options struct {
	Gate      Gate
	Sources   *SourceChain
	Locale    string            // BCP 47; empty: en-US
	UserAgent string            // empty: fetch.UserAgent
	Headers   *protocol.Headers // nil: none
	Restore   *protocol.Restore // cookies to start with
	// Tried are attempts made before this page. Attempts returns them with the first
	// document.
	Tried []protocol.Attempt
}

// Page is one session's browsing without a browser: one tab, its history and cookies.
type Page struct {
	o    Options
	pool *http.Transport
	jar  *Jar
	done chan struct{}

	// Only the goroutine that runs the session's commands uses these.
	history history
	left    []int             // numbers of documents that were left, until document makes the refs forget them
	source  string            // what the last open asked for: auto, http or jina
	origins []protocol.Origin // storage of the state that was loaded, for SaveState

	mu       sync.Mutex // guards the fields below
	state    protocol.Page
	attempts []protocol.Attempt
	closed   bool
}

// New returns a Page on about:blank. The caller closes it.
func New(o Options) *Page {
	p := &Page{o: o, jar: NewJar(), done: make(chan struct{}), source: "auto", attempts: o.Tried}
	p.pool = o.Gate.Transport()
	p.state = protocol.Page{Tab: "t1", URL: blank, Source: HTTP, Ready: "complete"}
	if o.Restore != nil {
		p.jar.restore(o.Restore)
		p.state.Document = o.Restore.Documents
	}
	return p
}

const blank = "about:blank"

// SetHeaders gives headers to the page's requests to their origins, in place of those before.
func (p *Page) SetHeaders(_ context.Context, h *protocol.Headers) error {
	p.o.Headers = h
	return nil
}

// State returns the URL, title and status of the page.
func (p *Page) State() protocol.Page {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Attempts returns the sources that were tried for the last document opened, or for one
// that could not be opened.
func (p *Page) Attempts() []protocol.Attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.attempts)
}

// Restore returns what another page needs to continue from here: the URL and the cookies.
func (p *Page) Restore() protocol.Restore {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := protocol.Restore{URL: p.state.URL, Documents: p.state.Document}
	r.Cookies, r.CookieCount = p.jar.export()
	return r
}

// Done returns a channel that is closed when the page is closed.
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

// actor does one action on the page, for the client whose refs it has.
type actor struct {
	*Page
	refs *snapshot.Refs
}

// Act does one action. Errors: those of a ref, not_actionable, invalid_params,
// unsupported for what needs a browser, and those of Open.
func (p *Page) Act(ctx context.Context, refs *snapshot.Refs, do protocol.Act) (r protocol.Outcome, err error) {
	a := actor{p, refs}
	switch o := do.Action.(type) {
	case protocol.Click:
		r.Effect, err = a.click(ctx, o)
	case protocol.Type:
		r.Effect, err = a.typeText(ctx, o)
	case protocol.Select:
		r.Selected, r.Effect, err = a.selectOptions(o)
	case protocol.Check:
		r.Effect, err = a.check(o)
	case protocol.Upload:
		r.Effect, err = a.upload(o)
	default:
		err = protocol.Errorf(protocol.Unsupported, "a static page has no keyboard and no pointer").With("source", p.State().Source).
			Then("open the page with source chromium where there is one")
	}
	return r, err
}

// Capture reads the document for a snapshot. The errors are those of a ref or a selector
// in o.
func (p *Page) Capture(ctx context.Context, o snapshot.Options, refs *snapshot.Refs) (snapshot.Capture, error) {
	d := p.document(refs)
	got, err := d.tree.Capture(ctx, o, refs, d.controls)
	got.URL = p.State().URL // with the fragment of a navigation within the document
	return got, err
}

// document returns the open document, after refs, which must not be nil, has forgotten those
// that were left.
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
