package policy

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Dialer makes the connections of a session proxy: a [Gate].
type Dialer interface {
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// The reasons for which a session proxy refuses what its gate would let pass. Append only.
const (
	ReasonByteBudget      Reason = "byte_budget"      // the session has used its bytes up
	ReasonConnectionLimit Reason = "connection_limit" // the session holds too many connections
)

// Refusal is one connection that the proxy did not make.
type Refusal struct {
	// Reason, Host and Address are the error's details; Address is empty where
	// it was not an address that counted.
	Reason, Host, Address string
	// URL is what was asked for without its query: scheme, host and path of a
	// plain request; the host and port alone of a tunnel.
	URL string
	// Err is the whole error, with its next step and what would allow it.
	Err *protocol.Error
}

// SessionProxyStats counts what went through a session proxy.
type SessionProxyStats struct {
	Requests int64 // plain requests and tunnels that were let through
	Refused  int64 // that were not
	Bytes    int64 // both directions together
	Open     int64 // now
}

// failuresKept is how many hosts a session proxy remembers the last failure of.
const failuresKept = 128

// SessionProxy is one session's own address and secret at the egress proxy. All methods may be called from
// any goroutine.
type SessionProxy struct {
	egress    *Egress
	owner     atomic.Pointer[owner] // nil: nobody's yet, and nothing passes
	user      string
	secret    string
	want      []byte // of Proxy-Authorization
	at        netip.AddrPort
	server    string
	listener  net.Listener // nil: the session proxy shares one
	transport *http.Transport
	proxy     *httputil.ReverseProxy
	ctx       context.Context // ends with Close
	stop      context.CancelFunc

	slots chan struct{} // one in it for each connection that is open

	primed atomic.Bool // PrimeURL has been answered

	requests, refused, bytes, open atomic.Int64

	mu       sync.Mutex
	failures map[string]failure // by host:port
}

type failure struct {
	err error
	at  time.Time
}

// owner is the session that a proxy is bound to.
type owner struct {
	gate      Dialer
	name      string
	onRefused func(Refusal)
}

func newSessionProxy(e *Egress) *SessionProxy {
	l := &SessionProxy{egress: e, user: "session-" + rand.Text()[:8], secret: rand.Text(), failures: map[string]failure{}}
	size := e.cfg.MaxConnections
	if size < 0 {
		size = 1 << 20 // beyond what a process may open
	}
	l.slots = make(chan struct{}, size)
	l.want = []byte("Basic " + base64.StdEncoding.EncodeToString([]byte(l.user+":"+l.secret)))
	l.ctx, l.stop = context.WithCancel(e.ctx)
	l.transport = &http.Transport{
		Proxy:                  nil, // nothing of the environment
		DialContext:            l.dial,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        30 * time.Second,
	}
	l.proxy = newForwarder(l)
	return l
}

// Bind makes an unbound session proxy a session's, with what [Egress.SessionProxy] says of gate, name
// and onRefused. It is called once, before anybody may use the session's browser
// context.
func (p *SessionProxy) Bind(gate Dialer, name string, onRefused func(Refusal)) {
	p.owner.Store(&owner{gate, name, onRefused})
}

// Name is the session's; empty: it is not bound yet.
func (p *SessionProxy) Name() string {
	if o := p.owner.Load(); o != nil {
		return o.name
	}
	return ""
}

// ProxyServer is the session proxy's address as Chromium takes it for a browser context
// (Target.createBrowserContext, proxyServer).
func (p *SessionProxy) ProxyServer() string { return p.server }

// Credentials are what the proxy's challenge is answered with (RFC 7617).
func (p *SessionProxy) Credentials() (user, secret string) { return p.user, p.secret }

// Stats returns the session proxy's counts.
func (p *SessionProxy) Stats() SessionProxyStats {
	return SessionProxyStats{Requests: p.requests.Load(), Refused: p.refused.Load(), Bytes: p.bytes.Load(), Open: p.open.Load()}
}

// Refused counts the refusals so far.
func (p *SessionProxy) Refused() int { return int(p.refused.Load()) }

// Failure returns why the last connection to hostPort since then came to
// nothing: the gate's error, policy_denied or navigation_failed; nil where none
// failed. It is known before the page is told.
func (p *SessionProxy) Failure(hostPort string, since time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.failures[strings.ToLower(hostPort)]; ok && !f.at.Before(since) {
		return f.err
	}
	return nil
}

// Close cuts the session proxy's connections and forgets it: its secret opens nothing
// any more. Closing twice is harmless.
func (p *SessionProxy) Close() {
	p.egress.mu.Lock()
	if p.egress.byUser[p.user] == p {
		delete(p.egress.byUser, p.user)
		p.egress.total.gone(p.Stats())
	}
	if p.egress.byAddress[p.at] == p {
		delete(p.egress.byAddress, p.at)
	}
	p.egress.mu.Unlock()
	p.stop()
	if p.listener != nil {
		p.listener.Close()
	}
	p.transport.CloseIdleConnections()
}

// knows compares the request's Proxy-Authorization with the session proxy's own in
// constant time.
func (p *SessionProxy) knows(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), p.want) == 1
}

func proxyAuth(r *http.Request) (user, secret string, ok bool) {
	raw, ok := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	if !ok {
		return "", "", false
	}
	both, err := base64.StdEncoding.DecodeString(raw)
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(both), ":")
}

// enter takes one of the session proxy's connections, waiting a while where all are
// taken, as a browser does without a proxy; leave gives it back.
func (p *SessionProxy) enter(ctx context.Context) error {
	if p.spent() {
		return p.overBudget()
	}
	select {
	case p.slots <- struct{}{}:
		p.open.Add(1)
		return nil
	default:
	}
	wait := time.NewTimer(p.egress.limits.wait)
	defer wait.Stop()
	select {
	case p.slots <- struct{}{}:
		p.open.Add(1)
		return nil
	case <-p.ctx.Done():
		return protocol.Errorf(protocol.Cancelled, "the session's egress proxy is closed")
	case <-ctx.Done():
		return protocol.Errorf(protocol.Cancelled, "waiting for a connection: %w", ctx.Err())
	case <-wait.C:
		return protocol.Errorf(protocol.PolicyDenied, "the session holds %d connections, as many as it may", p.egress.cfg.MaxConnections).
			With("reason", string(ReasonConnectionLimit)).
			Then("close tabs, or ask the operator to raise policy.egress.max_connections")
	}
}

func (p *SessionProxy) leave() {
	p.open.Add(-1)
	<-p.slots
}

func (p *SessionProxy) spent() bool {
	return p.egress.cfg.MaxMB >= 0 && p.bytes.Load() >= int64(p.egress.cfg.MaxMB)<<20
}

func (p *SessionProxy) overBudget() *protocol.Error {
	return protocol.Errorf(protocol.PolicyDenied, "the session has used up its %d MB", p.egress.cfg.MaxMB).
		With("reason", string(ReasonByteBudget)).
		Then("open another session, or ask the operator to raise policy.egress.max_mb")
}

// dial connects through the session's gate and counts the bytes.
func (p *SessionProxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.egress.limits.dial)
	defer cancel()
	o := p.owner.Load()
	if o == nil {
		return nil, errUnbound
	}
	c, err := o.gate.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: c, proxy: p}, nil
}

// errUnbound is why nothing passes an unbound session proxy.
var errUnbound = protocol.Errorf(protocol.Cancelled, "the proxy is not bound to a session yet")

// counted is a connection whose bytes the session proxy pays for.
type counted struct {
	net.Conn
	proxy *SessionProxy
}

var errBudget = errors.New("the session's bytes are used up")

func (c *counted) Read(b []byte) (int, error) {
	if c.proxy.spent() {
		return 0, errBudget
	}
	n, err := c.Conn.Read(b)
	c.proxy.bytes.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	if c.proxy.spent() {
		return 0, errBudget
	}
	n, err := c.Conn.Write(b)
	c.proxy.bytes.Add(int64(n))
	return n, err
}

func (c *counted) CloseWrite() error { return closeWrite(c.Conn) }

var errEarly = errors.New("it spoke before it was asked")

// failed remembers why a connection to hostPort came to nothing, and tells of
// a refusal. It is called before the browser is answered.
func (p *SessionProxy) failed(hostPort, url string, err error) {
	if errors.Is(err, errBudget) {
		err = p.overBudget()
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		if strings.Contains(err.Error(), "readLoopPeekFailLocked") { // net/http's, without a type of its own
			err = errEarly
		}
		e = protocol.Errorf(protocol.NavigationFailed, "%s did not answer as it should: %w", hostPort, err).
			With("reason", string(ReasonConnect)).With("host", hostOf(hostPort))
	}
	if e.Code == protocol.Cancelled {
		return
	}
	if e.Details["host"] == nil {
		e = e.With("host", hostOf(hostPort))
	}
	p.mu.Lock()
	if len(p.failures) >= failuresKept {
		clear(p.failures) // only the last few are ever asked for
	}
	p.failures[strings.ToLower(hostPort)] = failure{e, time.Now()}
	p.mu.Unlock()
	if e.Code != protocol.PolicyDenied {
		return
	}
	p.refused.Add(1)
	p.egress.refusedFor(e)
	if o := p.owner.Load(); o != nil && o.onRefused != nil {
		word := func(k string) string { s, _ := e.Details[k].(string); return s }
		o.onRefused(Refusal{Reason: word("reason"), Host: word("host"), Address: word("address"), URL: url, Err: e})
	}
}

func hostOf(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return hostPort
	}
	return host
}
