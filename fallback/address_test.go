package fallback

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// References are read as the URL standard has it; what Chromium sends for the
// same ones is compared in e2e.
func TestResolve(t *testing.T) {
	base, ok := parseAddress("http://a.example/b/c?d=e#f", "")
	if !ok {
		t.Fatal("the base is no address")
	}
	for ref, want := range map[string]string{
		"":                      "http://a.example/b/c?d=e",
		"x":                     "http://a.example/b/x",
		"../../x":               "http://a.example/x",
		"./x/./y/..":            "http://a.example/b/x/",
		"/%2e%2E/x":             "http://a.example/x",
		"?q":                    "http://a.example/b/c?q",
		"#g":                    "http://a.example/b/c?d=e#g",
		"//b.example":           "http://b.example/",
		`\\b.example\x?\y`:      `http://b.example/x?\y`,
		"http:x":                "http://a.example/b/x",
		"http:/x":               "http://a.example/x",
		`HTTP:\/b.example`:      "http://b.example/",
		"https:/b.example/x":    "https://b.example/x",
		"https:x":               "https://x/",
		"HTTP:\\\\b.example/":   "http://b.example/",
		" \t/a b\n\"|<>`{}é ":   "http://a.example/a%20b%22%7C%3C%3E%60%7B%7D%C3%A9",
		"?a b'\"<>é|`{}":        "http://a.example/b/c?a%20b%27%22%3C%3E%C3%A9|`{}",
		"#a b\"<>`é":            "http://a.example/b/c?d=e#a%20b%22%3C%3E%60%C3%A9",
		"javascript:alert(1)":   "javascript",
		"mailto:a@b.c":          "mailto",
		"JavaScript :x":         "http://a.example/b/JavaScript%20:x",
		"a:b":                   "a",
		"./a:b":                 "http://a.example/b/a:b",
		"1a:b":                  "http://a.example/b/1a:b",
		"/x?y?z#w#v":            "http://a.example/x?y?z#w#v",
		"http://u:p@b.example/": "http://u:p@b.example/",
	} {
		to, other := base.resolve(ref, "utf-8")
		got := other
		if other == "" {
			got = to.String()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", ref, got, want)
		}
	}
}

func TestRefresh(t *testing.T) {
	for content, want := range map[string]string{
		"0; url=next":         "0s next",
		"0;URL = 'a b' x":     "0s a b",
		`1,url="x"`:           "1s x",
		"0 next":              "0s next",
		"0; urlish":           "0s urlish",
		"5":                   "",
		"":                    "",
		"x; url=y":            "",
		"0.9; url=y":          "0s y",
		".5; url=y":           "0s y",
		"99999999999; url=y":  "291h16m16s y",
		"  3  ;  url = /here": "3s /here",
	} {
		after, ref, ok := parseRefresh(content)
		got := ""
		if ok {
			got = after.String() + " " + ref
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", content, got, want)
		}
	}
}

func TestReferrer(t *testing.T) {
	from, _ := parseAddress("https://a.example/page?q#f", "")
	same, _ := parseAddress("https://a.example/other", "")
	cross, _ := parseAddress("https://b.example/", "")
	down, _ := parseAddress("http://a.example/", "")
	for policy, want := range map[string][3]string{
		"":                                {"https://a.example/page?q", "https://a.example/", ""},
		"strict-origin-when-cross-origin": {"https://a.example/page?q", "https://a.example/", ""},
		"no-referrer":                     {"", "", ""},
		"no-referrer-when-downgrade":      {"https://a.example/page?q", "https://a.example/page?q", ""},
		"same-origin":                     {"https://a.example/page?q", "", ""},
		"origin":                          {"https://a.example/", "https://a.example/", "https://a.example/"},
		"strict-origin":                   {"https://a.example/", "https://a.example/", ""},
		"origin-when-cross-origin":        {"https://a.example/page?q", "https://a.example/", "https://a.example/"},
		"unsafe-url":                      {"https://a.example/page?q", "https://a.example/page?q", "https://a.example/page?q"},
	} {
		for i, to := range []address{same, cross, down} {
			if got := referer(policy, from, to); got != want[i] {
				t.Errorf("%q to %s: got %q, want %q", policy, to, got, want[i])
			}
		}
	}
}

// The jar keeps what a browser keeps and gives it to whom a browser does.
func TestJar(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ from, set, to, want string }{
		{"http://a.example.com/", "a=1", "http://a.example.com/x", "a=1"},
		{"http://a.example.com/", "a=1", "http://b.a.example.com/", ""},
		{"http://a.example.com/", "a=1; Domain=example.com", "http://b.example.com/", "a=1"},
		{"http://a.example.com/", "a=1; Domain=.Example.COM", "http://example.com/", "a=1"},
		{"http://a.example.com/", "a=1; Domain=com", "http://a.example.com/", ""},
		{"http://a.co.uk/", "a=1; Domain=co.uk", "http://b.co.uk/", ""},
		{"http://a.example.com/", "a=1; Domain=b.example.com", "http://b.example.com/", ""},
		{"http://127.0.0.1:8000/", "a=1; Domain=127.0.0.1", "http://127.0.0.1:9000/", "a=1"},
		{"http://127.0.0.1/", "a=1; Domain=0.0.1", "http://127.0.0.1/", ""},
		{"http://a.example.com/x/y", "a=1", "http://a.example.com/x/z", "a=1"},
		{"http://a.example.com/x/y", "a=1", "http://a.example.com/xy", ""},
		{"http://a.example.com/x/y", "a=1; Path=/", "http://a.example.com/", "a=1"},
		{"http://a.example.com/", "a=1; Path=/x", "http://a.example.com/x", "a=1"},
		{"http://a.example.com/", "a=1; Path=/x", "http://a.example.com/xy", ""},
		{"http://a.example.com/", "a=1; Secure", "http://a.example.com/", ""},
		{"https://a.example.com/", "a=1; Secure", "http://a.example.com/", ""},
		{"https://a.example.com/", "a=1; Secure", "https://a.example.com/", "a=1"},
		{"http://a.example.com/", "__Secure-a=1; Secure", "https://a.example.com/", ""},
		{"https://a.example.com/", "__Host-a=1; Secure; Path=/", "https://a.example.com/", "__Host-a=1"},
		{"https://a.example.com/x/", "__Host-a=1; Secure", "https://a.example.com/x/", ""},
		{"http://a.example.com/", "a=1; Max-Age=10", "http://a.example.com/", "a=1"},
		{"http://a.example.com/", "a=1; Max-Age=0", "http://a.example.com/", ""},
		{"http://a.example.com/", "a=1; Max-Age=-1; Expires=Fri, 01 Jan 2100 00:00:00 GMT", "http://a.example.com/", ""},
		{"http://a.example.com/", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://a.example.com/", ""},
		{"http://a.example.com/", "a=1; Expires=Friday, 01-Jan-2100 00:00:00 GMT", "http://a.example.com/", "a=1"},
		{"http://a.example.com/", `a={"x": "y, z"}`, "http://a.example.com/", `a={"x": "y, z"}`},
		{"http://a.example.com/", `a="quoted"; HttpOnly`, "http://a.example.com/", `a="quoted"`},
		{"http://a.example.com/", "bare", "http://a.example.com/", "bare"},
		{"http://a.example.com/", "", "http://a.example.com/", ""},
		{"http://a.example.com/", "a=1\x01", "http://a.example.com/", ""},
		{"http://a.example.com/", "a=" + strings.Repeat("x", 5000), "http://a.example.com/", ""},
	} {
		j := NewJar()
		j.now = func() time.Time { return now }
		from, _ := parseAddress(c.from, "")
		to, _ := parseAddress(c.to, "")
		j.Receive(from, map[string][]string{"Set-Cookie": {c.set}})
		if got := j.Header(to); got != c.want {
			t.Errorf("%s sets %.60q: %s gets %q, want %q", c.from, c.set, c.to, got, c.want)
		}
		// Whoever goes on from it sends the same.
		again := NewJar()
		again.now = j.now
		p := Page{jar: j}
		r := p.Restore()
		again.restore(&r)
		if got := again.Header(to); got != c.want {
			t.Errorf("%.60q after a move: %s gets %q, want %q", c.set, c.to, got, c.want)
		}
	}
}

func TestJarOrderAndReplacement(t *testing.T) {
	j := NewJar()
	u, _ := parseAddress("http://a.example.com/x/y", "")
	j.Receive(u, map[string][]string{"Set-Cookie": {"a=1; Path=/", "b=2; Path=/", "c=3; Path=/x", "a=4; Path=/"}})
	if got := j.Header(u); got != "c=3; a=4; b=2" {
		t.Errorf("got %q", got)
	}
	j.Receive(u, map[string][]string{"Set-Cookie": {"b=; Path=/; Max-Age=0"}})
	if got := j.Header(u); got != "c=3; a=4" {
		t.Errorf("got %q", got)
	}
}

// What SameSite keeps from other sites is not sent where their pages lead, as
// forged requests are made of it; where the agent goes it is.
func TestSameSite(t *testing.T) {
	var cookies string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch w.Header().Set("Content-Type", "text/html"); r.URL.Path {
		case "/set":
			w.Header()["Set-Cookie"] = []string{"strict=1; SameSite=Strict; Path=/", "lax=1; SameSite=Lax; Path=/", "none=1; SameSite=None; Secure; Path=/", "unsaid=1; Path=/", "refused=1; SameSite=None; Path=/"}
		case "/there":
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
		default:
			cookies = r.Header.Get("Cookie")
		}
	}))
	defer site.Close()
	g := &gate{transport: &http.Transport{}}
	defer g.transport.CloseIdleConnections()
	p := New(Options{Gate: g, Sources: NewSourceChain(Config{Order: []string{HTTP}}, nil)})
	defer p.Close(context.Background())
	to, _ := parseAddress(site.URL+"/got", "")
	other, _ := parseAddress("http://other.example/", "")
	same, _ := parseAddress("http://127.0.0.1:1/", "")
	around, _ := parseAddress(site.URL+"/there?to=/got", "")
	set, _ := parseAddress(site.URL+"/set", "")
	if _, err := p.exchange(t.Context(), request{method: "GET", to: set}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what, method string
		from, to     address
		later        time.Duration
		want         string
	}{
		{"the agent goes there", "GET", address{}, to, 0, "strict=1; lax=1; none=1; unsaid=1"},
		{"a page of the same site posts", "POST", same, to, time.Hour, "strict=1; lax=1; none=1; unsaid=1"},
		{"another site leads there", "GET", other, to, time.Hour, "lax=1; none=1; unsaid=1"},
		{"another site posts", "POST", other, to, time.Minute, "none=1; unsaid=1"},
		{"another site posts, later", "POST", other, to, time.Hour, "none=1"},
		{"another site posts, by a redirect of this one", "POST", other, around, time.Hour, "none=1"},
	} {
		p.jar.now = func() time.Time { return time.Now().Add(c.later) }
		if _, err := p.exchange(t.Context(), request{method: c.method, to: c.to, from: c.from}); err != nil {
			t.Fatal(err)
		}
		if cookies != c.want {
			t.Errorf("%s: %q, want %q", c.what, cookies, c.want)
		}
	}
	for _, c := range []struct{ url, site string }{
		{"http://a.example.com:81/x", "http://example.com"}, {"https://a.example.com/", "https://example.com"}, {"http://a.b.co.uk/", "http://b.co.uk"},
		{"http://co.uk/", "http://co.uk"}, {"http://127.0.0.1:81/", "http://127.0.0.1"}, {"http://[::1]:81/", "http://::1"}, {"http://localhost/", "http://localhost"},
	} {
		if u, _ := parseAddress(c.url, ""); u.site() != c.site {
			t.Errorf("%s: site %s, want %s", c.url, u.site(), c.site)
		}
	}
}

func FuzzSetCookie(f *testing.F) {
	f.Add("a=1; Path=/; Expires=Fri, 01 Jan 2100 00:00:00 GMT", "http://a.example.com/x")
	f.Add("=; domain=.; max-age=99999999999999999999", "http://1.2.3.4")
	f.Fuzz(func(t *testing.T, line, url string) {
		u, ok := parseAddress(url, "")
		if !ok {
			return
		}
		j := NewJar()
		j.Receive(u, map[string][]string{"Set-Cookie": {line}})
		if h := j.Header(u); strings.ContainsAny(h, "\r\n\x00") {
			t.Errorf("%q gives the header %q", line, h)
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("../x?y#z", "windows-1252")
	f.Fuzz(func(t *testing.T, ref, charset string) {
		base, _ := parseAddress("http://a.example/b/c", "")
		to, other := base.resolve(ref, charset)
		if other != "" {
			return
		}
		if s := to.path + to.query + to.fragment; !strings.HasPrefix(s, "/") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Errorf("%q leads to %q", ref, s)
		}
		parseRefresh(ref)
	})
}
