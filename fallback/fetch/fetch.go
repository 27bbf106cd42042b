// Package fetch fetches one document over HTTP. It follows redirects and asks the caller
// about every hop, decodes and limits bodies as a stream, and decodes text from its charset.
//
// It owns the limits of one exchange: bytes, compression ratio, redirects, headers, time. It
// never decides where a request may go: the Check of a Request and the dialer of the
// Transport (policy.Gate) do. It has no state, so any goroutine may use a Client; cookies
// are the caller's.
package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
)

// The default limits of an exchange.
const (
	DefaultMaxBytes     = 10 << 20
	DefaultMaxRedirects = 10
	DefaultTimeout      = 30 * time.Second
	// MaxHeaderBytes is the longest header of a response, 1xx included. Set it as the
	// Transport's MaxResponseHeaderBytes.
	MaxHeaderBytes = 64 << 10
	// UserAgent is sent where a request names none.
	UserAgent = "Mozilla/5.0 (compatible; browserd; +https://github.com/browserd/browserd)"
)

// Client fetches through one transport.
type Client struct {
	// Transport sends the requests. Its Proxy must be nil, or HTTP_PROXY of the
	// environment would bypass its dialer.
	Transport http.RoundTripper
}

// Request is what to fetch. Only URL is required.
type Request struct {
	Method string // "": GET
	URL    string // absolute, http or https
	// Header is sent as it is, at the first hop; see Do for the others. Without
	// a User-Agent, Accept or Accept-Encoding in it, fetch sends its own.
	Header http.Header
	// Own are headers that the daemon sets itself and that every server may see: each hop has
	// those of them that its Header does not name.
	Own  http.Header
	Body []byte
	// Jar gives each hop its cookies and keeps those that are set; nil: none.
	Jar http.CookieJar
	// MaxRedirects is how many are followed before the exchange fails; 0:
	// DefaultMaxRedirects; below 0: none, and a 3xx is the response.
	MaxRedirects int
	// MaxBytes is where the decoded body is cut; 0: DefaultMaxBytes.
	MaxBytes int64
	// Timeout is for the whole exchange, body included; 0: DefaultTimeout. It
	// cuts a body that has begun and fails one that has not.
	Timeout time.Duration
	// Check is asked before each hop, the first too, whether the URL may be
	// fetched, and returns it as it is to be requested; its error ends the
	// exchange as it is. nil: every URL, unchanged.
	Check func(ctx context.Context, url string) (string, error)
}

// The reasons for which a body was cut.
const (
	CutBytes      = "bytes"      // longer than MaxBytes
	CutRatio      = "ratio"      // decodes to more than maxRatio times the bytes sent
	CutDeadline   = "deadline"   // not read within Timeout
	CutConnection = "connection" // the server ended it early
	CutCoding     = "coding"     // its content coding ended early or is invalid
)

// Response is the response after redirects.
type Response struct {
	URL        string // of the last hop, with its fragment
	Status     int
	StatusText string // "404 Not Found"
	Proto      string // "HTTP/1.1"
	Header     http.Header
	Body       []byte // content coding undone
	Truncated  bool   // Body is not all of it
	Cut        string // why, one of the words above
	Hops       []Hop  // the redirects that were followed, in order
}

// Hop is one redirect: the URL that returned it, and its status.
type Hop struct {
	URL    string
	Status int
}

// Do sends the request and follows its redirects as a browser does (Fetch standard,
// HTTP-redirect fetch): POST becomes GET at 301, 302 and 303, other methods at 303, without
// the body; 307 and 308 repeat both. At a hop to another origin it drops the whole Header for
// good, but for the type of a body that is repeated. Own stays.
//
// Do ends a little before ctx does, so that it can return the part of a body that it has
// read. Any HTTP status is a response. The error is Check's, ctx's cause, or a
// *protocol.Error: Timeout, InvalidParams for a request that HTTP cannot express, or
// NavigationFailed with one of the words of failure in details.reason. Messages name the
// host and never the rest of a URL.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	timeout := within(ctx, or(r.Timeout, DefaultTimeout))
	own, cancel := context.WithTimeoutCause(ctx, timeout, errDeadline)
	defer cancel()
	h := hop{method: or(r.Method, http.MethodGet), url: r.URL, header: r.Header.Clone(), body: r.Body}
	if h.header == nil {
		h.header = http.Header{}
	}
	out := &Response{}
	for {
		u, err := checked(own, r.Check, h.url)
		if err != nil {
			return nil, ended(ctx, own, err, hostOf(h.url), timeout)
		}
		resp, err := c.send(own, r, h, u)
		if err != nil {
			return nil, ended(ctx, own, err, u.Host, timeout)
		}
		if r.Jar != nil {
			r.Jar.SetCookies(u, resp.Cookies())
		}
		location := resp.Header.Get("Location")
		if r.MaxRedirects < 0 || !Redirects(resp.StatusCode) || location == "" {
			err := out.readResponse(own, resp, u, or(r.MaxBytes, DefaultMaxBytes))
			if err != nil {
				return nil, ended(ctx, own, err, u.Host, timeout)
			}
			return out, nil
		}
		resp.Body.Close()
		out.Hops = append(out.Hops, Hop{u.String(), resp.StatusCode})
		if limit := or(r.MaxRedirects, DefaultMaxRedirects); len(out.Hops) > limit {
			return nil, failed("redirect_loop", u.Host, "%s redirects more than %d times", hostOf(r.URL), limit)
		}
		if h, err = h.next(u, resp.StatusCode, location); err != nil {
			return nil, failed("bad_redirect", u.Host, "%s redirects to %q, which is no URL", u.Host, short(location))
		}
	}
}

// send sends one request and returns the response without reading its body.
func (c *Client) send(ctx context.Context, r Request, h hop, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, h.method, u.String(), bytes.NewReader(h.body))
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "the request cannot be sent: %w", err)
	}
	if len(h.body) == 0 {
		// A POST without a body has Content-Length: 0, a GET has none.
		req.Body, req.GetBody = http.NoBody, nil
	}
	req.Header = h.header.Clone()
	for name, values := range r.Own {
		if _, named := req.Header[name]; !named {
			req.Header[name] = values
		}
	}
	setDefault(req.Header, "User-Agent", UserAgent)
	setDefault(req.Header, "Accept", "*/*")
	// Set by hand, so that the transport undoes no coding itself.
	setDefault(req.Header, "Accept-Encoding", acceptEncoding)
	if r.Jar != nil {
		for _, cookie := range r.Jar.Cookies(u) {
			req.AddCookie(cookie)
		}
	}
	resp, err := c.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols || headerBytes(resp.Header) > MaxHeaderBytes {
		resp.Body.Close()
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return nil, failed("malformed_response", u.Host, "%s switches protocols, which nobody asked for", u.Host)
		}
		return nil, errHeaders
	}
	return resp, nil
}

// readResponse reads the response of the last hop, and closes it.
func (out *Response) readResponse(ctx context.Context, resp *http.Response, u *url.URL, limit int64) error {
	defer resp.Body.Close()
	out.URL, out.Status, out.StatusText, out.Proto, out.Header = u.String(), resp.StatusCode, resp.Status, resp.Proto, resp.Header
	body, cut, err := readBody(ctx, resp, limit)
	if err != nil {
		return err
	}
	out.Body, out.Cut, out.Truncated = body, cut, cut != ""
	return nil
}

// checked calls check for a URL and parses what it returns.
func checked(ctx context.Context, check func(context.Context, string) (string, error), raw string) (*url.URL, error) {
	if check != nil {
		var err error
		if raw, err = check(ctx, raw); err != nil {
			return nil, err
		}
	}
	u, err := url.Parse(repair(raw))
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "url: %q is no URL", short(raw)).With("parameter", "url")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, protocol.Errorf(protocol.Unsupported, "%q cannot be fetched over HTTP", short(raw))
	}
	return u, nil
}

// within returns the timeout, at most a little less than the time left of ctx.
func within(ctx context.Context, timeout time.Duration) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return timeout
	}
	left := time.Until(end)
	return min(timeout, left-min(left/10, 500*time.Millisecond))
}

func setDefault(h http.Header, name, value string) {
	if _, ok := h[name]; !ok {
		h.Set(name, value)
	}
}

func headerBytes(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + 4 // ": " and CRLF
		}
	}
	return n
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func short(s string) string { return protocol.Cut(s, 60) }

// hostOf returns the host of a URL, which may be invalid.
func hostOf(raw string) string {
	if u, err := url.Parse(repair(raw)); err == nil && u.Host != "" {
		return u.Host
	}
	return "the server"
}

// isTimeout reports whether an error is a timeout.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// isEOF reports whether a connection ended early.
func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "connection reset")
}
