package policy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/fakedns"
)

// corporate is an HTTP proxy on loopback: it records the request line and the
// credentials of each CONNECT, and answers with the given text.
type corporate struct {
	addr string

	mu    sync.Mutex
	asked []string
}

func newCorporate(t *testing.T, answer string, web string) *corporate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &corporate{addr: l.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(c, answer, web) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return p
}

func (p *corporate) serve(c net.Conn, answer, web string) {
	defer c.Close()
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, req.Method+" "+req.RequestURI+" "+req.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if answer == "" { // never answers
		io.Copy(io.Discard, c)
		return
	}
	io.WriteString(c, answer)
	if !strings.Contains(answer, " 200 ") {
		return
	}
	inner, err := net.Dial("tcp", web)
	if err != nil {
		return
	}
	defer inner.Close()
	go func() {
		io.Copy(inner, c)
		inner.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, inner)
}

func (p *corporate) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.asked
	p.asked = nil
	return out
}

// Connections go through the operator's proxy, to the address that was checked.
// Refused ones never reach it.
func TestUpstreamProxy(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.Serve = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })
	o.DNS.Set("www.example.com", fakedns.Answer{A: []string{"93.184.216.34"}}, fakedns.Answer{A: []string{"10.0.0.1"}})
	p := newCorporate(t, "HTTP/1.1 200 Connection established\r\n\r\n", o.web)
	g := o.gate(Config{UpstreamProxy: "http://user:p%40ss@" + p.addr, DialContext: new(net.Dialer).DialContext})

	tr := o.transport(g)
	tr.DisableKeepAlives = true
	req, _ := http.NewRequest("GET", "http://www.example.com/", nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(body) != "www.example.com" {
		t.Errorf("got %q", body)
	}
	if d := cmp.Diff([]string{"CONNECT 93.184.216.34:80 Basic dXNlcjpwQHNz"}, p.requests()); d != "" {
		t.Error(d)
	}
	for address, want := range map[string]string{
		"www.example.com:80": "ip_private", // it has changed its mind
		"127.0.0.1:80":       "ip_loopback",
		p.addr:               "ip_loopback",
		"localhost:80":       "name_local",
		"nowhere.com:80":     "dns_error",
		"8.8.8.8:25":         "port",
	} {
		if got := dialWord(t, g, address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := p.requests(); len(got) > 0 {
		t.Errorf("the proxy was asked for %v", got)
	}
}

func TestUpstreamProxyFails(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	for _, c := range []struct{ answer, want string }{
		{"HTTP/1.1 403 Forbidden\r\n\r\n", "it answers 403 Forbidden"},
		{"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "it answers 407 Proxy Authentication Required"},
		{"SSH-2.0-OpenSSH_9.9\r\n", "malformed HTTP"},
		{"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10) + "\r\n\r\n", "EOF"},
	} {
		g := o.gate(Config{UpstreamProxy: "http://" + newCorporate(t, c.answer, o.web).addr, DialContext: new(net.Dialer).DialContext})
		_, err := g.Dial(t.Context(), "tcp", "8.8.8.8:80")
		if word(t, err) != "upstream_proxy" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v", c.answer, err)
		}
	}
	g := o.gate(Config{UpstreamProxy: "http://" + newCorporate(t, "", o.web).addr, DialContext: new(net.Dialer).DialContext})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := g.Dial(ctx, "tcp", "8.8.8.8:80"); word(t, err) != "upstream_proxy" {
		t.Errorf("a proxy that is silent: %v", err)
	}
}

// Bytes that the proxy sends after its answer belong to the tunnel.
func TestUpstreamProxyReadsAhead(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	go func() {
		http.ReadRequest(bufio.NewReader(there))
		io.WriteString(there, "HTTP/1.1 200 OK\r\n\r\nSMALL TALK")
		io.WriteString(there, " AND MORE")
		there.Close()
	}()
	c, err := askForTunnel(here, nil, "8.8.8.8:80")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); string(got) != "SMALL TALK AND MORE" {
		t.Errorf("%q %v", got, err)
	}
}
