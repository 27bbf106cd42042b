package policy

import "testing"

func TestOrigin(t *testing.T) {
	for raw, want := range map[string]struct{ origin, parsed string }{
		"https://a.example":            {"https://a.example", "https://a.example"},
		"https://a.example/":           {"https://a.example", "https://a.example"},
		"HTTPS://A.Example:443":        {"https://a.example", "https://a.example"},
		"http://a.example:443":         {"http://a.example:443", "http://a.example:443"},
		"http://127.0.0.1:3000":        {"http://127.0.0.1:3000", "http://127.0.0.1:3000"},
		"http://[::1]:3000/":           {"http://[::1]:3000", "http://[::1]:3000"},
		"https://bücher.example":       {"https://xn--bcher-kva.example", "https://xn--bcher-kva.example"},
		"https://a.example/path?q#f":   {"https://a.example", ""},
		"https://a.example?":           {"https://a.example", ""},
		"https://*.a.example":          {"https://*.a.example", ""},
		"https://a.example.evil.test/": {"https://a.example.evil.test", "https://a.example.evil.test"},
		"about:blank":                  {"", ""},
		"blob:https://a.example/1":     {"", ""},
		"data:text/html,a":             {"", ""},
		"null":                         {"", ""},
		"a.example":                    {"", ""},
		"":                             {"", ""},
	} {
		if got := Origin(raw); got != want.origin {
			t.Errorf("Origin(%q) = %q, want %q", raw, got, want.origin)
		}
		if got := ParseOrigin(raw); got != want.parsed {
			t.Errorf("ParseOrigin(%q) = %q, want %q", raw, got, want.parsed)
		}
	}
}
