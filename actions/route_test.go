package actions

import (
	"slices"
	"testing"
)

// Every address that an answer's header leads to is found, as a browser reads it.
func TestTargetsOfHeaders(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        []string
	}{
		{"Location", "https://b.test/x", []string{"https://b.test/x"}},
		{"location", " \thttps://b.test/x", []string{"https://b.test/x"}},
		{"Location", "//b.test/x", []string{"https://b.test/x", "http://b.test/x"}},
		{"Location", `\/b.test/x`, []string{`https:\/b.test/x`, `http:\/b.test/x`}},
		{"Location", "/\t/b.test", []string{"https://b.test", "http://b.test"}},
		{"Location", "https:b.test", []string{"https:b.test"}},
		{"Location", "javascript:alert(1)", []string{"javascript:alert(1)"}},
		{"Location", "/here?u=https://b.test", nil},
		{"Location", "here", nil},
		{"Location", "", nil},
		{"Refresh", "0;url=https://b.test/", []string{"https://b.test/"}},
		{"Refresh", "0, URL = 'https://b.test/'", []string{"https://b.test/"}},
		{"Refresh", "1.5 https://b.test/", []string{"https://b.test/"}},
		{"Refresh", ";https://b.test/", []string{"https://b.test/"}},
		{"Refresh", "5", nil},
		{"Link", `</a.js>; rel=preload, <https://b.test/b.js>; rel="preload"`, []string{"https://b.test/b.js"}},
		{"Content-Security-Policy", "default-src https://c.test; report-uri https://b.test/r /own", []string{"https://b.test/r"}},
		{"Reporting-Endpoints", `main="https://b.test/r"`, []string{"https://b.test/r"}},
		{"Report-To", `{"group":"a","endpoints":[{"url":"https://b.test/r"}]}`, []string{"https://b.test/r"}},
		{"Speculation-Rules", `"https://b.test/rules.json"`, []string{"https://b.test/rules.json"}},
		{"Content-Type", "text/html; x=https://b.test", nil},
	} {
		var got []string
		for _, target := range targetsIn(test.name, test.value) {
			got = append(got, absolute(target)...)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q: %q, want %q", test.name, test.value, got, test.want)
		}
	}
}
