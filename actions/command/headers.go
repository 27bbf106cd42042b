package command

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// ConnectionHeaders belong to the connection (RFC 9110 7.6.1) or decide where a request
// goes: no command sets them. A name that ends in - is a prefix.
var ConnectionHeaders = []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// browserHeaders are those, the headers by which a browser tells a server who asks, which servers trust, and those
// that a server takes for its own proxy's: from these it builds addresses of its scripts and forms. Cookies are set with cookies_set, which names their domain and is
// confirmed.
var browserHeaders = append(slices.Clone(ConnectionHeaders), "Access-Control-Request-", "Cookie", "Cookie2", "Origin", "Referer", "Sec-", "Set-Cookie",
	"Forwarded", "X-Forwarded-", "X-Host", "X-Http-Host-Override", "X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-", "X-Rewrite-")

// maxPageHeaders is how many bytes the headers of a session may have: each request carries
// them, and no server takes more.
const maxPageHeaders = 64 << 10

// PageHeaders returns the headers that all requests of pages to these origins have, or
// an invalid_params error; nil if there are no values.
func PageHeaders(values map[string]string, origins []string) (*protocol.Headers, error) {
	if _, err := RequestHeader(values, browserHeaders); err != nil {
		return nil, err
	}
	size := 0
	for name, value := range values {
		size += len(name) + len(value) + len(": \r\n")
	}
	if size > maxPageHeaders {
		return nil, protocol.Errorf(protocol.TooLarge, "headers: they have %d bytes together", size).With("parameter", "headers").With("limit", maxPageHeaders).With("size", size).Then("give fewer or shorter headers")
	}
	if len(origins) > 0 && len(values) == 0 {
		return nil, protocol.Errorf(protocol.InvalidParams, "header_origins: there are no headers for them").With("parameter", "header_origins").Then("give headers too, or leave header_origins out")
	}
	if values == nil {
		return nil, nil
	}
	h := &protocol.Headers{Values: values}
	for _, given := range origins {
		origin := policy.ParseOrigin(given)
		if origin == "" {
			return nil, protocol.Errorf(protocol.InvalidParams, "header_origins: %s: accepts origins, such as https://shop.example or http://localhost:3000", strconv.Quote(protocol.Cut(given, 60))).
				With("parameter", "header_origins").Then("name a scheme, a host and, where it is not the scheme's own, a port")
		}
		h.Origins = append(h.Origins, origin)
	}
	return h, nil
}

// RequestHeader returns the given headers, or an invalid_params error for a name or a value
// that HTTP does not allow and for a name that is refused. An error names the header
// and never its value, which may be a secret.
func RequestHeader(given map[string]string, refused []string) (http.Header, error) {
	h := http.Header{}
	for name, value := range given {
		key := http.CanonicalHeaderKey(name)
		same := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")) // to a server that hands headers on as CGI does (RFC 3875, 4.1.18)
		isRefused := func(r string) bool { return same == r || strings.HasSuffix(r, "-") && strings.HasPrefix(same, r) }
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, badHeader(name, "accepts header names of letters, digits and !#$%%&'*+-.^_`|~, not %q", protocol.Cut(name, 60))
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, badHeader(name, "the value of %q holds a control character, such as a line end", protocol.Cut(name, 60))
		case key == "Cookie" && slices.ContainsFunc(refused, isRefused):
			return nil, badHeader(name, "%q is the cookie jar's", protocol.Cut(name, 60)).Then("use cookies_set, which says for which domain they are")
		case slices.ContainsFunc(refused, isRefused):
			return nil, badHeader(name, "%q is set by browserd, by Chromium or by a server's own proxy alone", protocol.Cut(name, 60)).Then("leave %s out", protocol.Cut(name, 60))
		case h[key] != nil:
			return nil, badHeader(name, "%q stands there twice", protocol.Cut(name, 60))
		}
		h.Set(key, value)
	}
	return h, nil
}

func badHeader(name, format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.InvalidParams, "headers: "+format, args...).With("parameter", "headers").With("header", protocol.Cut(name, 60))
}
