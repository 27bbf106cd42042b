package command

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/web/extract"
	"github.com/browserd/browserd/web/pdf"
	"github.com/browserd/browserd/web/search"
)

// Config says how the web tools make answers fit a model.
type Config struct {
	StripThresholdKB int `koanf:"strip_threshold_kb" workdir:"true" default:"200" doc:"kilobytes of text up to which web_fetch and http_request return a page whole; above it extract, or a cut; 0: never cut, and http_request strips no HTML"`
}

// Check says which value makes no sense.
func (c Config) Check() error {
	if c.StripThresholdKB < 0 {
		return fmt.Errorf("http.strip_threshold_kb: %d: accepts 0 or more", c.StripThresholdKB)
	}
	return nil
}

// Web is what web_fetch, web_search and http_request work with. Any goroutine
// may use it; it does not change.
type Web struct {
	Config Config
	// Transport sends the requests of calls for which operators have added nothing to the policy. Runtime.CheckURL
	// decides on each hop before it.
	Transport http.RoundTripper
	// TransportWithin returns a transport for one call, whose connections go through a gate with these options:
	// those of Transport are for everybody. nil: there is none.
	TransportWithin func(within policy.GateOptions) (http.RoundTripper, error)
	// Render opens a page in Chromium, apart from every session but within the options of its gate, and returns
	// what its script made of it. nil: there is never a Chromium.
	Render func(ctx context.Context, within policy.GateOptions, url string) (Rendered, error)
	// HasChromium reports whether Render may work now.
	HasChromium func() bool
	// Order are the sources that reading tries where there is no Chromium.
	Order []string
	// Reader reads pages elsewhere; nil: there is none.
	Reader *reader.Reader
	// Rest pauses the reader while it fails; needed where there is a reader.
	Rest    *fallback.Breaker
	Search  *search.Search
	Extract *extract.Extractor // nil: no endpoint
	PDF     *pdf.Reader        // nil: PDFs are not read
}

// Rendered is a page as its script left it.
type Rendered struct {
	HTML, URL string
	PDF       string // its text, where it is a PDF; empty: it is none
	Status    int
}

// Web returns the web tools as the call may use them, or unsupported where the
// daemon was built without.
func (c *Call) Web() (*WebCall, error) {
	if c.Runtime.Web == nil {
		return nil, protocol.Errorf(protocol.Unsupported, "%s needs access to the web, which this daemon has not been given", c.Command.Name)
	}
	return &WebCall{c.Runtime.Web, c.reach.within, c.CheckURL}, nil
}

// WebCall is the web tools in one call: they reach no more than the session that it
// names.
type WebCall struct {
	*Web
	Within   policy.GateOptions
	CheckURL func(ctx context.Context, url string) (string, error)
}

// LimitDomains finds the session that the call names, or the caller's own, without
// taking its turn: a web tool has nothing to do with its page. The domains that the
// session allows limit the web tool too, so that a page cannot make a model get
// around them. What an operator has added to the policy for the session holds too.
func (c *Call) LimitDomains() error {
	name := cmp.Or(c.Common.Session, OwnSession(c))
	if c.Runtime.Sessions != nil {
		c.reach = reach{within: policy.GateOptions{Additions: session.AdditionsOf(c.Runtime.Sessions, c.Caller.Agent)}}
	}
	if name == "" {
		return nil
	}
	s, err := c.Runtime.Sessions.Get(c.Caller.Agent, name)
	switch {
	case err == nil:
		c.reach = reach{s, session.GateOptions(s)}
	default:
		if elsewhere, unknown := routeToOwner(c, name); elsewhere || unknown != nil {
			return unknown
		}
		if c.Common.Session != "" {
			return err
		}
	}
	return nil
}

// Client sends the call's requests.
func (w *WebCall) Client() (*fetch.Client, error) {
	if w.TransportWithin == nil || w.Within.Additions.Empty() {
		return &fetch.Client{Transport: w.Transport}, nil
	}
	own, err := w.TransportWithin(w.Within)
	return &fetch.Client{Transport: own}, err
}
