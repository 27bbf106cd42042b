package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// attackSite is an origin that answers as the query of a request asks (status, to, body, type,
// header) and keeps the headers of every request.
type attackSite struct {
	*httptest.Server
	origin string

	mu   sync.Mutex
	seen map[string][]http.Header // by path
}

func newAttackSite(t *testing.T, host string) *attackSite {
	s := &attackSite{seen: map[string][]http.Header{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen[r.URL.Path] = append(s.seen[r.URL.Path], r.Header)
		s.mu.Unlock()
		h, q := w.Header(), r.URL.Query()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Headers", "*")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Type", "text/html")
		for _, given := range q["header"] {
			name, value, _ := strings.Cut(given, ":")
			h.Set(name, value)
		}
		status, _ := strconv.Atoi(q.Get("status"))
		if to := q.Get("to"); to != "" {
			h.Set("Location", to)
			status = max(status, http.StatusMovedPermanently)
		}
		if status != 0 {
			w.WriteHeader(status)
		}
		io.WriteString(w, q.Get("body"))
	}))
	t.Cleanup(s.Close)
	s.origin = strings.Replace(s.URL, "127.0.0.1", host, 1)
	return s
}

// at returns an address of the site that answers so; names and values by turns.
func (s *attackSite) at(path string, answer ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(answer); i += 2 {
		q.Add(answer[i], answer[i+1])
	}
	if len(q) == 0 {
		return s.origin + path
	}
	return s.origin + path + "?" + q.Encode()
}

// wait returns when the path was asked for.
func (s *attackSite) wait(t *testing.T, path string) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		n := len(s.seen[path])
		s.mu.Unlock()
		if n > 0 {
			return
		}
		if time.Now().After(limit) {
			t.Errorf("%s%s was not asked for", s.origin, path)
			return
		}
	}
}

func hasSecret(h http.Header) bool {
	var all strings.Builder
	h.Write(&all)
	return strings.Contains(all.String(), headerSecret)
}

// The session's headers go with what a document of their own origin asks for, and with nothing
// that a stranger asks for: not by a style sheet of the origin, in the moment in which a
// document comes or goes, from a sandbox, by a frame that goes elsewhere by itself, or by
// a redirect. Where a request with headers is redirected to a stranger, that gets neither the
// headers nor more of the page's address than without them.
func TestHeadersAreForTheOriginsOwnDocuments(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	own, other, port := newAttackSite(t, "127.0.0.1"), newAttackSite(t, "localhost"), newAttackSite(t, "127.0.0.1")
	script := func(body string) []string { return []string{"header", "Content-Type:text/javascript", "body", body} }
	const silent, marker = `<meta name=referrer content=no-referrer>`, "in-the-address"
	attr := func(s string) string { return strings.ReplaceAll(s, `"`, "%22") }
	// Requests that come whenever they can: that none of them has the secret is asked at the end.
	ten := func(path string) (all string) {
		for i := range 10 {
			all += fmt.Sprintf(`<img src="%s%s?%d">`, own.origin, path, i)
		}
		return all
	}
	// Paths of own that begin with no- are asked for by strangers, those with yes- by itself.
	type attack struct {
		open, then string   // addresses, opened in turn
		want       []string // requests that come of it: O is the stranger, P another port
	}
	attacks := []attack{
		{other.at("/css", "body", `<link rel=stylesheet href="`+own.at("/no-css", "header", "Content-Type:text/css", "body", `@import "/no-css-import"; body { background: url(/no-css-img) }`)+`">text`), "", []string{"/no-css", "/no-css-import", "/no-css-img"}},
		{other.at("/pagehide", "body", silent+`<script>addEventListener('pagehide', () => { for (let i = 0; i < 20; i++) fetch('`+own.origin+`/no-pagehide?' + i, {mode: 'no-cors', keepalive: true}) })</script>`), own.at("/after"), []string{"/no-pagehide"}},
		{other.at("/unload", "body", silent+`<script>addEventListener('unload', () => { for (let i = 0; i < 20; i++) new Image().src = '`+own.origin+`/no-unload?' + i })</script>`), own.at("/after"), nil},
		{own.at("/framer", "body", `<iframe src="`+attr(own.at("/frame", "body", `<script>onload = () => setTimeout(() => location = decodeURIComponent("`+url.PathEscape(other.at("/away", "body", silent+ten("/no-away")))+`"))</script>`))+`"></iframe>`), "", []string{"/no-away"}},
		{own.at("/sandbox", "body", `<iframe sandbox=allow-scripts src="`+attr(own.at("/user", "body", sandboxed(own, "/no-sandbox")))+`"></iframe>`), "", []string{"/no-sandbox-img", "/no-sandbox-script", "/no-sandbox-fetch", "/no-sandbox-frame"}},
		{own.at("/sandbox", "body", sandboxed(own, "/no-csp"), "header", "Content-Security-Policy:sandbox allow-scripts"), "", []string{"/no-csp-img", "/no-csp-script", "/no-csp-fetch", "/no-csp-frame"}},
		{own.at("/srcdoc", "body", `<iframe sandbox=allow-scripts srcdoc="<img src=/no-srcdoc-img><script src=/no-srcdoc-script></script>"></iframe>`), "", []string{"/no-srcdoc-img", "/no-srcdoc-script"}},
		{own.at("/framer", "body", `<iframe src="`+other.at("/hostile", "body", silent+`<script>location = '`+own.origin+`/no-goes-itself'</script>`)+`"></iframe>`), "", []string{"/no-goes-itself"}},
		{own.at("/forum", "body", `<img src="`+other.at("/picture", "to", own.origin+"/no-img-redirect")+`"><iframe src="`+other.at("/document", "to", own.origin+"/no-frame-redirect")+`"></iframe>`), "", []string{"/no-img-redirect", "/no-frame-redirect"}},
		{other.at("/ahead", "body", `<link rel=prefetch href="`+own.origin+`/no-prefetch" referrerpolicy=no-referrer><link rel=preload as=image href="`+own.origin+`/no-preload" referrerpolicy=no-referrer>
<script type=speculationrules>{"prefetch": [{"urls": ["`+own.origin+`/no-speculation"], "eagerness": "immediate", "referrer_policy": "no-referrer"}]}</script>`, "header", "Link:<"+own.origin+"/no-link>; rel=preload; as=image"), "", []string{"/no-prefetch", "/no-preload", "/no-link"}},
		{other.at("/blank", "body", silent+`<iframe id=f></iframe><script>f.contentDocument.body.innerHTML = '<img src="`+own.origin+`/no-blank">'</script><iframe srcdoc='<img src="`+own.origin+`/no-blank-srcdoc">'></iframe>
<iframe src='data:text/html,<img src="`+own.origin+`/no-data">'></iframe><object data="`+own.origin+`/no-object"></object><embed src="`+own.origin+`/no-embed">`), "", []string{"/no-blank", "/no-blank-srcdoc", "/no-data", "/no-object", "/no-embed"}},
		{own.at("/refresh", "body", `<meta http-equiv=refresh content="0;url=`+other.origin+`/by-meta">`), "", []string{"O/by-meta"}},
		{own.at("/refresh", "header", "Refresh:0;url="+other.origin+"/by-refresh"), "", []string{"O/by-refresh"}},
		{own.at("/workers", "body", `<script>new Worker('`+own.at("/yes-worker", script(`importScripts('`+own.at("/yes-import", "to", other.at("/by-import", script("0")...))+`'); fetch('/yes-worker-fetch')`)...)+`')</script>`), "", []string{"O/by-import", "/yes-worker", "/yes-worker-fetch"}},
		// What is its own, however it comes about.
		{own.at("/plain", "body", `<img src=/yes-img>`), "", []string{"/yes-img"}},
		{own.at("/plain", "body", silent+`<img src=/yes-silent-img><iframe src=/yes-silent-frame></iframe>`), "", []string{"/yes-silent-img", "/yes-silent-frame"}},
		{own.at("/made", "body", `<iframe srcdoc="<img src=/yes-srcdoc>"></iframe><script>new Worker(URL.createObjectURL(new Blob(["fetch('`+own.origin+`/yes-blob-worker')"])));fetch('`+own.at("/yes-hop", "to", own.origin+"/yes-hopped")+`')</script>`), "", []string{"/yes-srcdoc", "/yes-blob-worker", "/yes-hop", "/yes-hopped"}},
	}
	for range 10 {
		attacks = append(attacks, attack{own.at("/from", "body", "from"), other.at("/first-bytes", "body", silent+ten("/no-first-bytes")), []string{"/no-first-bytes"}})
	}
	for _, status := range []string{"301", "302", "303", "307", "308"} {
		to := func(what string) string {
			return own.at("/yes-"+what+status, "status", status, "to", other.origin+"/by-"+what+status)
		}
		page := attack{own.at("/redirects", "q", marker, "body", `<img src="`+to("img")+`"><script src="`+to("script")+`"></script><link rel=stylesheet href="`+to("css")+`"><link rel=preload as=image href="`+to("preload")+`"><link rel=prefetch href="`+to("prefetch")+`">
<iframe src="`+to("frame")+`"></iframe><video src="`+to("video")+`"></video><object data="`+to("object")+`"></object><script>
fetch('`+to("fetch")+`').catch(() => {}); fetch('`+to("post")+`', {method: 'POST', body: 'x'}).catch(() => {}); fetch('`+to("keepalive")+`', {keepalive: true}).catch(() => {})
navigator.sendBeacon('`+to("beacon")+`'); new EventSource('`+to("events")+`'); const x = new XMLHttpRequest(); x.open('GET', '`+to("xhr")+`'); x.send()</script>`), "", nil}
		for _, what := range []string{"img", "script", "css", "preload", "prefetch", "frame", "video", "object", "fetch", "post", "keepalive", "beacon", "events", "xhr"} {
			page.want = append(page.want, "/yes-"+what+status, "O/by-"+what+status)
		}
		tab := attack{own.at("/yes-tab"+status, "status", status, "to", other.at("/by-tab"+status, "to", port.origin+"/by-tab"+status)), "", []string{"/yes-tab" + status, "O/by-tab" + status, "P/by-tab" + status}}
		attacks = append(attacks, page, tab)
	}

	a := newAgent(t, d)
	a.do("session_open", params{"source": "chromium", "headers": params{"Authorization": "Bearer " + headerSecret, "X-Own": headerSecret}})
	a.open(own.at("/", "body", "own"))
	for _, attack := range attacks {
		a.do("open", params{"url": attack.open, "snapshot": "none"})
		if attack.then != "" {
			a.do("open", params{"url": attack.then, "snapshot": "none"})
		}
		for _, path := range attack.want {
			s := map[byte]*attackSite{'/': own, 'O': other, 'P': port}[path[0]]
			s.wait(t, path[strings.Index(path, "/"):])
		}
	}
	attempts, leaks := 0, 0
	for _, s := range []*attackSite{own, other, port} {
		s.mu.Lock()
		for path, requests := range s.seen {
			for _, h := range requests {
				switch secret := hasSecret(h); {
				case s == own && strings.HasPrefix(path, "/yes-") && !secret:
					t.Errorf("%s came without the headers", path)
				case s == own && !strings.HasPrefix(path, "/no-"): // its own documents
				case secret:
					leaks++
					t.Errorf("%s%s came with the headers (Referer %q, Origin %q)", s.origin, path, h.Get("Referer"), h.Get("Origin"))
					fallthrough
				default:
					attempts++
				}
				if s != own && strings.Contains(h.Get("Referer"), marker) {
					t.Errorf("%s%s came with the whole Referer", s.origin, path)
				}
			}
		}
		s.mu.Unlock()
	}
	t.Logf("%d attempts, %d with the headers", attempts, leaks)
}

// sandboxed is a document that asks own for a picture, a script, data and a frame.
func sandboxed(own *attackSite, path string) string {
	return `<img src=` + path + `-img><script src="` + own.at(path+"-script", "header", "Content-Type:text/javascript") + `"></script><script>fetch('` + path + `-fetch').catch(() => {})</script><iframe src=` + path + `-frame></iframe>`
}
