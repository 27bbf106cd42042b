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

// Dialer is the way out of a lane: a [Gate].
type Dialer interface {
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// The reasons for which a lane refuses what its gate would let pass. Append only.
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

// LaneStats counts what went through a lane.
type LaneStats struct {
	Requests int64 // plain requests and tunnels that were let through
	Refused  int64 // that were not
	Bytes    int64 // both directions together
	Open     int64 // now
}

// failuresKept is how many hosts a lane remembers the last failure of.
const failuresKept = 128

// Lane is one session's way through the proxy. All methods may be called from
// any goroutine.
type Lane struct {
	egress    *Egress
	owner     atomic.Pointer[owner] // nil: nobody's yet, and nothing passes
	user      string
	secret    string
	want      []byte // of Proxy-Authorization
	at        netip.AddrPort
	server    string
	listener  net.Listener // nil: the lane shares one
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

// owner is whose a lane is.
type owner struct {
	gate      Dialer
	name      string
	onRefused func(Refusal)
}

func newLane(e *Egress) *Lane {
	l := &Lane{egress: e, user: "lane-" + rand.Text()[:8], secret: rand.Text(), failures: map[string]failure{}}
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

// Bind makes a spare lane a session's, with what [Egress.Lane] says of gate, name
// and onRefused. It is called once, before anybody may use the session's browser
// context.
func (l *Lane) Bind(gate Dialer, name string, onRefused func(Refusal)) {
	l.owner.Store(&owner{gate, name, onRefused})
}

// Name is whose lane it is; empty: nobody's yet.
func (l *Lane) Name() string {
	if o := l.owner.Load(); o != nil {
		return o.name
	}
	return ""
}

// ProxyServer is the lane's address as Chromium takes it for a browser context
// (Target.createBrowserContext, proxyServer).
func (l *Lane) ProxyServer() string { return l.server }

// Credentials are what the proxy's challenge is answered with (RFC 7617).
func (l *Lane) Credentials() (user, secret string) { return l.user, l.secret }

// Stats returns the lane's counts.
func (l *Lane) Stats() LaneStats {
	return LaneStats{Requests: l.requests.Load(), Refused: l.refused.Load(), Bytes: l.bytes.Load(), Open: l.open.Load()}
}

// Refused counts the refusals so far.
func (l *Lane) Refused() int { return int(l.refused.Load()) }

// Failure returns why the last connection to hostPort since then came to
// nothing: the gate's error, policy_denied or navigation_failed; nil where none
// failed. It is known before the page is told.
func (l *Lane) Failure(hostPort string, since time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, ok := l.failures[strings.ToLower(hostPort)]; ok && !f.at.Before(since) {
		return f.err
	}
	return nil
}

// Close cuts the lane's connections and forgets it: its secret opens nothing
// any more. Closing twice is harmless.
func (l *Lane) Close() {
	l.egress.mu.Lock()
	if l.egress.names[l.user] == l {
		delete(l.egress.names, l.user)
		l.egress.total.gone(l.Stats())
	}
	if l.egress.lanes[l.at] == l {
		delete(l.egress.lanes, l.at)
	}
	l.egress.mu.Unlock()
	l.stop()
	if l.listener != nil {
		l.listener.Close()
	}
	l.transport.CloseIdleConnections()
}

// knows compares the request's Proxy-Authorization with the lane's own in
// constant time.
func (l *Lane) knows(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), l.want) == 1
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

// enter takes one of the lane's connections, waiting a while where all are
// taken, as a browser does without a proxy; leave gives it back.
func (l *Lane) enter(ctx context.Context) error {
	if l.spent() {
		return l.overBudget()
	}
	select {
	case l.slots <- struct{}{}:
		l.open.Add(1)
		return nil
	default:
	}
	wait := time.NewTimer(l.egress.limits.wait)
	defer wait.Stop()
	select {
	case l.slots <- struct{}{}:
		l.open.Add(1)
		return nil
	case <-l.ctx.Done():
		return protocol.Errorf(protocol.Cancelled, "the session's way out is closed")
	case <-ctx.Done():
		return protocol.Errorf(protocol.Cancelled, "waiting for a connection: %w", ctx.Err())
	case <-wait.C:
		return protocol.Errorf(protocol.PolicyDenied, "the session holds %d connections, as many as it may", l.egress.cfg.MaxConnections).
			With("reason", string(ReasonConnectionLimit)).
			Then("close tabs, or ask the operator to raise policy.egress.max_connections")
	}
}

func (l *Lane) leave() {
	l.open.Add(-1)
	<-l.slots
}

func (l *Lane) spent() bool {
	return l.egress.cfg.MaxMB >= 0 && l.bytes.Load() >= int64(l.egress.cfg.MaxMB)<<20
}

func (l *Lane) overBudget() *protocol.Error {
	return protocol.Errorf(protocol.PolicyDenied, "the session has used up its %d MB", l.egress.cfg.MaxMB).
		With("reason", string(ReasonByteBudget)).
		Then("open another session, or ask the operator to raise policy.egress.max_mb")
}

// dial is the lane's one way out: its gate, counted.
func (l *Lane) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.egress.limits.dial)
	defer cancel()
	o := l.owner.Load()
	if o == nil {
		return nil, errNobodys
	}
	c, err := o.gate.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: c, lane: l}, nil
}

// errNobodys is why nothing passes a spare lane.
var errNobodys = protocol.Errorf(protocol.Cancelled, "the lane is no session's yet")

// counted is a connection whose bytes the lane pays for.
type counted struct {
	net.Conn
	lane *Lane
}

var errBudget = errors.New("the session's bytes are used up")

func (c *counted) Read(b []byte) (int, error) {
	if c.lane.spent() {
		return 0, errBudget
	}
	n, err := c.Conn.Read(b)
	c.lane.bytes.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	if c.lane.spent() {
		return 0, errBudget
	}
	n, err := c.Conn.Write(b)
	c.lane.bytes.Add(int64(n))
	return n, err
}

func (c *counted) CloseWrite() error { return closeWrite(c.Conn) }

var errEarly = errors.New("it spoke before it was asked")

// failed remembers why a connection to hostPort came to nothing, and tells of
// a refusal. It is called before the browser is answered.
func (l *Lane) failed(hostPort, url string, err error) {
	if errors.Is(err, errBudget) {
		err = l.overBudget()
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
	l.mu.Lock()
	if len(l.failures) >= failuresKept {
		clear(l.failures) // only the last few are ever asked for
	}
	l.failures[strings.ToLower(hostPort)] = failure{e, time.Now()}
	l.mu.Unlock()
	if e.Code != protocol.PolicyDenied {
		return
	}
	l.refused.Add(1)
	l.egress.refusedFor(e)
	if o := l.owner.Load(); o != nil && o.onRefused != nil {
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
