package actions

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/web/extract"
	"github.com/browserd/browserd/web/search"
)

// Config says how the web tools make answers fit a model.
type Config struct {
	StripThresholdKB int `koanf:"strip_threshold_kb" default:"200" doc:"kilobytes of text up to which web_fetch and http_request return a page whole; above it extract, or a cut; 0: never cut, and http_request strips no HTML"`
}

// Check says which value makes no sense.
func (c Config) Check() error {
	if c.StripThresholdKB < 0 {
		return fmt.Errorf("http.strip_threshold_kb: %d: takes 0 or more", c.StripThresholdKB)
	}
	return nil
}

// Web is what web_fetch, web_search and http_request work with. Any goroutine
// may use it; it does not change.
type Web struct {
	Config Config
	// Transport is the way out. Before each hop the house's CheckURL is asked.
	Transport http.RoundTripper
	// Render opens a page in Chromium, apart from every session, and returns
	// what its script made of it; it reaches those domains alone, where there are
	// any. nil: there is never a Chromium.
	Render func(ctx context.Context, domains []string, url string) (Rendered, error)
	// HasChromium says whether Render may work now.
	HasChromium func() bool
	// Order are the sources that reading tries where there is no Chromium.
	Order []string
	// Reader reads pages elsewhere; nil: there is none.
	Reader *reader.Reader
	// Rest leaves the reader alone while it fails; needed where there is one.
	Rest    *fallback.Breaker
	Search  *search.Search
	Extract *extract.Extractor // nil: no endpoint
}

// Rendered is a page as its script left it.
type Rendered struct {
	HTML, URL string
	Status    int
}

// web returns the web tools as the call may use them, or unsupported where the
// daemon was built without.
func (c *Call) web() (*webCall, error) {
	if c.House.Web == nil {
		return nil, protocol.Errorf(protocol.Unsupported, "%s has no way to the web in this daemon", c.Command.Name)
	}
	return &webCall{c.House.Web, c.domains, c.checkURL}, nil
}

// webCall is the web tools in one call: what the session that it names may not
// reach, they may not either.
type webCall struct {
	*Web
	domains  []string
	checkURL func(ctx context.Context, url string) (string, error)
}

// alone keeps a web tool out of the session's queue: it is nothing of a page's.
// But the session that the call names, or the connection's own, narrows where
// it goes: what a page makes a model ask for must not get around that.
func alone(c *Call) error {
	name := cmp.Or(c.Common.Session, c.Caller.Session())
	if name == "" {
		return nil
	}
	s, err := c.House.Sessions.Get(c.Caller.Agent, name)
	switch {
	case err == nil:
		c.domains = s.AllowedDomains()
	case c.Common.Session != "":
		return err
	}
	return nil
}

func (w *Web) client() *fetch.Client { return &fetch.Client{Transport: w.Transport} }
