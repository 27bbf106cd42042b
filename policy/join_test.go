package policy

import "testing"

// As new URL(ref, base) in a browser.
func TestJoin(t *testing.T) {
	const base = "http://a.test.com:8080/b/c/d?q#f"
	p := mustNew(t)
	for _, c := range []struct{ ref, want string }{
		{"", "http://a.test.com:8080/b/c/d?q"},
		{"#x", "http://a.test.com:8080/b/c/d?q#x"},
		{"?x", "http://a.test.com:8080/b/c/d?x"},
		{"x", "http://a.test.com:8080/b/c/x"},
		{"./x", "http://a.test.com:8080/b/c/x"},
		{"../x", "http://a.test.com:8080/b/x"},
		{"../../../x", "http://a.test.com:8080/x"},
		{"%2e%2E/x", "http://a.test.com:8080/b/x"},
		{"..", "http://a.test.com:8080/b/"},
		{".", "http://a.test.com:8080/b/c/"},
		{"/x/../y?../z", "http://a.test.com:8080/y?../z"},
		{"\\x", "http://a.test.com:8080/x"},
		{"x:y", "!scheme"},
		{"./x:y", "http://a.test.com:8080/b/c/x:y"},
		{"javascript:alert(1)", "!scheme"},
		{" \tjava\tscript:alert(1)", "!scheme"},
		{"http:x", "http://a.test.com:8080/b/c/x"},
		{"http:/x", "http://a.test.com:8080/x"},
		{"http:\\x", "http://a.test.com:8080/x"},
		{"HTTP://b.test.com", "http://b.test.com/"},
		{"https:b.test.com", "https://b.test.com/"},
		{"https:/b.test.com", "https://b.test.com/"},
		{"//b.test.com/x", "http://b.test.com/x"},
		{"\\\\127.0.0.1\\x", "!ip_loopback"},
		{"/\\127.0.0.1/x", "!ip_loopback"},
		{"http:\\\\127.0.0.1\\x", "!ip_loopback"},
		{"///127.0.0.1/x", "!ip_loopback"},
		{"//user@b.test.com/", "!userinfo"},
		{"//b.test.com:25/", "!port"},
		{"x\r\nSet-Cookie: a=b", "!bad_url"},
	} {
		if got := verdict(t, p, Join(base, c.ref)); got != c.want {
			t.Errorf("%q: got %s, want %s", c.ref, got, c.want)
		}
	}
	if got := Join("about:blank", "http://b.test.com/"); got != "http://b.test.com/" {
		t.Errorf("from about:blank: %s", got)
	}
}
