package fetch

import (
	"net/http"
	"net/url"
	"strings"
)

// hop is one request of a chain of redirects.
type hop struct {
	method string
	url    string
	header http.Header
	body   []byte
}

// Redirects reports whether status is a redirect status (Fetch 2.2.3).
func Redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// next returns the request that follows a redirect of h.
func (h hop) next(from *url.URL, status int, location string) (hop, error) {
	to, err := Resolve(from, location)
	if err != nil {
		return hop{}, err
	}
	if to.Fragment == "" {
		// RFC 9110 10.2.2: a Location without a fragment keeps the one before.
		to.Fragment, to.RawFragment = from.Fragment, from.RawFragment
	}
	n := hop{method: h.method, url: to.String(), header: h.header.Clone(), body: h.body}
	becomesGet := status == 303 && h.method != http.MethodGet && h.method != http.MethodHead ||
		(status == 301 || status == 302) && h.method == http.MethodPost
	if becomesGet {
		n.method, n.body = http.MethodGet, nil
		// Fetch standard, request-body-header names.
		for _, name := range []string{"Content-Encoding", "Content-Language", "Content-Location", "Content-Type", "Content-Length"} {
			n.header.Del(name)
		}
	}
	if !sameOrigin(from, to) {
		// Any header may hold what only the first origin is to have, under any name. The type
		// is that of a body which goes there too.
		kind := n.header.Values("Content-Type")
		n.header = http.Header{}
		if len(n.body) > 0 && len(kind) > 0 {
			n.header["Content-Type"] = kind
		}
	}
	return n, nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// Resolve parses a reference as a browser does (WHATWG URL, basic URL parser), where net/url
// would refuse it. It drops blanks around it, and line breaks and tabs in it; a backslash
// before the query is a slash. A percent sign without an escape is unchanged in the query
// and becomes %25 elsewhere, because net/url cannot represent it there.
func Resolve(base *url.URL, ref string) (*url.URL, error) {
	ref = repair(ref)
	// Special relative or authority state: of base's own scheme and without two
	// slashes it is relative.
	if scheme, rest, ok := strings.Cut(ref, ":"); ok && strings.EqualFold(scheme, base.Scheme) && !strings.HasPrefix(rest, "//") {
		ref = rest
	}
	// Special authority ignore slashes state: after two and more a host follows.
	if strings.HasPrefix(ref, "//") {
		ref = "//" + strings.TrimLeft(ref, "/")
	}
	r, err := url.Parse(ref)
	if err != nil {
		return nil, err
	}
	u := base.ResolveReference(r)
	// Of the base nothing is kept, not even where ref is empty.
	u.Fragment, u.RawFragment = r.Fragment, r.RawFragment
	return u, nil
}

// repair changes a URL so that net/url accepts it and sends it as a browser would.
func repair(s string) string {
	s = strings.Trim(s, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f ")
	var b strings.Builder
	host := strings.HasPrefix(s, "//") || strings.Contains(s, "://")
	slashes, query, fragment := 0, false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '?' || c == '#' {
			query, fragment = true, fragment || c == '#'
		}
		switch {
		case c == '\t' || c == '\n' || c == '\r':
			continue
		case c == '\\' && !query:
			c = '/'
		case c == '%' && !(i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])) && (fragment || !query):
			b.WriteString("%25")
			continue
		}
		if c == '/' {
			slashes++
		}
		// A name is not escaped: what is wrong with it is for the policy to say.
		name := host && slashes <= 2 && !query
		if !name && (c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>`, c) >= 0) {
			b.WriteString("%" + string("0123456789ABCDEF"[c>>4]) + string("0123456789ABCDEF"[c&15]))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
