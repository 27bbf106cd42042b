package policy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// EgressConfig limits what one session may send and receive through the egress proxy.
// The zero value means the defaults in the tags; a negative number means no limit.
type EgressConfig struct {
	MaxMB          int `koanf:"max_mb" default:"512" doc:"megabytes that one session's pages may send and receive together, after which its connections are cut; -1: no limit"`
	MaxConnections int `koanf:"max_connections" default:"64" doc:"connections that one session's pages may hold open at once; -1: no limit"`
}

// checkAdvertise returns an error if s is no valid Config.ProxyAdvertise.
func checkAdvertise(s string) error {
	if s == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(s)
	if n, perr := strconv.ParseUint(port, 10, 16); err != nil || host == "" || perr != nil || n == 0 {
		return fmt.Errorf("%q: accepts HOST:PORT, such as 10.0.0.5:3128", s)
	}
	return nil
}

// limits are the timeouts of the proxy. Tests shorten them.
type limits struct {
	header time.Duration // until a request's header is complete
	keep   time.Duration // between two requests on a connection (keep-alive)
	wait   time.Duration // for one of the session's connections to become free
	dial   time.Duration // until the server accepts
	idle   time.Duration // without a byte in either direction of a tunnel
}

var defaultLimits = limits{header: 10 * time.Second, keep: 2 * time.Minute, wait: 10 * time.Second, dial: 30 * time.Second, idle: 10 * time.Minute}

// Egress is the proxy through which all traffic of all pages goes: HTTP/1.1 with CONNECT
// and absolute-form requests (RFC 9110 sections 7.6 and 9.3.6). Each session has its own
// [SessionProxy], with an address, a secret, a [Gate] that decides what it may reach, and
// limits. The proxy refuses a request to any other address or without the secret.
//
// All methods may be called from any goroutine. Close it when done.
type Egress struct {
	cfg        EgressConfig
	advertise  string
	limits     limits
	terminator *tlsTerminator // nil: the proxy terminates no TLS
	server     *http.Server
	port       uint16
	jailed     bool
	ctx        context.Context // ends with Close
	stop       context.CancelFunc
	work       sync.WaitGroup // accept loops

	mu        sync.Mutex
	closed    bool
	byAddress map[netip.AddrPort]*SessionProxy // by their own address
	total     EgressStats                      // of session proxies that were closed, and all refusals
	byUser    map[string]*SessionProxy         // by their user name
	shared    net.Listener                     // for a Chromium that runs elsewhere; nil: none
}

// EgressOptions configure an Egress.
type EgressOptions struct {
	EgressConfig
	// Advertise is the HOST:PORT at which a Chromium that runs elsewhere reaches the
	// proxy, which then listens on that port; empty: loopback only.
	Advertise string
	// Trust are the certificates that the policy accepts beside the system's
	// ([Policy.Trust]); nil: none, and the proxy never terminates TLS. The browser must
	// accept [Egress.KeyHash].
	Trust *Trust
	// Jailed: the proxy does not listen on the machine's loopback. Each jail passes the
	// listener that it made to Serve.
	Jailed bool
}

// NewEgress returns a proxy that refuses everything until session proxies are made. It
// calls self with every address on which it listens, for [Policy.AddSelf]: a page must
// not reach the proxy through the proxy.
func NewEgress(o EgressOptions, self func(netip.AddrPort)) (*Egress, error) {
	if err := checkAdvertise(o.Advertise); err != nil {
		return nil, fmt.Errorf("policy.proxy_advertise: %w", err)
	}
	e := &Egress{advertise: o.Advertise, cfg: o.EgressConfig, limits: defaultLimits, jailed: o.Jailed, byAddress: map[netip.AddrPort]*SessionProxy{}, byUser: map[string]*SessionProxy{}}
	if e.cfg.MaxMB == 0 {
		e.cfg.MaxMB = 512
	}
	if e.cfg.MaxConnections == 0 {
		e.cfg.MaxConnections = 64
	}
	if o.Trust != nil {
		terminator, err := newTLSTerminator(o.Trust)
		if err != nil {
			return nil, fmt.Errorf("a key for the egress proxy: %w", err)
		}
		e.terminator = terminator
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.server = &http.Server{
		Handler:           e,
		ReadHeaderTimeout: e.limits.header,
		IdleTimeout:       e.limits.keep,
		MaxHeaderBytes:    1 << 20,
		ConnContext:       connContext,
		ConnState:         idle,
		ErrorLog:          log.New(io.Discard, "", 0), // protocol errors of pages are not logged
	}
	if o.Jailed {
		e.port = JailPort
		self(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), e.port))
		return e, nil
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a port for the egress proxy: %w", err)
	}
	at := addrPort(l.Addr())
	e.port = at.Port()
	self(at)
	e.Serve(l)
	if _, port, err := net.SplitHostPort(o.Advertise); err == nil {
		if e.shared, err = net.Listen("tcp", ":"+port); err != nil {
			e.Close()
			return nil, fmt.Errorf("policy.proxy_advertise: listening on port %s: %w", port, err)
		}
		self(addrPort(e.shared.Addr()))
		e.Serve(e.shared)
	}
	return e, nil
}

// JailPort is the proxy's port inside a jail, if nothing else listens.
const JailPort = 3128

// Port returns the one port of all session proxies.
func (e *Egress) Port() int { return int(e.port) }

// Refusing returns the address of the browser-wide proxy, which refuses everything. Requests
// that Chromium makes by itself, outside of any session, end there.
func (e *Egress) Refusing() string { return RefusingAt(int(e.port)) }

// RefusingAt returns Refusing for a proxy on that port.
func RefusingAt(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }

// Serve also accepts connections from l, until l fails or Close is called. It returns at
// once. A jail passes the listener that it made inside its namespace.
func (e *Egress) Serve(l net.Listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		l.Close()
		return
	}
	e.work.Go(func() { e.server.Serve(strayPercentListener{l}) })
}

// Close ends the proxy and cuts all its connections. It waits until none is accepted any more.
func (e *Egress) Close() error {
	e.mu.Lock()
	e.closed = true
	proxies := make([]*SessionProxy, 0, len(e.byUser))
	for _, l := range e.byUser {
		proxies = append(proxies, l)
	}
	e.mu.Unlock()
	e.stop()
	for _, l := range proxies {
		l.Close()
	}
	err := e.server.Close()
	e.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// SessionProxy makes a session's proxy. gate decides what it may reach, and name shows
// the operator whose it is. onRefused, if not nil, is called for each refusal in a
// goroutine of the connection, and must not block. Close the session proxy when the
// session's browser context is gone.
func (e *Egress) SessionProxy(gate Dialer, name string, onRefused func(Refusal)) (*SessionProxy, error) {
	l, err := e.Unbound()
	if err == nil {
		l.Bind(gate, name, onRefused)
	}
	return l, err
}

// Unbound makes a session proxy that belongs to no session yet. Chromium learns its
// secret with ChallengeURL; everything else is refused until [SessionProxy.Bind].
func (e *Egress) Unbound() (*SessionProxy, error) {
	l := newSessionProxy(e)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.New("the egress proxy is closed")
	}
	if err := e.address(l); err != nil {
		return nil, err
	}
	e.byUser[l.user] = l
	if e.shared == nil {
		e.byAddress[l.at] = l
	}
	return l, nil
}

// address gives the session proxy its own address. The caller holds mu.
func (e *Egress) address(l *SessionProxy) error {
	switch {
	case e.shared != nil:
		l.server = "http://" + e.advertise
		return nil
	case e.jailed:
		for {
			l.at = netip.AddrPortFrom(randomLoopback(), e.port)
			if _, taken := e.byAddress[l.at]; !taken {
				break
			}
		}
	default:
		for range 32 {
			at := netip.AddrPortFrom(randomLoopback(), e.port)
			if _, taken := e.byAddress[at]; taken {
				continue
			}
			if ln, err := net.Listen("tcp4", at.String()); err == nil {
				l.at, l.listener = at, ln
				break
			}
		}
		if l.listener == nil {
			// The system has only 127.0.0.1: the port identifies the session proxy.
			ln, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				return fmt.Errorf("an address for the session's proxy: %w", err)
			}
			l.at, l.listener = addrPort(ln.Addr()), ln
		}
		ln := l.listener
		e.work.Go(func() { e.server.Serve(strayPercentListener{ln}) })
	}
	l.server = "http://" + l.at.String()
	return nil
}

// randomLoopback returns an address of 127.0.0.0/8 that nothing else is likely to use.
func randomLoopback() netip.Addr {
	var b [3]byte
	rand.Read(b[:])
	return netip.AddrFrom4([4]byte{127, 16 + b[0]%224, b[1], 1 + b[2]%254})
}

func addrPort(a net.Addr) netip.AddrPort {
	at, _ := netip.ParseAddrPort(a.String())
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// connContext is http.Server.ConnContext. It stores the connection for targetAsSent;
// net/http offers no other place.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// proxyOf returns the session proxy that r was sent to, and whether r has its secret.
func (e *Egress) proxyOf(r *http.Request) (p *SessionProxy, authenticated bool) {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		e.mu.Lock()
		p = e.byAddress[addrPort(at)]
		e.mu.Unlock()
	}
	if p == nil && e.shared != nil {
		// At the shared address the user name identifies the session proxy.
		user, _, ok := proxyAuth(r)
		if !ok {
			return nil, false
		}
		e.mu.Lock()
		p = e.byUser[user]
		e.mu.Unlock()
	}
	return p, p != nil && p.authenticates(r)
}
