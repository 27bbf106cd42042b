package actions

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// connectionHeaders are the connection's business (RFC 9110 7.6.1) or decide where
// a request goes. A name that ends in - is what others begin with.
var connectionHeaders = []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// browserHeaders are those, and what a browser says by itself of who asks. Servers
// trust it. Cookies are cookies_set's: they have a domain there, and a confirmation.
var browserHeaders = append(slices.Clone(connectionHeaders), "Access-Control-Request-", "Cookie", "Cookie2", "Origin", "Sec-", "Set-Cookie")

// pageHeaders checks headers for the requests of pages, and the origins that they are
// for. nil: nothing was given.
func pageHeaders(values map[string]string, origins []string) (*protocol.Headers, error) {
	if _, err := requestHeader(values, browserHeaders); err != nil {
		return nil, err
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

// requestHeader checks names and values before anything is sent. Errors name
// the header and never its value, which may be a secret.
func requestHeader(given map[string]string, refused []string) (http.Header, error) {
	h := http.Header{}
	for name, value := range given {
		key := http.CanonicalHeaderKey(name)
		isRefused := func(r string) bool { return key == r || strings.HasSuffix(r, "-") && strings.HasPrefix(key, r) }
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return nil, badHeader(name, "accepts header names of letters, digits and !#$%%&'*+-.^_`|~, not %q", protocol.Cut(name, 60))
		case !httpguts.ValidHeaderFieldValue(value):
			return nil, badHeader(name, "the value of %q holds a control character, such as a line end", protocol.Cut(name, 60))
		case key == "Cookie" && slices.ContainsFunc(refused, isRefused):
			return nil, badHeader(name, "%q is the cookie jar's", protocol.Cut(name, 60)).Then("use cookies_set, which says for which domain they are")
		case slices.ContainsFunc(refused, isRefused):
			return nil, badHeader(name, "%q is set by browserd or by Chromium alone", protocol.Cut(name, 60)).Then("leave %s out", protocol.Cut(name, 60))
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

// checkHeaders checks the headers of an answer.
func checkHeaders(headers map[string]string) error {
	for name, value := range headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return command.BadValue("headers", "names and values of one line", strconv.Quote(protocol.Cut(name, 60)))
		}
	}
	return nil
}
