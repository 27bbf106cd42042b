package server

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/session"
)

// look is the live view as the token's holder sees it.
func (d *daemon) look(t testing.TB, token string) string {
	t.Helper()
	status, _, body := d.do(t, "GET", "/", "", "Authorization", "Bearer "+token)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	return body
}

var (
	spans = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d)?(s|ms)\b|\d\d:\d\d:\d\d`)
	body  = regexp.MustCompile(`(?s)<body>\n(.*)</body>`)
)

// timeless is the view's body, with T for each time.
func timeless(page string) string {
	if m := body.FindStringSubmatch(page); m != nil {
		return spans.ReplaceAllString(m[1], "T")
	}
	return page
}

// The whole page, as an operator and as an agent sees it, while one page hangs: it
// waits for nothing.
func TestView(t *testing.T) {
	d := start(t, nil)
	alice := d.connect(t)
	alice.call(1, "session_open", `{"name":"shop"}`)
	alice.call(2, "open", `{"session":"shop","url":"https://u:secret@site.test/basket?title=Basket&page=2#secret"}`)
	alice.send(open(3, "shop", "/hold"), request(4, "snapshot", `{"session":"shop"}`))
	d.site.lines(t, 3) // the page hangs
	_, err := d.runtime.Sessions.Open("alice", session.Options{Name: "plain", Source: "http"})
	if err == nil {
		_, err = d.runtime.Sessions.Open("bob", session.Options{Name: "bobs"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); d.runtime.Sessions.Queued() < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d commands are queued", d.runtime.Sessions.Queued())
		}
	}

	const (
		head = `<h1>browserd</h1>
<p>Version test, up for T. 3 of 100 sessions are open.</p>
<ul class="sources">
<li>chromium works</li>
<li>jina <b class="bad">does not work</b>: no key</li>
<li>http works</li>
</ul>
<table>
<thead><tr><th>Session</th><th>Command</th><th>Last used</th><th>Expires</th><th>Tabs</th></tr></thead>
<tbody>
`
		alices = `<tr>
<th scope="row">shop<small>alice, chromium</small></th>
<td data-is="Command"><b>open</b> for T<small>1 waiting</small></td>
<td data-is="Last used">now</td>
<td data-is="Expires">not while it works</td>
<td data-is="Tabs">
<div aria-current="true">t1 <bdi>&#34;Basket&#34;</bdi><code>https://site.test/basket?title=…&amp;page=…</code></div>
</td>
</tr>
<tr>
<th scope="row">plain<small>alice, http</small></th>
<td data-is="Command">none</td>
<td data-is="Last used">T ago</td>
<td data-is="Expires">in T</td>
<td data-is="Tabs">none yet
</td>
</tr>
`
		bobs = `<tr>
<th scope="row">bobs<small>bob, auto</small></th>
<td data-is="Command">none</td>
<td data-is="Last used">T ago</td>
<td data-is="Expires">in T</td>
<td data-is="Tabs">none yet
</td>
</tr>
`
		foot = `</tbody>
</table>
<p class="foot">As `
	)
	if diff := cmp.Diff(head+alices+bobs+foot+"bob sees it: the sessions of every agent. T UTC, and again every 3 s.</p>\n", timeless(d.look(t, bobToken))); diff != "" {
		t.Errorf("as an operator sees it (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(head+alices+foot+"alice sees it: the sessions of alice alone. T UTC, and again every 3 s.</p>\n", timeless(d.look(t, aliceToken))); diff != "" {
		t.Errorf("as an agent sees it (-want +got):\n%s", diff)
	}
	d.site.letGo("/hold")
	alice.answer()
}

// An agent that has no session sees nobody else's; a daemon that takes no command
// any more says so.
func TestViewOfNothing(t *testing.T) {
	d := start(t, nil)
	if _, err := d.runtime.Sessions.Open("bob", session.Options{Name: "bobs"}); err != nil {
		t.Fatal(err)
	}
	d.dispatch.drain()
	const want = `<h1>browserd</h1>
<p>Version test, up for T. 1 of 100 sessions are open. <b class="bad">Not ready: the daemon is shutting down.</b></p>
<ul class="sources">
<li>chromium works</li>
<li>jina <b class="bad">does not work</b>: no key</li>
<li>http works</li>
</ul>
<p>No session of alice is open.</p>
<p class="foot">As alice sees it: the sessions of alice alone. T UTC, and again every 3 s.</p>
`
	if diff := cmp.Diff(want, timeless(d.look(t, aliceToken))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a page says of itself stays text, of a sane length.
func TestViewOfHostileWords(t *testing.T) {
	d := start(t, nil)
	for _, test := range []struct{ title, want string }{
		{`</td><script>alert(1)</script>`, `&#34;&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#34;`},
		{`{{.Agent}} </style><!-- '"`, `&#34;{{.Agent}} &lt;/style&gt;&lt;!-- &#39;\&#34;&#34;`},
		{"a\u202eb\u2066c\u200bd\x1b[31m\u0085\n", `&#34;a\u202eb\u2066c\u200bd\u001b[31m\u0085\n&#34;`},
		{strings.Repeat("w", 10000), `&#34;` + strings.Repeat("w", 160-1) + `…&#34;`},
	} {
		d.post(t, "open", `{"url":"https://site.test/`+strings.Repeat("p", 10000)+`?title=`+url.QueryEscape(test.title)+`"}`)
		page := d.look(t, aliceToken)
		if !strings.Contains(page, "<bdi>"+test.want+"</bdi><code>https://site.test/"+strings.Repeat("p", 300-len("https://site.test/")-1)+"…</code>") {
			t.Errorf("%.40q: it shows\n%s", test.title, timeless(page))
		}
		if strings.Contains(strings.ToLower(page), "<script") || strings.Count(page, "<style") != 1 {
			t.Errorf("%.40q: the page has an element of its own", test.title)
		}
	}
	d.post(t, "open", `{"url":"javascript:alert(1)//secret"}`)
	if page := d.look(t, aliceToken); !strings.Contains(page, "<code>javascript:…</code>") || strings.Contains(page, "href") || strings.Contains(page, "secret") {
		t.Errorf("an address of another scheme: %s", timeless(page))
	}
}

// The view is an endpoint like others, and its page may do nothing but show itself.
func TestViewEndpoint(t *testing.T) {
	file, err := os.ReadFile("live/live.css")
	if err != nil {
		t.Fatal(err)
	}
	css := string(file)
	d := start(t, nil)
	auth := []string{"Authorization", "Bearer " + aliceToken}
	for _, test := range []struct {
		name, method, path, host string
		header                   []string
		status                   int
	}{
		{"GET", "GET", "/", "", auth, 200},
		{"HEAD", "HEAD", "/", "", auth, 200},
		{"with a query", "GET", "/?x=1", "", auth, 200},
		{"a host of its own", "GET", "/", "browserd.example", auth, 200},
		{"a configured origin", "GET", "/", "", append([]string{"Origin", "https://app.example"}, auth...), 200},
		{"POST", "POST", "/", "", auth, 405},
		{"OPTIONS", "OPTIONS", "/", "", auth, 405},
		{"PUT", "PUT", "/", "", auth, 405},
		{"another path", "GET", "/index.html", "", auth, 404},
		{"two slashes", "GET", "//", "", auth, 404},
		{"no token", "GET", "/", "", nil, 401},
		{"POST without a token", "POST", "/", "", nil, 401},
		{"another token", "GET", "/", "", []string{"Authorization", "Bearer nobody-0123456789abcdef"}, 401},
		{"the token in the query", "GET", "/?token=" + aliceToken + "&access_token=" + aliceToken, "", nil, 401},
		{"the token as a password", "GET", "/", "", []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(":"+aliceToken))}, 401},
		{"the token as a cookie", "GET", "/", "", []string{"Cookie", "token=" + aliceToken}, 401},
		{"a foreign host", "GET", "/", "evil.test", auth, 403},
		{"a foreign origin", "GET", "/", "", append([]string{"Origin", "https://evil.test"}, auth...), 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequest(test.method, "http://"+d.addr+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = test.host
			for i := 0; i < len(test.header); i += 2 {
				r.Header.Add(test.header[i], test.header[i+1])
			}
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Body.Close()
			text, err := io.ReadAll(a.Body)
			if err != nil || a.StatusCode != test.status {
				t.Fatalf("%d, want %d: %s %v", a.StatusCode, test.status, text, err)
			}
			if test.status != 200 {
				if a.Header.Get("Content-Type") != "application/json" {
					t.Errorf("the refusal is %s: %s", a.Header.Get("Content-Type"), text)
				}
				return
			}
			if got := a.Header.Get("Content-Length"); test.method == "HEAD" && (len(text) > 0 || len(got) < 4) {
				t.Errorf("HEAD: %d bytes, Content-Length %s", len(text), got)
			}
			for name, want := range map[string]string{
				"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
				"Referrer-Policy": "no-referrer", "Set-Cookie": "", "Access-Control-Allow-Origin": "",
				"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + sum(css) + "'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
			} {
				if got := a.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
	// The policy's hash is that of the style as it was sent.
	page := d.look(t, aliceToken)
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	if style != css {
		t.Errorf("the style was sent as\n%s", style)
	}
	if !strings.Contains(page, `<meta http-equiv="refresh" content="3">`) {
		t.Error("the page is not loaded again")
	}
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(h[:])
}
