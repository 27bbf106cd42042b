package policy

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// proxied is a proxy with a session proxy whose gate allows the loopback sites of the test.
type proxied struct {
	t      *testing.T
	policy *Policy
	egress *Egress
	proxy  *SessionProxy

	mu      sync.Mutex
	refused []Refusal
}

func newProxied(t *testing.T, cfg EgressConfig, allow ...string) *proxied {
	t.Helper()
	p := &proxied{t: t}
	var err error
	if p.policy, err = New(Config{AllowHosts: allow}); err != nil {
		t.Fatal(err)
	}
	if p.egress, err = NewEgress(EgressOptions{EgressConfig: cfg}, p.policy.AddSelf); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.egress.Close(); err != nil {
			t.Errorf("closing the proxy: %v", err)
		}
	})
	p.proxy = p.newSessionProxy(GateOptions{})
	return p
}

func (p *proxied) newSessionProxy(o GateOptions) *SessionProxy {
	p.t.Helper()
	gate, err := p.policy.Gate(o)
	if err != nil {
		p.t.Fatal(err)
	}
	l, err := p.egress.SessionProxy(gate, "a test", func(r Refusal) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refused = append(p.refused, r)
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

// client is a browser's HTTP stack on a session proxy, with the session proxy's secret.
func client(t *testing.T, l *SessionProxy) *http.Client {
	u, _ := url.Parse(l.ProxyServer())
	u.User = url.UserPassword(l.Credentials())
	tr := &http.Transport{Proxy: http.ProxyURL(u), DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// raw sends bytes to the session proxy's address, the credentials in place of $AUTH, and
// returns the connection with its reader.
func raw(t *testing.T, l *SessionProxy, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(l.ProxyServer(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(10 * time.Second))
	user, secret := l.Credentials()
	auth := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+secret))
	if _, err := io.WriteString(c, strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\r\n"), "$AUTH", auth)); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

func status(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return resp.StatusCode
}

// ChallengeURL answers once. A page that requests it later gets what it gets for any other
// name below invalid.
func TestChallengeURLAnswersOnce(t *testing.T) {
	p := newProxied(t, EgressConfig{})
	for i, want := range []string{"204", "closed"} {
		got := "closed"
		if resp, err := client(t, p.proxy).Get(ChallengeURL); err == nil {
			got = fmt.Sprint(resp.StatusCode)
			resp.Body.Close()
		}
		if got != want {
			t.Errorf("time %d: %s, want %s", i, got, want)
		}
	}
	if s := p.egress.Stats(); s.Refused[ReasonNameInternal] != 1 || s.Sessions != 1 {
		t.Errorf("counted as %+v", s)
	}
}

// The counts of session proxies stay in the total when they close.
func TestEgressStats(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	t.Cleanup(site.Close)
	p := newProxied(t, EgressConfig{}, strings.TrimPrefix(site.URL, "http://"))
	for _, url := range []string{site.URL, "http://10.0.0.1/"} {
		if resp, err := client(t, p.proxy).Get(url); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	check := func(open int) {
		t.Helper()
		s := p.egress.Stats()
		if s.Sessions != open || s.Requests != 1 || s.Bytes < 100 || s.Refused[ReasonPrivate] != 1 {
			t.Errorf("%+v", s)
		}
	}
	check(1)
	p.proxy.Close()
	p.proxy.Close()
	check(0)
}

// The site gets what the browser sent, without the headers for the proxy. The browser
// gets what the site sent, and no header that Go adds.
func TestProxyForwardsAsItCame(t *testing.T) {
	type got struct {
		Target, Host string
		Header       http.Header
	}
	var seen got
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = got{r.RequestURI, r.Host, r.Header}
		w.Header()["Content-Type"], w.Header()["Date"] = nil, nil
		w.Header().Set("X-Site", "yes")
		io.WriteString(w, "<b>hello")
	}))
	defer site.Close()
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	host := site.Listener.Addr().String()
	_, r := raw(t, p.proxy, "GET http://"+host+"/a|b/%7Ec?q=a;b|c&%zz HTTP/1.1\nHost: elsewhere.example\n$AUTH\nProxy-Connection: keep-alive\nX-Mine: 1\nX-Forwarded-For: 1.2.3.4\nUpgrade: h2c\nConnection: Upgrade, HTTP2-Settings\nHTTP2-Settings: x\nUser-Agent: me\n\n")
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	want := got{"/a|b/%7Ec?q=a;b|c&%zz", host, http.Header{"X-Mine": {"1"}, "X-Forwarded-For": {"1.2.3.4"}, "User-Agent": {"me"}}}
	if d := cmp.Diff(want, seen); d != "" {
		t.Errorf("the site got (-want +got):\n%s", d)
	}
	if d := cmp.Diff(http.Header{"X-Site": {"yes"}, "Content-Length": {"8"}}, resp.Header); d != "" || string(body) != "<b>hello" {
		t.Errorf("the browser got %q (-want +got):\n%s", body, d)
	}
}

// Every request needs the secret, also at a session proxy's own address. The
// browser-wide proxy refuses every request.
func TestProxyAcceptsOnlyItsOwnBrowser(t *testing.T) {
	reached := false
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer site.Close()
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	other := p.newSessionProxy(GateOptions{})
	host := site.Listener.Addr().String()
	user, secret := other.Credentials()
	basic := func(user, secret string) string {
		return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+secret))
	}
	mine, _ := p.proxy.Credentials()
	for name, auth := range map[string]string{
		"none":                    "X: 1",
		"another session proxy's": basic(user, secret),
		"another secret":          basic(mine, secret),
		"an empty secret":         basic(mine, ""),
		"no Basic":                "Proxy-Authorization: Bearer " + secret,
		"not base64":              "Proxy-Authorization: Basic ***",
	} {
		for _, line := range []string{"GET http://" + host + "/ HTTP/1.1\nHost: " + host, "CONNECT " + host + " HTTP/1.1\nHost: " + host} {
			_, r := raw(t, p.proxy, line+"\n"+auth+"\n\n")
			if got := status(t, r); got != http.StatusProxyAuthRequired {
				t.Errorf("%s: %.10s: %d, want 407", name, line, got)
			}
		}
	}
	wide := &SessionProxy{server: p.egress.Refusing(), user: mine, secret: p.proxy.secret}
	for _, line := range []string{"GET http://" + host + "/ HTTP/1.1\nHost: " + host, "CONNECT " + host + " HTTP/1.1\nHost: " + host} {
		_, r := raw(t, wide, line+"\n$AUTH\n\n")
		if got := status(t, r); got != http.StatusForbidden {
			t.Errorf("the browser-wide proxy: %.10s: %d, want 403", line, got)
		}
	}
	if reached {
		t.Error("the site was reached")
	}
	other.Close()
	if _, err := net.DialTimeout("tcp", strings.TrimPrefix(other.ProxyServer(), "http://"), time.Second); err == nil {
		t.Error("a closed session proxy's address still listens")
	}
}

// A request that no browser sends, or that another parser could read differently, is
// refused before anything is dialled.
func TestProxyAbuse(t *testing.T) {
	reached := false
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer site.Close()
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	h := site.Listener.Addr().String()
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"TRACE":                {"TRACE http://" + h + "/ HTTP/1.1\nHost: " + h + "\n$AUTH\n\n", 405},
		"CONNECT, no port":     {"CONNECT 127.0.0.1 HTTP/1.1\nHost: x\n$AUTH\n\n", 400},
		"CONNECT with a path":  {"CONNECT " + h + "/x HTTP/1.1\nHost: x\n$AUTH\n\n", 400},
		"https in plain":       {"GET https://" + h + "/ HTTP/1.1\nHost: " + h + "\n$AUTH\n\n", 400},
		"ftp":                  {"GET ftp://" + h + "/ HTTP/1.1\nHost: " + h + "\n$AUTH\n\n", 400},
		"origin form":          {"GET / HTTP/1.1\nHost: " + h + "\n$AUTH\n\n", 400},
		"user info":            {"GET http://a:b@" + h + "/ HTTP/1.1\nHost: " + h + "\n$AUTH\n\n", 400},
		"two lengths":          {"POST http://" + h + "/ HTTP/1.1\nHost: " + h + "\n$AUTH\nContent-Length: 1\nContent-Length: 2\n\nx", 400},
		"chunked twice":        {"POST http://" + h + "/ HTTP/1.1\nHost: " + h + "\n$AUTH\nTransfer-Encoding: chunked, chunked\n\n0\n\n", 501},
		"a line in the target": {"GET http://" + h + "/\tx HTTP/1.1\nHost: " + h + "\n$AUTH\n\n", 400},
	} {
		_, r := raw(t, p.proxy, c.text)
		if got := status(t, r); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if reached {
		t.Error("the site was reached")
	}
}

// A request with both Content-Length and chunks reaches the site as one request with
// one framing (RFC 9112 section 6.3: chunks win).
func TestProxySmugglesNothing(t *testing.T) {
	var got []string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s %q %v", r.Method, r.URL.Path, b, r.Header["Content-Length"]))
	}))
	defer site.Close()
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	h := site.Listener.Addr().String()
	c, r := raw(t, p.proxy, "POST http://"+h+"/one HTTP/1.1\nHost: "+h+"\n$AUTH\nContent-Length: 4\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\nGET http://"+h+"/two HTTP/1.1\nHost: "+h+"\n\n")
	status(t, r)
	c.Close()
	if d := cmp.Diff([]string{`POST /one "abc" []`}, got); d != "" {
		t.Errorf("the site got (-want +got):\n%s", d)
	}
}

// A refusal is recorded with its details before the browser gets the answer, on both
// kinds of request; the browser's own proxy port is refused too.
func TestProxyRecordsRefusals(t *testing.T) {
	p := newProxied(t, EgressConfig{}, "127.0.0.1:1")
	before := time.Now()
	c := client(t, p.proxy)
	if resp, err := c.Get("http://127.0.0.1:2/path?secret=1"); err == nil {
		t.Errorf("a plain refusal was answered: %s", resp.Status)
	}
	if _, err := c.Get("https://10.1.2.3/path?secret=1"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("a refused tunnel: %v", err)
	}
	self := strings.TrimPrefix(p.newSessionProxy(GateOptions{}).ProxyServer(), "http://")
	if _, err := c.Get("https://" + self + "/"); err == nil {
		t.Error("a session proxy's address was reached through another")
	}
	var got []Refusal
	for _, r := range p.refused {
		if protocol.CodeOf(r.Err) != protocol.PolicyDenied {
			t.Errorf("%+v", r.Err)
		}
		r.Err = nil
		got = append(got, r)
	}
	want := []Refusal{
		{Reason: "ip_loopback", Host: "127.0.0.1", Address: "127.0.0.1", URL: "http://127.0.0.1:2/path"},
		{Reason: "ip_private", Host: "10.1.2.3", Address: "10.1.2.3", URL: "10.1.2.3:443"},
		{Reason: "ip_self", Host: hostOf(self), Address: hostOf(self), URL: self},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := p.proxy.Failure("10.1.2.3:443", before); protocol.CodeOf(err) != protocol.PolicyDenied {
		t.Errorf("the failure of a tunnel: %v", err)
	}
	if err := p.proxy.Failure("127.0.0.1:2", before); protocol.CodeOf(err) != protocol.PolicyDenied {
		t.Errorf("the failure of a request: %v", err)
	}
	if err := p.proxy.Failure("127.0.0.1:2", time.Now()); err != nil {
		t.Errorf("an old failure is told as a new one: %v", err)
	}
	// Allowed, and nothing listens there: no refusal.
	c.Get("http://127.0.0.1:1/")
	if err := p.proxy.Failure("127.0.0.1:1", before); protocol.CodeOf(err) != protocol.NavigationFailed {
		t.Errorf("a failure that is no refusal: %v", err)
	}
	if s := p.proxy.Stats(); s.Refused != 3 || s.Open != 0 {
		t.Errorf("%+v", s)
	}
}

// Two session proxies do not apply each other's lists.
func TestSessionProxiesAreIsolated(t *testing.T) {
	p := newProxied(t, EgressConfig{}, "127.0.0.0/8")
	serve := func(addr string) string {
		l, err := net.Listen("tcp4", addr+":0")
		if err != nil {
			untested.Missing(t, "%s: %v", addr, err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, addr) })}
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
		return l.Addr().String()
	}
	a, b := serve("127.0.0.2"), serve("127.0.0.3")
	first := client(t, p.newSessionProxy(GateOptions{AllowedDomains: []string{"127.0.0.2"}}))
	second := client(t, p.newSessionProxy(GateOptions{AllowedDomains: []string{"127.0.0.3"}}))
	for _, c := range []struct {
		client *http.Client
		site   string
		ok     bool
	}{{first, a, true}, {first, b, false}, {second, a, false}, {second, b, true}} {
		resp, err := c.client.Get("http://" + c.site + "/")
		if (err == nil) != c.ok {
			t.Errorf("%s: %v, want reached=%v", c.site, err, c.ok)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}

// Neither the proxy's connections nor a gate's use a proxy of the environment
// (env-proxy).
func TestNoProxyOfTheEnvironment(t *testing.T) {
	asked := false
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer foreign.Close()
	for _, k := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(k, foreign.URL)
	}
	t.Setenv("NO_PROXY", "")
	var mu sync.Mutex
	var dialled []string
	pol, err := New(Config{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		dialled = append(dialled, address)
		return nil, io.ErrUnexpectedEOF
	}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEgress(EgressOptions{}, pol.AddSelf)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	gate, _ := pol.Gate(GateOptions{})
	l, err := e.SessionProxy(gate, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	client(t, l).Get("http://93.184.216.34/")
	mu.Lock()
	defer mu.Unlock()
	if d := cmp.Diff([]string{"93.184.216.34:80"}, dialled); d != "" || asked {
		t.Errorf("asked=%v (-want +got):\n%s", asked, d)
	}
}

// A Chromium that runs elsewhere uses one address for all session proxies; the user name
// selects one.
func TestAdvertisedProxy(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "in") }))
	defer site.Close()
	pol, _ := New(Config{AllowHosts: []string{"127.0.0.1"}})
	var self []netip.AddrPort
	var at string
	var e *Egress
	for tries := 0; e == nil; tries++ { // until no other program takes the port in between
		free, err := net.Listen("tcp", ":0")
		if err != nil {
			t.Fatal(err)
		}
		at = fmt.Sprintf("127.0.0.1:%d", free.Addr().(*net.TCPAddr).Port)
		free.Close()
		self = nil
		if e, err = NewEgress(EgressOptions{Advertise: at}, func(a netip.AddrPort) { self = append(self, a) }); err != nil && (tries == 9 || !errors.Is(err, syscall.EADDRINUSE)) {
			t.Fatal(err)
		}
	}
	defer e.Close()
	open, _ := pol.Gate(GateOptions{})
	narrow, _ := pol.Gate(GateOptions{AllowedDomains: []string{"example.com"}})
	a, err1 := e.SessionProxy(open, "", nil)
	b, err2 := e.SessionProxy(narrow, "", nil)
	if err1 != nil || err2 != nil || a.ProxyServer() != "http://"+at || b.ProxyServer() != a.ProxyServer() {
		t.Fatal(err1, err2, a.ProxyServer())
	}
	if resp, err := client(t, a).Get(site.URL); err != nil || resp.StatusCode != 200 {
		t.Errorf("the open session proxy: %v", err)
	}
	if _, err := client(t, b).Get(site.URL); err == nil {
		t.Error("the restricted session proxy let a request through")
	}
	_, r := raw(t, a, "GET "+site.URL+"/ HTTP/1.1\nHost: x\n\n")
	if got := status(t, r); got != 407 {
		t.Errorf("without a secret: %d", got)
	}
	if len(self) != 2 {
		t.Errorf("shut to pages: %v", self)
	}
}

// Before Bind a session proxy answers the challenge only, and refusals are neither counted
// nor reported. After Bind it is like any other.
func TestUnboundProxy(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	t.Cleanup(site.Close)
	host := strings.TrimPrefix(site.URL, "http://")
	p := newProxied(t, EgressConfig{}, host)
	l, err := p.egress.Unbound()
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, l)
	resp, err := c.Get(ChallengeURL)
	if err != nil || resp.StatusCode != http.StatusNoContent || !resp.Close {
		t.Fatalf("the challenge: %v %+v", err, resp)
	}
	resp.Body.Close()
	try := func() bool {
		resp, err := c.Get(site.URL)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	}
	tunnel := func() int {
		_, r := raw(t, l, "CONNECT "+host+" HTTP/1.1\nHost: x\n$AUTH\n\n")
		return status(t, r)
	}
	if try() || tunnel() == 200 {
		t.Error("the site was reached by nobody's session proxy")
	}
	if s := p.egress.Stats(); s.Sessions != 1 || s.Requests != 0 || len(s.Refused) != 0 || l.Name() != "" {
		t.Errorf("%+v", s)
	}
	gate, _ := p.policy.Gate(GateOptions{})
	var refused []Refusal
	l.Bind(gate, "a session", func(r Refusal) { refused = append(refused, r) })
	if !try() || tunnel() != 200 {
		t.Error("the site was not reached by the session's session proxy")
	}
	c.Get("http://10.0.0.1/")
	if s := p.egress.Stats(); s.Sessions != 2 || s.Requests != 2 || len(refused) != 1 || l.Name() != "a session" {
		t.Errorf("%+v, %d refused", s, len(refused))
	}
	l.Close()
}
