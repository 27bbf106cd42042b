package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// headerSite is one origin that writes down which requests carried the secret.
type headerSite struct {
	*httptest.Server
	origin string

	mu   sync.Mutex
	seen map[string]bool // by method and path: whether the secret came with it
}

const headerSecret = "a-secret-of-the-session"

func newHeaderSite(t *testing.T, host string, pages func(path string) (kind, body string)) *headerSite {
	s := &headerSite{seen: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var all strings.Builder
		r.Header.Write(&all)
		s.mu.Lock()
		name := r.Method + " " + r.URL.Path
		s.seen[name] = s.seen[name] || strings.Contains(all.String(), headerSecret)
		s.mu.Unlock()
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Headers", "authorization, x-own")
		h.Set("Cache-Control", "no-store")
		if name, value, ok := strings.Cut(r.URL.Query().Get("header"), ": "); ok {
			h.Set(name, value)
		}
		if to := r.URL.Query().Get("to"); to != "" {
			status := http.StatusFound
			if r.Method == http.MethodPost {
				status = http.StatusTemporaryRedirect
			}
			http.Redirect(w, r, to, status)
			return
		}
		kind, body := pages(r.URL.Path)
		h.Set("Content-Type", kind)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	s.origin = strings.Replace(s.URL, "127.0.0.1", host, 1)
	return s
}

// wait returns when the path was asked for, by any method where none is named, and reports
// whether the secret came with it.
func (s *headerSite) wait(t *testing.T, name string) (secret bool) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		secret, ok := s.seen[name]
		for n, with := range s.seen {
			if strings.HasSuffix(n, " "+name) {
				secret, ok = secret || with, true
			}
		}
		s.mu.Unlock()
		if ok {
			return secret
		}
		if time.Now().After(limit) {
			t.Errorf("%s%s was not asked for", s.origin, name)
			return false
		}
	}
}

// has reports whether the secret came with a request, and whether the request came at all.
func (s *headerSite) has(name string) (secret, seen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	secret, seen = s.seen[name]
	return secret, seen
}

// with are the requests that carried the secret, in order.
func (s *headerSite) with() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name, secret := range s.seen {
		if secret {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// headerWorld is the site that a session's headers are for, and one of a stranger that it
// frames, links to and is framed by.
func headerWorld(t *testing.T) (own, other *headerSite) {
	var ownOrigin, otherOrigin string
	fill := func(s string) string { return strings.NewReplacer("OWN", ownOrigin, "OTHER", otherOrigin).Replace(s) }
	other = newHeaderSite(t, "localhost", func(path string) (string, string) {
		switch path {
		case "/frame", "/top":
			return "text/html", strings.ReplaceAll(fill(`<!doctype html><title>other</title><img src="PATH-img"><iframe src="OWN/framed"></iframe><script>
fetch('PATH-fetch')
fetch('OWN/steal')
fetch('OWN/steal-silently', {referrerPolicy: 'no-referrer'})
fetch('PATH-bounce?to=' + encodeURIComponent('OWN/steal-by-redirect'))
const w = new Worker(URL.createObjectURL(new Blob(["fetch('OWN/steal-from-worker')"])))
</script><form id=f method=post action="OWN/forged"><button>Send</button></form>`), "PATH", path)
		}
		return "text/plain", "other"
	})
	otherOrigin = other.origin
	own = newHeaderSite(t, "127.0.0.1", func(path string) (string, string) {
		switch path {
		case "/":
			return "text/html", fill(`<!doctype html><title>own</title><link rel=stylesheet href=/css><img src=/img><script src=/script></script>
<a href="/link">link</a> <a href="/leave?to=OTHER/left">leave</a> <a href="/popup" target=_blank>popup</a>
<img src="OTHER/img"><iframe src="OTHER/frame"></iframe><iframe src="/inner"></iframe><script>
fetch('/fetch')
fetch('/fetch-silently', {referrerPolicy: 'no-referrer'})
fetch('/bounce?to=' + encodeURIComponent('OTHER/by-redirect'))
fetch('/bounce-back?to=' + encodeURIComponent('OTHER/there?to=' + encodeURIComponent('OWN/back')))
fetch('OTHER/fetch')
fetch('OTHER/post', {method: 'POST', body: 'a'})
navigator.sendBeacon('OTHER/beacon')
const x = new XMLHttpRequest(); x.open('GET', '/xhr'); x.send()
new Worker('/worker')
new SharedWorker('/shared')
navigator.serviceWorker.register('/service')
try { new WebSocket('OTHER/socket'.replace('http', 'ws')) } catch {}
try { new WebSocket('OWN/socket'.replace('http', 'ws')) } catch {}
new EventSource('/events')
</script>`)
		case "/inner":
			return "text/html", `<!doctype html><img src=/inner-img>`
		case "/script", "/worker", "/shared", "/service":
			return "text/javascript", fill(strings.ReplaceAll(`fetch('NAME-fetch'); fetch('OTHERNAME-fetch')`, "NAME", path))
		case "/css":
			return "text/css", fill(`body { background: url(/css-img) } a { background: url(OTHER/css-img) }`)
		case "/link":
			return "text/html", `<!doctype html><title>linked</title><p>here`
		}
		return "text/plain", "own"
	})
	ownOrigin = own.origin
	return own, other
}

// Headers of a session go to the origin that it opened first, whoever frames, links,
// redirects or fetches, and to no other; and a stranger's page does not have them sent.
func TestHeadersStayWithTheirOrigin(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	for _, by := range []string{"session_open", "emulate"} {
		t.Run(by, func(t *testing.T) {
			own, other := headerWorld(t)
			a := newAgent(t, d)
			headers := params{"Authorization": "Bearer " + headerSecret, "X-Own": headerSecret}
			if by == "session_open" {
				a.do(by, params{"source": "chromium", "headers": headers})
			} else {
				a.do("session_open", params{"source": "chromium"})
				a.do(by, params{"headers": headers})
			}
			a.open(own.origin + "/")
			for _, path := range []string{
				"/", "/img", "/script", "/css", "/css-img", "/fetch", "/fetch-silently", "/xhr", "/bounce", "/bounce-back",
				"/inner", "/inner-img", "/script-fetch", "/worker-fetch", "/shared-fetch", "/service-fetch", "/events",
			} {
				if !own.wait(t, "GET "+path) {
					t.Errorf("%s came without the headers", path)
				}
			}
			for _, path := range []string{"GET /steal", "GET /steal-silently", "GET /steal-by-redirect", "GET /steal-from-worker", "GET /framed", "GET /back", "GET /socket"} {
				if own.wait(t, path) {
					t.Errorf("%s, which a stranger asked for or sent on, or which cannot have headers, came with them", path)
				}
			}
			for _, path := range []string{
				"GET /frame", "GET /frame-img", "GET /frame-fetch", "GET /frame-bounce", "GET /img", "GET /fetch", "POST /post", "POST /beacon", "GET /by-redirect", "GET /there",
				"GET /script-fetch", "GET /worker-fetch", "GET /shared-fetch", "GET /service-fetch", "GET /css-img", "GET /socket",
			} {
				other.wait(t, path)
			}
			// Navigations: by a link, by a redirect to the stranger, and by the stranger's form.
			a.do("click", params{"ref": a.snapshot().ref(t, "link", "link"), "snapshot": "none"})
			if !own.wait(t, "GET /link") {
				t.Error("a link's document came without the headers")
			}
			a.do("back", params{"snapshot": "none"})
			a.do("click", params{"ref": a.snapshot().ref(t, "link", "popup"), "snapshot": "none"})
			if !own.wait(t, "GET /popup") {
				t.Error("the document of a new tab came without the headers")
			}
			a.do("tab_select", params{"tab": "t1"})
			a.do("click", params{"ref": a.snapshot().ref(t, "link", "leave"), "snapshot": "none"})
			other.wait(t, "GET /left")
			a.open(other.origin + "/top")
			a.do("click", params{"ref": a.snapshot().ref(t, "button", "Send"), "snapshot": "none"})
			if own.wait(t, "POST /forged") {
				t.Error("a form of a stranger's page was posted with the headers")
			}
			if got := other.with(); len(got) > 0 {
				t.Errorf("the other origin got the headers with %q", got)
			}
			for _, path := range own.with() {
				if strings.Contains(path, "steal") || strings.Contains(path, "framed") || strings.Contains(path, "forged") {
					t.Errorf("sent with the headers for a stranger's page: %s", path)
				}
			}
		})
	}
}

// Without Chromium the same holds, along redirects.
func TestHeadersStayWithTheirOriginWithoutChromium(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	own, other := headerWorld(t)
	a := newAgent(t, d)
	a.do("session_open", params{"headers": params{"Authorization": "Bearer " + headerSecret, "X-Own": headerSecret}})
	a.open(own.origin + "/")
	a.open(own.origin + "/hop?to=" + url.QueryEscape(own.origin+"/same"))
	a.open(own.origin + "/leave?to=" + url.QueryEscape(other.origin+"/left"))
	a.open(own.origin + "/leave?to=" + url.QueryEscape(other.origin+"/there?to="+url.QueryEscape(own.origin+"/back")))
	refresh := "?header=" + url.QueryEscape("Refresh: 0; url=")
	a.open(own.origin + "/refresh" + refresh + url.QueryEscape(other.origin+"/refreshed"))
	a.open(other.origin + "/refresh" + refresh + url.QueryEscape(own.origin+"/sent-on"))
	a.open(own.origin + "/refresh" + refresh + url.QueryEscape(own.origin+"/refreshed"))
	a.open(other.origin + "/top")
	a.do("click", params{"ref": a.snapshot().ref(t, "button", "Send"), "snapshot": "none"})
	if got, want := own.with(), []string{"GET /", "GET /back", "GET /hop", "GET /leave", "GET /refresh", "GET /refreshed", "GET /same", "GET /sent-on"}; !slices.Equal(got, want) {
		t.Errorf("with the headers: %q, want %q", got, want)
	}
	own.wait(t, "POST /forged")
	own.wait(t, "GET /sent-on")
	other.wait(t, "GET /refreshed")
	if got := other.with(); len(got) > 0 {
		t.Errorf("the other origin got the headers with %q", got)
	}
}

// header_origins names the origins, the first that is opened is none of them then, and
// what came later holds in place of what came before.
func TestHeaderOriginsAreNamed(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"chromium", "http"} {
		t.Run(source, func(t *testing.T) {
			if source == "chromium" && os.Getenv("BROWSERD_BROWSER__DISABLED") == "true" {
				t.Skip("without Chromium")
			}
			d := testdaemon.Start(t, testdaemon.Options{})
			own, other := headerWorld(t)
			third := newHeaderSite(t, "localhost", func(string) (string, string) { return "text/html", "<!doctype html><title>third</title>" })
			a := newAgent(t, d)
			a.do("session_open", params{"source": source, "headers": params{"X-Own": headerSecret}, "header_origins": []string{strings.ToUpper(other.origin) + "/", third.origin}})
			a.open(own.origin + "/")
			a.open(other.origin + "/named")
			a.open(third.origin + "/named")
			if got := own.with(); len(got) > 0 {
				t.Errorf("an origin that is not named got the headers with %q", got)
			}
			if !other.wait(t, "GET /named") || !third.wait(t, "GET /named") {
				t.Error("an origin that is named did not get the headers")
			}
			if source == "http" {
				return
			}
			// The page that is open is what emulate means.
			a.do("emulate", params{"headers": params{"X-Own": headerSecret}})
			a.open(other.origin + "/after")
			a.open(third.origin + "/after")
			if other.wait(t, "GET /after") || !third.wait(t, "GET /after") {
				t.Error("emulate did not bind its headers to the origin that was open")
			}
			a.do("emulate", params{"headers": params{}})
			a.open(third.origin + "/none")
			if third.wait(t, "GET /none") {
				t.Error("headers that were taken away are sent")
			}
		})
	}
}

// After Chromium died, the headers are those of the same origin, and not of the one that is
// loaded again.
func TestHeadersAfterChromiumDied(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	own, other := headerWorld(t)
	a := newAgent(t, d)
	a.do("session_open", params{"source": "chromium", "headers": params{"X-Own": headerSecret}})
	a.open(own.origin + "/link")
	a.open(other.origin + "/before")
	for _, p := range d.Chromium("browser") {
		p.Kill()
	}
	for limit := time.Now().Add(20 * time.Second); ; {
		if _, err := a.try("snapshot", nil); err == nil {
			break
		} else if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
	a.open(own.origin + "/link-after")
	if !own.wait(t, "GET /link-after") {
		t.Error("the headers were lost with Chromium")
	}
	if got := other.with(); len(got) > 0 {
		t.Errorf("the other origin got the headers with %q", got)
	}
}

// http_request sends its headers to the origin that it names. It follows redirects only with
// follow, and none of its headers goes to another origin then, nor back from there; web_fetch,
// which follows redirects, accepts none.
func TestHeadersOfHTTPRequestDoNotFollow(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	own, other := headerWorld(t)
	a := newAgent(t, d)
	headers := params{
		"Authorization": "Bearer " + headerSecret, "Cookie": "sid=" + headerSecret, "X-Api-Key": headerSecret, "X-Own": headerSecret,
		"User-Agent": headerSecret, "Accept-Language": headerSecret, "Referer": own.origin + "/?" + headerSecret,
	}
	to := func(origin, path, then string) string {
		return origin + path + "?to=" + url.QueryEscape(then)
	}
	a.do("http_request", params{"url": to(own.origin, "/leave", other.origin+"/left"), "headers": headers})
	if !own.wait(t, "GET /leave") {
		t.Error("the headers did not come where they were sent")
	}
	a.refused("web_fetch", params{"url": own.origin + "/", "headers": headers}, protocol.InvalidParams)
	a.do("web_fetch", params{"url": to(own.origin, "/away", other.origin+"/fetched")})
	other.wait(t, "GET /fetched") // the requests before it have come too
	if _, left := other.has("GET /left"); left {
		t.Error("http_request followed without follow")
	}
	// Through the same origin to another one and back.
	chain := to(own.origin, "/first", to(own.origin, "/second", to(other.origin, "/stranger", own.origin+"/back")))
	for _, method := range []string{"GET", "POST"} {
		a.do("http_request", params{"url": chain, "method": method, "headers": headers, "body": "words", "follow": 5})
		for name, want := range map[string]bool{"/first": true, "/second": true, "/back": false} {
			if got := own.wait(t, method+" "+name); got != want {
				t.Errorf("%s %s came with the headers: %t, want %t", method, name, got, want)
			}
		}
		other.wait(t, method+" /stranger")
	}
	if got := other.with(); len(got) > 0 {
		t.Errorf("the other origin got the headers with %q", got)
	}
}

// What is the connection's, the browser's or the cookie jar's cannot be given, whatever
// its case, and the error names it; nor can what is no origin.
func TestHeadersThatAreRefused(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	a := newAgent(t, d)
	for _, name := range []string{
		"Host", "host", "Connection", "Content-Length", "Transfer-Encoding", "transfer-ENCODING", "Upgrade", "TE", "Trailer", "Keep-Alive", "Expect",
		"Proxy-Authorization", "Proxy-Connection", "proxy-anything", "Sec-Fetch-Site", "sec-ch-ua", "Cookie", "Cookie2", "Set-Cookie", "Origin", "referer", "Access-Control-Request-Method", "Forwarded", "X-Forwarded-Host", "x-original-url",
	} {
		e := a.refused("session_open", params{"headers": params{name: headerSecret}}, protocol.InvalidParams)
		if e.Details["header"] != name || e.Details["parameter"] != "headers" || e.Next == "" || !strings.Contains(e.Message, name) || strings.Contains(fmt.Sprint(e), headerSecret) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	for _, origin := range []string{"", "*", "null", "a.example", "https://a.example/path", "https://*.a.example", "ftp://a.example", "https://user@a.example", "https://a.example?x", "file:///"} {
		e := a.refused("session_open", params{"headers": params{"X-A": "1"}, "header_origins": []string{origin}}, protocol.InvalidParams)
		if e.Details["parameter"] != "header_origins" || e.Next == "" {
			t.Errorf("%q: %+v", origin, e)
		}
	}
	a.refused("session_open", params{"header_origins": []string{"https://a.example"}}, protocol.InvalidParams)
	e := a.refused("session_open", params{"headers": params{"X-A": strings.Repeat("a", 40<<10), "X-B": strings.Repeat("b", 25<<10)}}, protocol.TooLarge)
	if e.Details["limit"] != float64(64<<10) || e.Details["size"] != float64(65<<10+14) {
		t.Errorf("65 KiB of headers: %v", e.Details)
	}
	a.do("session_open", params{"headers": params{"X-A": strings.Repeat("a", 60<<10)}})
}
