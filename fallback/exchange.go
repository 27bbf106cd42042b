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
	// maxRedirects is how many redirects a browser follows.
	maxRedirects = 20
	// longest is how long one answer may take; the command's own time ends sooner.
	longest = 2 * time.Minute
	// maxDocument is where a document is cut, in bytes.
	maxDocument = 20 << 20
)

// request is what a navigation asks for.
type request struct {
	method      string // GET or POST
	to          address
	contentType string
	body        []byte
	from        address // of the document that asks; zero: nobody's
	policy      string  // its referrer policy
	rereads     bool    // reload: the caches on the way are asked to look again
}

// answer is what came of a request, redirects followed.
type answer struct {
	at        address
	status    int
	header    http.Header
	body      []byte
	truncated bool
}

// exchange sends a request, follows its redirects as a browser does (Fetch
// 4.4, HTTP-redirect fetch), and keeps the cookies. Every hop is asked of the
// gate. Errors: the gate's, and those of fetch.Client.Do.
func (p *Page) exchange(ctx context.Context, r request) (*answer, error) {
	refers := ""
	if r.from.scheme != "" {
		refers = r.from.String()
	}
	origin := r.from // of whom Origin speaks
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
		got, err := p.client.Do(exactly(ctx, to), fetch.Request{
			Method: r.method, URL: to.request(), Header: h, Body: r.body, MaxRedirects: -1, MaxBytes: maxDocument, Timeout: longest,
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
			origin = address{} // on its way to another site it speaks for nobody
		}
		r.to, r.policy = next, policyIn(got.Header, r.policy)
	}
}

// header is what every request of the page says.
func (p *Page) header(r request) http.Header {
	h := http.Header{}
	h.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	h.Set("Accept-Language", acceptLanguage(p.o.Locale))
	h.Set("Upgrade-Insecure-Requests", "1")
	if p.o.UserAgent != "" {
		h.Set("User-Agent", p.o.UserAgent)
	}
	if r.rereads {
		h.Set("Cache-Control", "max-age=0")
	}
	if r.contentType != "" {
		h.Set("Content-Type", r.contentType)
	}
	for k, v := range p.o.Headers {
		h.Set(k, v)
	}
	return h
}

// acceptLanguage writes a locale as Chromium's Accept-Language.
func acceptLanguage(locale string) string {
	if locale == "" {
		locale = "en-US"
	}
	if language, _, ok := strings.Cut(locale, "-"); ok {
		return locale + "," + language + ";q=0.9"
	}
	return locale
}

type exactKey struct{}

// exactly has wire send the very bytes of a URL's path and query.
func exactly(ctx context.Context, to address) context.Context {
	return context.WithValue(ctx, exactKey{}, to.path+to.query)
}

// wire is a transport that sends a URL as a browser writes it, where net/url
// would escape more or less of it.
type wire struct{ http.RoundTripper }

func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	exact, ok := req.Context().Value(exactKey{}).(string)
	if !ok || exact == req.URL.RequestURI() || strings.HasPrefix(exact, "//") {
		return w.RoundTripper.RoundTrip(req)
	}
	sent := req.Clone(req.Context())
	sent.URL.Opaque, sent.URL.RawQuery, sent.URL.ForceQuery = exact, "", false
	return w.RoundTripper.RoundTrip(sent)
}

func cut(s string) string { return protocol.Cut(s, 80) }
