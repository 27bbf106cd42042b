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

// The reasons why a session proxy refuses what its gate allows. Append only.
const (
	ReasonByteBudget      Reason = "byte_budget"      // the session has used all its bytes
	ReasonConnectionLimit Reason = "connection_limit" // the session holds too many connections
)

// Refusal is one connection that the proxy did not make.
type Refusal struct {
	// Reason, Host and Address are the error's details. Address is empty unless an
	// address was the reason.
	Reason, Host, Address string
	// URL is what was requested: scheme, host and path of a plain request, without its
	// query; host and port of a tunnel.
	URL string
	// Err is the whole error, with its next step and the setting that would allow it.
	Err *protocol.Error
}

// SessionProxyStats counts what went through a session proxy.
type SessionProxyStats struct {
	Requests int64 // plain requests and tunnels that were allowed
	Refused  int64 // plain requests and tunnels that were refused
	Bytes    int64 // both directions together
	Open     int64 // connections that are open now
}

// failuresKept is the number of hosts whose last failure a session proxy remembers.
const failuresKept = 128

// SessionProxy is one session's part of the egress proxy, with its own address and secret.
// Any goroutine may call its methods.
type SessionProxy struct {
	egress    *Egress
	owner     atomic.Pointer[owner] // nil until Bind: everything is refused
	user      string
	secret    string
	auth      []byte // the expected value of Proxy-Authorization
	at        netip.AddrPort
	server    string
	listener  net.Listener // nil if it uses the shared listener
	transport *http.Transport
	proxy     *httputil.ReverseProxy
	ctx       context.Context // ends with Close
	stop      context.CancelFunc

	slots chan struct{} // holds one element for each open connection

	challenged atomic.Bool // ChallengeURL has been answered

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
		size = 1 << 20 // more than the file descriptors of a process
	}
	l.slots = make(chan struct{}, size)
	l.auth = []byte("Basic " + base64.StdEncoding.EncodeToString([]byte(l.user+":"+l.secret)))
	l.ctx, l.stop = context.WithCancel(e.ctx)
	l.transport = &http.Transport{
		Proxy:                  nil, // ignore the environment
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

// Bind gives an unbound session proxy to a session. [Egress.SessionProxy] describes gate,
// name and onRefused. Call it once, before the session's browser context is used.
func (p *SessionProxy) Bind(gate Dialer, name string, onRefused func(Refusal)) {
	p.owner.Store(&owner{gate, name, onRefused})
}

// Name returns the session's name, or "" before Bind.
func (p *SessionProxy) Name() string {
	if o := p.owner.Load(); o != nil {
		return o.name
	}
	return ""
}

// ProxyServer returns the session proxy's address as the proxyServer parameter of
// Target.createBrowserContext.
func (p *SessionProxy) ProxyServer() string { return p.server }

// Credentials returns the user name and password that answer the proxy's challenge
// (RFC 7617).
func (p *SessionProxy) Credentials() (user, secret string) { return p.user, p.secret }

// Stats returns the session proxy's counts.
func (p *SessionProxy) Stats() SessionProxyStats {
	return SessionProxyStats{Requests: p.requests.Load(), Refused: p.refused.Load(), Bytes: p.bytes.Load(), Open: p.open.Load()}
}

// Refused returns the number of refusals so far.
func (p *SessionProxy) Refused() int { return int(p.refused.Load()) }

// Failure returns why the last connection to hostPort since then failed: the gate's error,
// policy_denied or navigation_failed, or nil if none failed. It is recorded before
// Chromium gets its answer.
func (p *SessionProxy) Failure(hostPort string, since time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.failures[strings.ToLower(hostPort)]; ok && !f.at.Before(since) {
		return f.err
	}
	return nil
}

// Close closes the session proxy's connections and removes it, so that its secret is no
// longer accepted. A second call does nothing.
func (p *SessionProxy) Close() {
	p.egress.mu.Lock()
	if p.egress.byUser[p.user] == p {
		delete(p.egress.byUser, p.user)
		p.egress.total.addClosed(p.Stats())
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

// authenticates reports whether the request has the session proxy's Proxy-Authorization. It
// compares in constant time.
func (p *SessionProxy) authenticates(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), p.auth) == 1
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

// acquire reserves one of the session proxy's connections. If all are in use, it waits for a
// while, as a browser does without a proxy. release gives it back.
func (p *SessionProxy) acquire(ctx context.Context) error {
	if p.budgetSpent() {
		return p.budgetError()
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

func (p *SessionProxy) release() {
	p.open.Add(-1)
	<-p.slots
}

func (p *SessionProxy) budgetSpent() bool {
	return p.egress.cfg.MaxMB >= 0 && p.bytes.Load() >= int64(p.egress.cfg.MaxMB)<<20
}

func (p *SessionProxy) budgetError() *protocol.Error {
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

// errUnbound is the error of every request to an unbound session proxy.
var errUnbound = protocol.Errorf(protocol.Cancelled, "the proxy is not bound to a session yet")

// counted is a connection whose bytes count against the session's budget.
type counted struct {
	net.Conn
	proxy *SessionProxy
}

var errBudget = errors.New("the session's bytes are used up")

func (c *counted) Read(b []byte) (int, error) {
	if c.proxy.budgetSpent() {
		return 0, errBudget
	}
	n, err := c.Conn.Read(b)
	c.proxy.bytes.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	if c.proxy.budgetSpent() {
		return 0, errBudget
	}
	n, err := c.Conn.Write(b)
	c.proxy.bytes.Add(int64(n))
	return n, err
}

func (c *counted) CloseWrite() error { return closeWrite(c.Conn) }

var errEarly = errors.New("it spoke before it was asked")

// failed records why a connection to hostPort failed, and reports a refusal to onRefused.
// It is called before Chromium gets its answer.
func (p *SessionProxy) failed(hostPort, url string, err error) {
	if errors.Is(err, errBudget) {
		err = p.budgetError()
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		if strings.Contains(err.Error(), "readLoopPeekFailLocked") { // an error of net/http that has no type
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
		clear(p.failures) // only recent failures are asked for
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
