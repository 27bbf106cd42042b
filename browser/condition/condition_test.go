package condition

import "testing"

func TestMatchURL(t *testing.T) {
	for _, c := range []struct {
		pattern, url string
		want         bool
	}{
		{"/next", "http://a/next?x", true},
		{"http://a/*", "http://a/b/c", true},
		{"*/b/*", "http://a/b/c?d=[1]", true},
		{"*?d=[1]", "http://a/b/c?d=[1]", true},
		{"http://a/*", "http://b/", false},
		{"*/b", "http://a/b/c", false},
	} {
		if got := MatchURL(c.pattern, c.url); got != c.want {
			t.Errorf("%s %s: %v, want %v", c.pattern, c.url, got, c.want)
		}
	}
}
