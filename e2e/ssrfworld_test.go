//go:build linux

package e2e_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/internal/fakeweb"
	"github.com/browserd/browserd/internal/netns"
	"github.com/browserd/browserd/internal/ssrfcases"
	"github.com/browserd/browserd/internal/testdaemon"
)

// world is a network in which every address is ours: one web server behind all
// of them, on every port that a case names, and one DNS server.
type world struct {
	t     *testing.T
	dns   *fakedns.Server
	cases []ssrfcases.Case
	roots string // a file with the certificate of authority

	authority *fakeweb.Authority

	mu      sync.Mutex
	arrived []netip.AddrPort
	packets []string
	at      ssrfcases.Case
	body    string // of the case's page
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, cases: ssrfcases.Load(t, "$OWN_PUBLIC_IP", ownPublicIP)}
	netns.RouteEverythingHere(t)
	netns.AddAddress(t, netip.MustParseAddr(ownPublicIP))
	w.dns = fakedns.Start(t)
	var listeners []net.Listener
	for _, port := range w.ports() {
		l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, &noting{l, w})
	}
	w.listenUDP(t)
	w.authority = fakeweb.Serve(t, http.HandlerFunc(w.answer), listeners...)
	w.roots = filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(w.roots, w.authority.PEM, 0o644); err != nil {
		t.Fatal(err)
	}
	return w
}

// ports are those of the web, and every other that a case names: a connection
// that should not be made must find somebody.
func (w *world) ports() []int {
	ports := []int{80, 443, 8080, 8443}
	for _, c := range w.cases {
		for _, m := range portIn.FindAllStringSubmatch(fmt.Sprint(c.URL, c.Chain), -1) {
			if n, err := strconv.Atoi(m[1]); err == nil && n > 0 && n < 1<<16 && !slices.Contains(ports, n) {
				ports = append(ports, n)
			}
		}
	}
	return ports
}

var portIn = regexp.MustCompile(`:(\d{2,5})\b`)

// noting is a listener that notes by which address it was reached.
type noting struct {
	net.Listener
	w *world
}

func (n *noting) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	to := netip.MustParseAddrPort(c.LocalAddr().String())
	n.w.mu.Lock()
	n.w.arrived = append(n.w.arrived, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
	n.w.mu.Unlock()
	return c, nil
}

// reached is by which addresses somebody came since the last call.
func (w *world) reached() []netip.AddrPort {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.arrived
	w.arrived = nil
	return out
}

// strayPackets are the UDP packets since the last call.
func (w *world) strayPackets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.packets
	w.packets = nil
	return out
}

// serve makes c the case that is answered for.
func (w *world) serve(c ssrfcases.Case) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.body, w.arrived = c, "", nil
}

// embed makes what c's line does the content of its page.
func (w *world) embed(c ssrfcases.Case) {
	if u, err := url.Parse(c.Page); err == nil {
		w.dns.Set(u.Hostname(), fakedns.Answer{A: []string{"93.184.216.34"}})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.body = writtenOut(c)
}

// listenUDP notes every packet on the ports that STUN, DNS, mDNS and QUIC use:
// Chromium itself may send none.
func (w *world) listenUDP(t *testing.T) {
	for _, port := range []int{53, 443, 3478, 5353, 7777} {
		conn, err := net.ListenPacket("udp", ":"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for buf := make([]byte, 2048); ; {
				n, from, err := conn.ReadFrom(buf)
				if err != nil {
					return
				}
				w.mu.Lock()
				w.packets = append(w.packets, fmt.Sprintf("%d bytes from %s to UDP port %d", n, from, port))
				w.mu.Unlock()
			}
		}()
		t.Cleanup(func() {
			conn.Close()
			<-ended
		})
	}
}

// answer plays the case's chain; each connection is of one request, so that the
// next one is looked up again.
func (w *world) answer(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	c, body := w.at, w.body
	w.mu.Unlock()
	rw.Header().Set("Connection", "close")
	rw.Header().Set("Cache-Control", "no-store")
	if to := r.URL.Query().Get("to"); to != "" && r.URL.Path == "/redir" {
		rw.Header().Set("Location", to)
		rw.WriteHeader(http.StatusFound)
		return
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	for _, h := range c.Chain {
		if h.URL != scheme+"://"+r.Host+r.URL.RequestURI() {
			continue
		}
		rw.Header().Set("Content-Type", "text/html")
		for k, v := range h.Headers {
			rw.Header().Set(k, v)
		}
		if h.Location != "" {
			rw.Header().Set("Location", h.Location)
		}
		rw.WriteHeader(h.Status)
		io.WriteString(rw, h.Body)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	if body == "" {
		body = "<!doctype html><title>reached</title><p>reached"
	}
	io.WriteString(rw, body)
}

// setting is one configuration of the daemon, and the cases that need it.
type setting struct {
	name    string
	env     map[string]string
	refused bool // the daemon must not start with it
	cases   []ssrfcases.Case
}

// settings groups the cases by configuration, in their order.
func (w *world) settings() []*setting {
	var list []*setting
	for _, c := range w.cases {
		allow, only := strings.Join(c.AllowPrivate, ","), strings.Join(c.Allowlist, ",")
		name := fmt.Sprintf("allow_hosts [%s] and allowed_domains [%s]", allow, only)
		i := slices.IndexFunc(list, func(s *setting) bool { return s.name == name })
		if i < 0 {
			i = len(list)
			list = append(list, &setting{name: name, refused: c.Reason == "config_error", env: map[string]string{
				"BROWSERD_POLICY__ALLOW_HOSTS": allow, "BROWSERD_POLICY__ALLOWED_DOMAINS": only,
			}})
		}
		list[i].cases = append(list[i].cases, c)
	}
	return list
}

func (w *world) start(t *testing.T, s *setting) *testdaemon.Daemon {
	env := map[string]string{
		"BROWSERD_POLICY__RESOLVER": w.dns.Addr.String(),
		"BROWSERD_BROWSER__ARGS":    "--ignore-certificate-errors-spki-list=" + w.authority.KeyHash,
		"SSL_CERT_FILE":             w.roots,
	}
	for k, v := range s.env {
		env[k] = v
	}
	return testdaemon.Start(t, testdaemon.Options{Env: env})
}

func (w *world) mustNotStart(t *testing.T, s *setting) {
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "config")
	cmd.Env = cmd.Environ()
	for k, v := range s.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "policy.allowed_domains") {
		t.Errorf("%s: %v\n%s", s.name, err, out)
	}
}

// filled puts d's own ports where a case has their names.
func (w *world) filled(c ssrfcases.Case, d *testdaemon.Daemon) ssrfcases.Case {
	if !strings.Contains(c.URL, "$") {
		return c
	}
	_, port, err := net.SplitHostPort(d.Addr)
	if err != nil {
		w.t.Fatal(err)
	}
	proxy := port // the proxy's, if there is one
	for _, p := range testdaemon.Listening(w.t, d.PID) {
		if s := strconv.Itoa(int(p.Port())); s != port {
			proxy = s
		}
	}
	c.URL = strings.NewReplacer("$DAEMON_PORT", port, "$PROXY_PORT", proxy).Replace(c.URL)
	return c
}
