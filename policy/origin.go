package policy

import "strings"

// Origin is the origin of an http or https URL, as a browser writes it; empty for any
// other text.
func Origin(raw string) string {
	u, err := parseURL(raw)
	if err != nil || u.blank {
		return ""
	}
	u.path = ""
	return u.String()
}

// ParseOrigin reads what a client names as an origin: a URL of a scheme, a host and
// perhaps a port. It returns the origin as a browser writes it, empty where it is none.
func ParseOrigin(raw string) string {
	u, err := parseURL(raw)
	if err != nil || u.blank || u.path != "/" && u.path != "" || strings.ContainsAny(raw, "*?#") {
		return ""
	}
	return Origin(raw)
}
