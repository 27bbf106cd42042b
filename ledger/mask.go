package ledger

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxURL is how much of a URL the trail keeps, in bytes.
const maxURL = 2048

// MaskURL removes what may be a secret from a URL: user info, the fragment, and every
// value of the query. The keys of the query stay. A string that is not a URL is dropped,
// since it could hold anything.
func MaskURL(raw string) string {
	if raw == "" || raw == "about:blank" {
		return raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		scheme, _, ok := strings.Cut(raw, ":")
		if ok && len(scheme) < 20 && !strings.ContainsAny(scheme, "/?#@ ") {
			return scheme + ":…"
		}
		return "…"
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	if u.RawQuery != "" {
		pairs := strings.Split(u.RawQuery, "&")
		for i, p := range pairs {
			key, _, has := strings.Cut(p, "=")
			switch {
			case has:
				pairs[i] = key + "=…"
			case len(p) > 32: // a bare value, such as a token
				pairs[i] = "…"
			}
		}
		u.RawQuery = strings.Join(pairs, "&")
	}
	s := u.String()
	if len(s) > maxURL {
		s = s[:maxURL]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return s
}
