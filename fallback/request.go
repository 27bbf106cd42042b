package fallback

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/protocol"
)

const (
	// maxRedirects is how many redirects are followed, as in Chromium (Fetch 4.4).
	maxRedirects = 20
	// maxTime is how long one response may take. The command's own deadline is usually
	// sooner.
	maxTime = 2 * time.Minute
	// maxDocument is the bytes at which a document is cut.
	maxDocument = 20 << 20
)

// request is the request of a navigation.
type request struct {
	method      string // GET or POST
	to          address
	contentType string
	body        []byte
	from        address // of the document that navigates; zero for none
	policy      string  // the referrer policy of that document
	reload      bool    // caches must revalidate
}

// answer is the response to a request, after redirects.
type answer struct {
	at        address
	status    int
	header    http.Header
	body      []byte
	truncated bool
}

// exchange sends a request, follows its redirects (Fetch 4.4, HTTP-redirect fetch) and
// stores the cookies. The gate checks the URL of every hop. The errors are the gate's and
// those of fetch.Client.Do.
func (p *Page) exchange(ctx context.Context, r request) (*answer, error) {
	refers := ""
	if r.from.scheme != "" {
		refers = r.from.String()
	}
	origin := r.from // for the header Origin
	for hops := 0; ; hops++ {
		checked, err := p.o.Gate.CheckURL(ctx, r.to.String())
		if err != nil {
			return nil, err
		}
		to, ok := parseAddress(checked, "")
		if !ok {
			return nil, protocol.Errorf(protocol.NavigationFailed, "%s cannot be fetched", cut(checked)).With("reason", "scheme")
		}
		h := p.header(r)
		// As in Chromium: what posts, and was asked for by a document, gets them if that
		// document's origin is one of theirs too.
		asked := r.method == http.MethodGet || r.from.scheme == "" || p.o.Headers.Names(origin.origin())
		if p.o.Headers.Names(to.origin()) && asked {
			for k, v := range p.o.Headers.Values {
				h.Set(k, v)
			}
		}
		if from, ok := parseAddress(refers, ""); ok {
			if refers = referer(r.policy, from, to); refers != "" {
				h.Set("Referer", refers)
			}
		}
		if r.method != http.MethodGet {
			h.Set("Origin", originHeader(r.policy, origin, to))
		}
		cookies := p.jar.Header(to)
		if r.from.scheme != "" && r.from.site() != to.site() {
			cookies = p.jar.Across(to, r.method)
		}
		if cookies != "" {
			h.Set("Cookie", cookies)
		}
		client := fetch.Client{Transport: exactTransport{p.pool, to.path + to.query}}
		got, err := client.Do(ctx, fetch.Request{
			Method: r.method, URL: to.request(), Header: h, Body: r.body, MaxRedirects: -1, MaxBytes: maxDocument, Timeout: maxTime,
		})
		if err != nil {
			return nil, err
		}
		p.jar.Receive(to, got.Header)
		location := got.Header.Get("Location")
		if location == "" || !fetch.Redirects(got.Status) {
			return &answer{to, got.Status, got.Header, got.Body, got.Truncated}, nil
		}
		if hops == maxRedirects {
			return nil, protocol.Errorf(protocol.NavigationFailed, "%s redirects more than %d times", hostOf(to.authority), maxRedirects).With("reason", "redirect_loop")
		}
		next, other := to.resolve(location, "")
		if other != "" {
			return nil, protocol.Errorf(protocol.NavigationFailed, "%s redirects to a %s: address, which is not followed", hostOf(to.authority), cut(other)).With("reason", "bad_redirect")
		}
		if next.fragment == "" {
			next.fragment = to.fragment
		}
		if r.method == http.MethodPost && got.Status != http.StatusTemporaryRedirect && got.Status != http.StatusPermanentRedirect {
			r.method, r.body, r.contentType = http.MethodGet, nil, ""
		}
		if next.origin() != to.origin() {
			origin = address{} // after a redirect to another origin, Origin is null (Fetch 4.4)
		}
		r.to, r.policy = next, policyIn(got.Header, r.policy)
	}
}

// header returns the headers of a request, without cookies, referrer and those of Options.
func (p *Page) header(r request) http.Header {
	h := http.Header{}
	h.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	h.Set("Accept-Language", acceptLanguage(p.o.Locale))
	h.Set("Upgrade-Insecure-Requests", "1")
	if p.o.UserAgent != "" {
		h.Set("User-Agent", p.o.UserAgent)
	}
	if r.reload {
		h.Set("Cache-Control", "max-age=0")
	}
	if r.contentType != "" {
		h.Set("Content-Type", r.contentType)
	}
	return h
}

// acceptLanguage returns Chromium's Accept-Language for a locale.
func acceptLanguage(locale string) string {
	if locale == "" {
		locale = "en-US"
	}
	if language, _, ok := strings.Cut(locale, "-"); ok {
		return locale + "," + language + ";q=0.9"
	}
	return locale
}

// exactTransport sends the path and query of a URL byte for byte as a browser writes
// them, where net/url would escape more or less.
type exactTransport struct {
	http.RoundTripper
	requestURI string
}

func (t exactTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.requestURI == req.URL.RequestURI() || strings.HasPrefix(t.requestURI, "//") {
		return t.RoundTripper.RoundTrip(req)
	}
	sent := req.Clone(req.Context())
	sent.URL.Opaque, sent.URL.RawQuery, sent.URL.ForceQuery = t.requestURI, "", false
	return t.RoundTripper.RoundTrip(sent)
}

// cut shortens a string from elsewhere for a message.
func cut(s string) string { return protocol.Cut(s, 80) }
