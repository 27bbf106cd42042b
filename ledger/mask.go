package ledger

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxURL is how much of a URL the trail keeps, in bytes.
const maxURL = 2048

// MaskURL takes out of a URL what may be a secret: user info, the fragment and
// every value of the query. Which keys were asked for stays. What is no URL at
// all is not kept: nobody knows what it holds.
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
