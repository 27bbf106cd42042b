package actions

import (
	"context"
	"fmt"
	"net/http"

	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/fallback/extract"
	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/fallback/search"
	"github.com/browserd/browserd/protocol"
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
	// Transport is the way out, and CheckURL what is asked before each hop.
	Transport http.RoundTripper
	CheckURL  func(ctx context.Context, url string) (string, error)
	// Render opens a page in Chromium, apart from every session, and returns
	// what its script made of it. nil: there is never a Chromium.
	Render func(ctx context.Context, url string) (Rendered, error)
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

// web returns the web tools, or unsupported where the daemon was built without.
func (c *Call) web() (*Web, error) {
	if c.House.Web == nil {
		return nil, protocol.Errorf(protocol.Unsupported, "%s has no way to the web in this daemon", c.Command.Name)
	}
	return c.House.Web, nil
}

// alone keeps a web tool out of the session's queue: it is nothing of a page's.
func alone(*Call) error { return nil }

func (w *Web) client() *fetch.Client { return &fetch.Client{Transport: w.Transport} }
