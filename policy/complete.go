package policy

import (
	"strings"
)

// Complete adds the scheme that a person leaves out: example.com becomes
// https://example.com, and localhost:3000, 127.0.0.1:8000 and other hosts that
// are not public, or that have a port other than 443 and 8443, get http://.
// Anything else, including a URL with a scheme, comes back unchanged. Complete checks
// nothing: pass its result to CheckURL.
func Complete(raw string) string {
	s := strings.TrimSpace(raw)
	head := s
	if i := strings.IndexAny(s, `/\?#`); i >= 0 {
		head = s[:i]
	}
	host, port, err := splitAuthority(head)
	if err != nil || strings.Trim(port, "0123456789") != "" || strings.ContainsAny(s, " \t\r\n") || strings.Contains(head, "@") {
		return raw
	}
	// A single label could be anything, even "javascript:1". Only a dot, a bracket or
	// localhost makes it a host.
	if !strings.Contains(strings.Trim(host, "."), ".") && !strings.HasPrefix(host, "[") && !strings.EqualFold(host, "localhost") {
		return raw
	}
	u, err := parseURL("https://" + s)
	if err != nil {
		return raw
	}
	var reason Reason
	if u.name != "" {
		reason, _, _ = classifyName(u.name)
	} else {
		reason, _, _ = classifyAddr(u.addr)
	}
	if reason != "" || u.port != 443 && u.port != 8443 {
		return "http://" + s
	}
	return "https://" + s
}
