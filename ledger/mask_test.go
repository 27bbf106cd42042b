package ledger

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func TestMaskURL(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                      "",
		"about:blank":                           "about:blank",
		"https://example.com/a/b?q=gold&page=2": "https://example.com/a/b?q=…&page=…",
		"https://u:p@example.com:8443/?token=abc#frag":    "https://example.com:8443/?token=…",
		"https://example.com/?" + strings.Repeat("s", 40): "https://example.com/?…",
		"data:text/html,secret":                           "data:…",
		"javascript:alert('secret')":                      "javascript:…",
		"not a url %zz":                                   "…",
		"https://" + strings.Repeat("é", 2000) + ".test/": "",
	} {
		got := MaskURL(raw)
		if want != "" && got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
		if len(got) > maxURL+4 || !utf8.ValidString(got) {
			t.Errorf("%.40s: %d bytes, valid %v", raw, len(got), utf8.ValidString(got))
		}
	}
}

// FuzzMaskURL: whatever stands between an @ and the scheme, or behind a = or a
// #, is never written down.
func FuzzMaskURL(f *testing.F) {
	f.Add("https://u:CANARY@example.com/?a=CANARY&b#CANARY")
	f.Add("https://example.com/?=CANARY;CANARY=&&=CANARY")
	f.Fuzz(func(t *testing.T, raw string) {
		if !utf8.ValidString(MaskURL(raw)) && utf8.ValidString(raw) {
			t.Errorf("%q: %q", raw, MaskURL(raw))
		}
		if got := MaskURL("https://u:CANARY@h.test/?k=CANARY" + strings.ReplaceAll(raw, "CANARY", "")); strings.Contains(got, "CANARY") {
			t.Errorf("%q: %q", raw, got)
		}
	})
}
