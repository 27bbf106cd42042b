package e2e_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// headerCorners are pages, at OWN, the site that the session's headers are for, or at OTHER, a
// stranger's: what they ask OWN for at a path that begins with /yes has the headers, at one that
// begins with /no it has not, and nothing that OTHER is asked for has. /go?to=… redirects, and
// ?header=… is in the answer. CODED is an encoded OWN, or OTHER in OTHERCODED.
var headerCorners = []struct {
	name       string
	own, other string // each page's body; it is opened at own, unless that is empty
	click      bool   // its link or button
	asks       string // what is asked for: paths of OWN, and those of OTHER with a * before
}{
	{"prefetch and preload", `<link rel=prefetch href=OTHER/prefetch><link rel=preload as=image href=OTHER/preload><link rel=preload as=image href=/yes-preload>`, "", false, "*/prefetch */preload /yes-preload"},
	{"modules", `<script type=module>import('/yes-module').catch(() => {}); import('OTHER/module').catch(() => {})</script>`, "", false, "/yes-module */module"},
	{"fonts", `<style>@font-face{font-family:a;src:url(OTHER/font)}@font-face{font-family:b;src:url(/yes-font)}</style><p style="font-family:a">x<p style="font-family:b">x`, "", false, "/yes-font */font"},
	{"media", `<video src=OTHER/video></video><audio src=OTHER/audio></audio><video poster=OTHER/poster></video>`, "", false, "*/video */audio */poster"},
	{"an object and an embed", `<object data=OTHER/object></object><embed src=OTHER/embed>`, "", false, "*/object */embed"},
	{"imports of a style sheet", `<link rel=stylesheet href="/go?to=OTHERCODED/sheet"><style>@import url(OTHER/import)</style>`, "", false, "*/sheet */import"},
	{"ping of a link", `<a href=/yes-link ping=OTHER/ping>Link</a>`, "", true, "/yes-link"},
	{"a form to a stranger", `<form action=OTHER/get><button>Send</button></form>`, "", true, "*/get"},
	{"a form that is posted to a stranger", `<form method=post action=OTHER/post><button>Send</button></form>`, "", true, "*/post"},
	{"a form that is redirected to a stranger", `<form method=post action="/go?to=OTHERCODED/post"><button>Send</button></form>`, "", true, "*/post"},
	{"a refresh to a stranger", `<meta http-equiv=refresh content="0;url=OTHER/refresh">`, "", false, "*/refresh"},
	{"location, to a stranger", `<script>setTimeout(() => location = 'OTHER/location')</script>`, "", false, "*/location"},
	{"an icon that is redirected", `<link rel=icon href="/go?to=OTHERCODED/icon"><img src="/go?to=OTHERCODED/img">`, "", false, "*/img"},
	{"a download that is redirected", `<a href="/go?to=OTHERCODED/file" download>Save</a>`, "", true, "*/file"},
	{"a download of its own", `<a href="/yes-file" download>Save</a>`, "", true, "/yes-file"},
	{"redirect: manual", `<script>fetch('/go?to=OTHERCODED/manual', {redirect: 'manual'}).then(() => fetch('/yes-then'))</script>`, "", false, "/yes-then"},
	{"no credentials", `<script>fetch('OTHER/omit', {credentials: 'omit', mode: 'no-cors'}); fetch('OTHER/keep', {keepalive: true, mode: 'no-cors'})</script>`, "", false, "*/omit */keep"},
	{"its report to a stranger", `<script>location = '/policy?header=' + encodeURIComponent("Content-Security-Policy: img-src 'none'; report-uri OTHER/report")</script>`, "", false, "*/report"},
	{"a window of its own", `<button onclick="window.open('/yes-window')">Open</button>`, "", true, "/yes-window"},
	{"a window of a stranger", `<button onclick="window.open('OTHER/window')">Open</button>`, "", true, "*/window"},
	{"a frame of its own before its first document", `<iframe id=f></iframe><script>f.contentWindow.eval("fetch('OWN/no-empty')")</script>`, "", false, "/no-empty"},
	{"a frame of srcdoc", `<iframe srcdoc="<img src=OWN/yes-srcdoc><img src=OTHER/srcdoc>"></iframe>`, "", false, "/yes-srcdoc */srcdoc"},
	{"a sandboxed frame of its own", `<iframe sandbox="allow-scripts" srcdoc="<script>fetch('OWN/no-sandbox', {mode: 'no-cors'})</script>"></iframe>`, "", false, "/no-sandbox"},
	{"a frame of data:", `<iframe src="data:text/html,<img src=OWN/no-data>"></iframe>`, "", false, "/no-data"},
	{"a worker of a blob", `<script>new Worker(URL.createObjectURL(new Blob(["fetch('OWN/yes-blob'); fetch('OTHER/blob')"])))</script>`, "", false, "/yes-blob */blob"},

	{"a stranger's report", "", `<script>location = '/policy?header=' + encodeURIComponent("Content-Security-Policy: img-src 'none'; report-uri OWN/no-report")</script>`, false, "/no-report"},
	{"a stranger's prefetch and preload", "", `<link rel=prefetch href=OWN/no-prefetch><link rel=preload as=image href=OWN/no-preload>`, false, "/no-prefetch /no-preload"},
	{"a stranger's modules and fonts", "", `<script type=module>import('OWN/no-module').catch(() => {})</script><style>@font-face{font-family:a;src:url(OWN/no-font)}</style><p style="font-family:a">x`, false, "/no-module /no-font"},
	{"a stranger's media and objects", "", `<video src=OWN/no-video></video><object data=OWN/no-object></object><embed src=OWN/no-embed><img src=OWN/no-img referrerpolicy=no-referrer>`, false, "/no-video /no-object /no-embed /no-img"},
	{"a stranger's sheet", "", `<link rel=stylesheet href="/go?to=CODED/no-sheet"><style>@import url(OWN/no-import);</style>`, false, "/no-sheet /no-import"},
	{"a stranger's ping", "", `<a href=/link ping=OWN/no-ping>Link</a>`, true, "*/link"},
	{"a stranger's form that is redirected", "", `<form method=post action="/go?to=CODED/no-post"><button>Send</button></form>`, true, "/no-post"},
	{"a stranger's beacon", "", `<script>navigator.sendBeacon('OWN/no-beacon', 'x'); fetch('OWN/no-keep', {keepalive: true, mode: 'no-cors', method: 'POST'})</script>`, false, "/no-beacon /no-keep"},
	{"a stranger's empty frame", "", `<iframe id=f></iframe><script>f.contentWindow.eval("fetch('OWN/no-empty')")</script>`, false, "/no-empty"},
	{"a stranger's frame of srcdoc", "", `<iframe srcdoc="<img src=OWN/no-srcdoc><base href=OWN/><img src=no-base>"></iframe>`, false, "/no-srcdoc /no-base"},
	{"a stranger's frame of a blob", "", `<script>const f = document.createElement('iframe'); f.src = URL.createObjectURL(new Blob(["<img src=OWN/no-blob>"], {type: 'text/html'})); document.body.append(f)</script>`, false, "/no-blob"},
	{"a stranger's frame that goes there", "", `<iframe name=f src=/inner></iframe><script>setTimeout(() => open('OWN/no-frame', 'f'), 50)</script>`, false, "/no-frame"},
	{"a stranger's frame that a form goes to", "", `<iframe name=f></iframe><form id=s target=f action=OWN/no-form></form><script>s.submit()</script>`, false, "/no-form"},
	{"a stranger's window that sends its opener", `<button onclick="window.open('OTHER/')">Open</button>`, `<script>opener.location = 'OWN/yes-opener'</script>`, true, "/yes-opener"},
	{"a stranger's window that its opener sends", `<script>onmessage = () => w.location = 'OWN/yes-sent'</script><button onclick="w = window.open('OTHER/')">Open</button>`, `<script>opener.postMessage(0, '*')</script>`, true, "/yes-sent"},
	{"a stranger's early base", "", `<base href=OWN/><img src=no-based><script>fetch('no-fetched')</script>`, false, "/no-based /no-fetched"},
	{"a stranger's redirect there and back", "", `<script>fetch('/go?to=' + encodeURIComponent('OWN/no-hop?to=OTHERCODED/back'), {mode: 'no-cors'})</script>`, false, "/no-hop */back"},
}

func TestHeadersStayInEveryCorner(t *testing.T) {
	t.Parallel()
	a := newAgent(t, testdaemon.Start(t, testdaemon.Options{}))
	a.do("session_open", params{"source": "chromium", "downloads": true})
	for _, c := range headerCorners {
		t.Run(c.name, func(t *testing.T) {
			var own, other *headerSite
			page := func(body *string) func(string) (string, string) {
				return func(path string) (string, string) {
					if path != "/" {
						return "text/html", `<!doctype html><p>Shown</p><img src=x>`
					}
					return "text/html", "<!doctype html><title>page</title><body><p>Shown</p>" + strings.NewReplacer(
						"OTHERCODED", url.QueryEscape(other.origin), "CODED", url.QueryEscape(own.origin), "OTHER", other.origin, "OWN", own.origin).Replace(*body)
				}
			}
			own = newHeaderSite(t, "127.0.0.1", page(&c.own))
			other = newHeaderSite(t, "localhost", page(&c.other))
			a.do("emulate", params{"headers": params{"X-Own": headerSecret, "Authorization": headerSecret}, "header_origins": []string{own.origin}})
			at := own
			if c.own == "" {
				at = other
			}
			a.open(at.origin + "/")
			if c.click {
				a.do("click", params{"ref": params{"css": "a, button"}, "snapshot": "none"})
			}
			for _, path := range strings.Fields(c.asks) {
				if rest, stranger := strings.CutPrefix(path, "*"); stranger {
					other.wait(t, rest)
				} else {
					own.wait(t, path)
				}
			}
			if got := other.with(); len(got) > 0 {
				t.Errorf("the stranger got the headers with %q", got)
			}
			own.mu.Lock()
			defer own.mu.Unlock()
			for name, secret := range own.seen {
				_, path, _ := strings.Cut(name, " ")
				if secret && strings.HasPrefix(path, "/no-") || !secret && strings.HasPrefix(path, "/yes-") {
					t.Errorf("%s: with the headers: %v", name, secret)
				}
			}
		})
	}
}

// An origin is a scheme, a host and a port, however they are written, and a host is not
// another of the same address. A dot at its end makes no other host of it (RFC 1034, 3.1).
func TestHeaderOriginsHaveOneForm(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		untested.Skip(t, "no IPv6 here: %v", err)
	}
	site := newHeaderSite(t, "127.0.0.1", func(string) (string, string) { return "text/html", "<!doctype html><title>here</title>" })
	six := httptest.NewUnstartedServer(site.Config.Handler)
	six.Listener.Close()
	six.Listener = listener
	six.Start()
	t.Cleanup(six.Close)
	secure := httptest.NewTLSServer(site.Config.Handler)
	t.Cleanup(secure.Close)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_POLICY__ALLOW_HOSTS": "127.0.0.1,localhost,::1", "BROWSERD_POLICY__INSECURE_HOSTS": strings.TrimPrefix(secure.URL, "https://"),
	}})
	port := func(s string) string { u, _ := url.Parse(s); return ":" + u.Port() }
	four, v6, tls := port(site.URL), port(six.URL), port(secure.URL)
	for _, source := range []string{"chromium", "http"} {
		for i, c := range []struct {
			named, opened string
			with          bool
		}{
			{"http://127.0.0.1" + four, "http://127.0.0.1" + four, true},
			{"HTTP://127.1" + four, "http://127.0.0.1" + four, true},
			{"http://127.0.0.1" + four, "http://0x7f.1" + four, true},
			{"http://LOCALHOST" + four, "http://localhost" + four, true},
			{"http://[0:0:0:0:0:0:0:1]" + v6, "http://[::1]" + v6, true},
			{"http://localhost" + four, "http://127.0.0.1" + four, false},
			{"http://localhost" + four, "http://localhost." + four, true},
			{"http://localhost" + v6, "http://[::1]" + v6, false},
			{"http://127.0.0.1" + tls, "https://127.0.0.1" + tls, false},
			{"https://127.0.0.1" + tls, "https://127.0.0.1" + tls, true},
			{"http://localhost" + four, "https://127.0.0.1" + tls, false},
			{"http://localhost", "http://localhost" + four, false},
		} {
			a := newAgent(t, d)
			a.do("session_open", params{"source": source, "headers": params{"X-Own": headerSecret}, "header_origins": []string{c.named}})
			path := "/" + source + string(rune('a'+i))
			if _, err := a.try("open", params{"url": c.opened + path, "snapshot": "none"}); err != nil {
				t.Errorf("%s: %v", c.opened, err)
				continue
			}
			if got := site.wait(t, "GET "+path); got != c.with {
				t.Errorf("%s: named %s, opened %s: with the headers: %v", source, c.named, c.opened, got)
			}
			a.do("session_close", nil)
		}
	}
}

// A page that has left by itself does not get the headers that were meant for the one before.
func TestHeadersForAPageThatHasLeft(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	var other *headerSite
	leave := make(chan struct{})
	own := newHeaderSite(t, "127.0.0.1", func(path string) (string, string) {
		if path == "/leave" {
			<-leave
		}
		return "text/html", `<!doctype html><title>own</title><script>fetch('/leave').then(() => location = '` + other.origin + `/trap')</script>`
	})
	other = newHeaderSite(t, "localhost", func(string) (string, string) { return "text/html", `<!doctype html><title>trap</title>` })
	a := newAgent(t, d)
	a.do("session_open", params{"source": "chromium"})
	a.open(own.origin + "/")
	close(leave)
	type list struct {
		Sessions []struct{ Page protocol.Page }
	}
	until(t, 10*time.Second, "the page has left", func() bool { return ask[list](a, "session_list", nil).Sessions[0].Page.Title == "trap" })
	if _, err := a.try("emulate", params{"headers": params{"X-Own": headerSecret}}); protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("headers for a page that has left: %v", err)
	}
	a.open(other.origin + "/again")
	if got := other.with(); len(got) > 0 {
		t.Errorf("the stranger got the headers with %q", got)
	}
	a.do("emulate", params{"headers": params{"X-Own": headerSecret}}) // the client knows now where the page is
	a.open(other.origin + "/meant")
	if !other.wait(t, "GET /meant") {
		t.Error("the headers did not come to the page that was open")
	}
}

// What Early Hints (RFC 8297) name is asked for before there is a document: with the headers at
// their own origin at most, and never at another.
func TestHeadersOfEarlyHints(t *testing.T) {
	t.Parallel()
	other := newHeaderSite(t, "localhost", func(string) (string, string) { return "image/svg+xml", "<svg/>" })
	strangers := httptest.NewTLSServer(other.Config.Handler)
	t.Cleanup(strangers.Close)
	var own *httptest.Server
	var followed atomic.Bool
	site := newHeaderSite(t, "127.0.0.1", func(path string) (string, string) {
		if path != "/hinting" {
			return "text/javascript", ""
		}
		return "text/html", `<!doctype html><title>hinted</title><script src=/hinted></script><img src="` + strangers.URL + `/hinted">`
	})
	own = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hinting" {
			w.Header().Add("Link", "</hinted>; rel=preload; as=script")
			w.Header().Add("Link", "<"+strangers.URL+"/hinted>; rel=preload; as=image")
			w.Header().Add("Link", "<"+strangers.URL+">; rel=preconnect")
			// The document comes when the hint has been followed. It is sent again, since Chromium loses the one
			// that comes before its transaction waits for headers (net/spdy/spdy_http_stream.cc, OnEarlyHintsReceived).
			for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit) && r.Context().Err() == nil && !followed.Load(); time.Sleep(50 * time.Millisecond) {
				w.WriteHeader(http.StatusEarlyHints)
				_, seen := site.has("GET /hinted")
				followed.Store(seen)
			}
		}
		site.Config.Handler.ServeHTTP(w, r)
	}))
	own.EnableHTTP2 = true // Chromium takes hints from no other
	own.StartTLS()
	t.Cleanup(own.Close)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_POLICY__INSECURE_HOSTS": strings.TrimPrefix(own.URL, "https://") + "," + strings.TrimPrefix(strangers.URL, "https://"),
	}})
	a := newAgent(t, d)
	a.do("session_open", params{"source": "chromium", "headers": params{"X-Own": headerSecret}})
	a.open(own.URL + "/hinting")
	if !site.wait(t, "GET /hinting") {
		t.Error("the document came without the headers")
	}
	if site.wait(t, "GET /hinted"); !followed.Load() {
		t.Error("Chromium did not follow the hint: this test proves nothing")
	}
	other.wait(t, "GET /hinted")
	if got := other.with(); len(got) > 0 {
		t.Errorf("the stranger got the headers with %q", got)
	}
}
