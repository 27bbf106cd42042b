package e2e_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/internal/fakeweb"
	"github.com/browserd/browserd/internal/netns"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// hosts is an internet of one machine that answers for every name, as a content network
// does: what tells one site from another is what a request says.
type hosts struct {
	dns   *fakedns.Server
	roots string
	key   string

	mu      sync.Mutex
	asked   map[string]bool // "Host SNI address"
	packets int             // of UDP, to the port of QUIC
	page    string
}

func newHosts(t *testing.T) *hosts {
	h := &hosts{dns: fakedns.Start(t), asked: map[string]bool{}}
	netns.RouteEverythingHere(t)
	var listeners []net.Listener
	for _, port := range []string{":80", ":443"} {
		l, err := net.Listen("tcp", port)
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	udp, err := net.ListenPacket("udp", ":443")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := make([]byte, 2048); ; {
			if _, _, err := udp.ReadFrom(b); err != nil {
				return
			}
			h.mu.Lock()
			h.packets++
			h.mu.Unlock()
		}
	}()
	t.Cleanup(func() { udp.Close(); <-ended })
	authority := fakeweb.Serve(t, h, listeners...)
	h.key, h.roots = authority.KeyHash, filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(h.roots, authority.PEM, 0o644); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hosts) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	to, _ := netip.ParseAddrPort(at.String())
	sni := "plain"
	if r.TLS != nil {
		sni = r.TLS.ServerName
	}
	h.mu.Lock()
	h.asked[fmt.Sprintf("%s %s %s", r.Host, sni, to.Addr().Unmap())] = true
	body := h.page
	h.mu.Unlock()
	rw.Header().Set("Access-Control-Allow-Origin", "*")
	rw.Header().Set("Alt-Svc", `h3=":443"; ma=86400, h3="hidden.test.com:443"; ma=86400, h2="hidden.test.com:443"; ma=86400`)
	rw.Header().Set("Connection", "close")
	rw.Header().Set("Content-Type", "text/html")
	if strings.HasSuffix(r.URL.Path, ".js") {
		rw.Header().Set("Content-Type", "text/javascript")
		body = worker
	}
	io.WriteString(rw, body)
}

// taken lists what was asked since the last call.
func (h *hosts) taken() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := h.asked
	h.asked = map[string]bool{}
	return asked
}

func (h *hosts) start(t *testing.T, jail, allow, only string) *testdaemon.Daemon {
	return testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_POLICY__RESOLVER": h.dns.Addr.String(), "SSL_CERT_FILE": h.roots, "BROWSERD_BROWSER__JAIL": jail,
		"BROWSERD_BROWSER__ARGS":       "--ignore-certificate-errors-spki-list=" + h.key,
		"BROWSERD_POLICY__ALLOW_HOSTS": allow, "BROWSERD_POLICY__ALLOWED_DOMAINS": only,
	}})
}

// worker asks from a service worker, a shared one and a plain one.
const worker = `const ask = () => Promise.allSettled([fetch('https://hidden.test.com/w', {mode: 'no-cors'}), fetch('http://hidden.test.com/w', {mode: 'no-cors'}),
	fetch('https://front.test.com/w', {headers: {Host: 'hidden.test.com', 'X-Forwarded-Host': 'hidden.test.com'}, mode: 'no-cors'}),
	new Promise(r => { const s = new WebSocket('wss://hidden.test.com/w'); s.onopen = s.onerror = r })]);
onconnect = e => ask().then(() => e.ports[0].postMessage('asked'));
onmessage = e => ask().then(() => (e.source || self).postMessage('asked'));`

const frontPage = `<!doctype html><title>Front</title><link rel=preconnect href=https://hidden.test.com><img src=https://hidden.test.com/i><iframe src=https://hidden.test.com/f></iframe><h1>Front</h1>`

// asking has the page and all its workers ask the site that the policy does not allow.
const asking3 = `(async () => {
	const of = (w, post) => new Promise(r => { w.onmessage = r; w.onerror = r; post(); setTimeout(r, 4000) });
	const plain = new Worker('/w.js'), shared = new SharedWorker('/s.js');
	const registered = await navigator.serviceWorker.register('/sw.js').catch(e => null);
	const active = registered && (await navigator.serviceWorker.ready).active;
	await Promise.all([of(plain, () => plain.postMessage(0)), of(shared.port, () => shared.port.start()),
		active && of(navigator.serviceWorker, () => active.postMessage(0)),
		fetch('https://hidden.test.com/p', {mode: 'no-cors'}).catch(() => 0), fetch('https://front.test.com/p', {headers: {Host: 'hidden.test.com'}})]);
	return !!active })()`

// One address serves a site that may be reached and one that may not. Whatever a page, its
// workers and an agent try, no request for the other arrives: not by the name in the
// TLS handshake, not by the header Host, not over QUIC, not by an alternative service; in
// the jail and without it.
func TestNothingIsFronted(t *testing.T) {
	aboutOneProcess(t, "it runs in a network namespace")
	t.Parallel()
	if !netns.Inside(t, untested.InCI()) {
		return
	}
	h := newHosts(t)
	for _, name := range []string{"front.test.com", "hidden.test.com"} {
		h.dns.Set(name, fakedns.Answer{A: []string{"93.184.216.34"}})
	}
	h.page = frontPage
	for _, jail := range []string{"required", "off"} {
		d := h.start(t, jail, "", "front.test.com")
		a := newAgent(t, d)
		a.open("https://front.test.com/")
		if active := a.do("eval", params{"expression": asking3, "timeout_ms": 20000}).Value; active != true {
			t.Errorf("jail %s: the service worker did not run", jail)
		}
		a.open("https://front.test.com/again") // an alternative service counts from the second visit
		a.open("http://front.test.com/")
		for _, url := range []string{"https://hidden.test.com/", "http://hidden.test.com/", "https://front.test.com@hidden.test.com/"} {
			for _, command := range []string{"open", "http_request", "web_fetch"} {
				if e := a.refused(command, params{"url": url}, protocol.PolicyDenied); e.Details["reason"] == nil {
					t.Errorf("%s %s: %v", command, url, e.Details)
				}
			}
		}
		for _, header := range []string{"Host", "host", ":authority", "Proxy-Authorization", "Connection"} {
			a.refused("http_request", params{"url": "http://front.test.com/", "headers": params{header: "hidden.test.com"}}, protocol.InvalidParams)
		}
		a.do("http_request", params{"url": "https://front.test.com/", "headers": params{"X-Forwarded-Host": "hidden.test.com"}})
		want := map[string]bool{"front.test.com front.test.com 93.184.216.34": true, "front.test.com plain 93.184.216.34": true}
		if diff := cmp.Diff(want, h.taken()); diff != "" {
			t.Errorf("jail %s: requests by Host, name in the handshake and address (-want +got):\n%s", jail, diff)
		}
		d.Stop()
	}
	if h.packets != 0 {
		t.Errorf("%d packets to the port of QUIC", h.packets)
	}
	// The fake can tell: where a client lies in its handshake, it says so.
	c, err := tls.Dial("tcp", "93.184.216.34:443", &tls.Config{ServerName: "hidden.test.com", InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: front.test.com\r\n\r\n")
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	c.Read(make([]byte, 1))
	if asked := h.taken(); !asked["front.test.com hidden.test.com 93.184.216.34"] {
		t.Errorf("the fake noted %v", asked)
	}
}

// A private host that an operator opened by name stays the only one: a site of the
// outside whose name comes to mean its address, or another private one, does not reach
// it. An entry with an address opens that address to every name that means it, and no other.
func TestRebindingBesideAllowHosts(t *testing.T) {
	aboutOneProcess(t, "it runs in a network namespace")
	t.Parallel()
	if !netns.Inside(t, untested.InCI()) {
		return
	}
	h := newHosts(t)
	h.page = "<!doctype html><title>Page</title><h1>Page</h1>"
	private := func(ip string) fakedns.Answer { return fakedns.Answer{A: []string{ip}} }
	for _, tt := range []struct {
		allow, jail string
		reaches     map[string]bool // by the address that evil.test.com comes to mean
	}{
		{"wiki.test.com", "required", map[string]bool{"10.0.0.5": false, "10.0.0.6": false, "127.0.0.1": false, "169.254.169.254": false}},
		{"10.0.0.5", "off", map[string]bool{"10.0.0.5": true, "10.0.0.6": false, "127.0.0.1": false, "169.254.169.254": false}},
	} {
		h.dns.Set("wiki.test.com", private("10.0.0.5"))
		d := h.start(t, tt.jail, tt.allow, "")
		a := newAgent(t, d)
		a.open("http://wiki.test.com/")
		for ip, reaches := range tt.reaches {
			h.dns.Set("evil.test.com", fakedns.Answer{A: []string{"93.184.216.34"}})
			a.open("http://evil.test.com/")
			h.taken()
			h.dns.Set("evil.test.com", private(ip))
			got := a.do("eval", params{"expression": `fetch('/secret').then(r => r.ok, () => false)`}).Value
			for command, p := range map[string]params{"http_request": {}, "web_fetch": {"source": "http"}, "open": {}} {
				p["url"] = "http://evil.test.com/" + command
				if _, err := a.try(command, p); (err == nil) != reaches {
					t.Errorf("allow_hosts %s, jail %s: %s at %s: %v", tt.allow, tt.jail, command, ip, err)
				}
			}
			arrived := h.taken()["evil.test.com plain "+ip]
			if got != reaches || arrived != reaches {
				t.Errorf("allow_hosts %s, jail %s: the page's own name means %s now: read %v, arrived %v, want %v", tt.allow, tt.jail, ip, got, arrived, reaches)
			}
		}
		d.Stop()
	}
}
