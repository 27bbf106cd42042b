package policy

import "strings"

// Origin returns the origin of an http or https URL, serialized as browsers do. It
// returns "" for any other string.
func Origin(raw string) string {
	u, err := parseURL(raw)
	if err != nil || u.blank {
		return ""
	}
	u.path = ""
	return u.String()
}

// ParseOrigin parses an origin that a client sent: a scheme, a host and an optional
// port. It returns the origin serialized as browsers do, or "" if s is no origin.
func ParseOrigin(raw string) string {
	u, err := parseURL(raw)
	if err != nil || u.blank || u.path != "/" && u.path != "" || strings.ContainsAny(raw, "*?#") {
		return ""
	}
	return Origin(raw)
}
