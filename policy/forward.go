package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/protocol"
)

// challengeHost is a name that the proxy itself answers, once, if the request has the session
// proxy's secret. The daemon requests it so that Chromium learns the secret. Names below
// invalid exist nowhere else (RFC 6761 section 6.4). A later request is refused like any
// other such name, so that a page cannot tell that it is in browserd.
const challengeHost = "egress.browserd.invalid"

// ChallengeURL is the URL to request through a session proxy so that it sends its challenge.
// It answers 204 once the challenge is answered.
const ChallengeURL = "http://" + challengeHost + "/"

// ServeHTTP serves one request of a browser to its proxy.
func (e *Egress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Keep the server from adding them: what the origin left out stays left out.
	w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
	l, authenticated := e.proxyOf(r)
	switch {
	case l == nil && e.shared == nil:
		refuse(w, http.StatusForbidden, "nothing leaves here")
	case !authenticated:
		w.Header().Set("Proxy-Authenticate", `Basic realm="browserd"`)
		refuse(w, http.StatusProxyAuthRequired, "this session's proxy accepts its own browser only")
	case r.Method == http.MethodConnect:
		l.tunnel(w, r)
	default:
		l.forward(w, r)
	}
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.Error(w, "browserd: "+why, status)
}

// forward answers one absolute-form request (RFC 9112 section 3.2.2).
func (p *SessionProxy) forward(w http.ResponseWriter, r *http.Request) {
	switch u := r.URL; {
	case u.Scheme != "http" || u.Host == "" || u.User != nil:
		refuse(w, http.StatusBadRequest, "a proxy accepts http://host/path, or CONNECT")
		return
	case u.Host == challengeHost && p.challenged.CompareAndSwap(false, true):
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Connection", "close") // it would wait for a second request to this host
		w.WriteHeader(http.StatusNoContent)
		return
	case r.Method == http.MethodTrace:
		refuse(w, http.StatusMethodNotAllowed, "TRACE is not forwarded")
		return
	}
	if err := p.acquire(r.Context()); err != nil {
		p.fail(w, r, err)
		return
	}
	defer p.release()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	defer func() {
		if p.budgetSpent() { // the byte budget ran out during this response: cut it
			p.failed(withPort(r.URL), redacted(r.URL), p.budgetError())
		}
	}()
	p.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// newForwarder forwards plain requests: hop-by-hop fields are dropped, the host
// is the URL's (RFC 9112 section 3.2.2), and the target is sent as it came.
func newForwarder(l *SessionProxy) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     l.transport,
		ErrorLog:      log.New(io.Discard, "", 0),
		FlushInterval: -1, // pass each piece of a streamed response on at once
		BufferPool:    buffers{},
		ErrorHandler:  l.fail,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.Host = p.In.URL.Host
			p.Out.URL.RawQuery = p.In.URL.RawQuery
			// Go re-encodes the path; send it as Chromium wrote it.
			path, _, _ := strings.Cut(targetAsSent(p.In.Context(), p.In.RequestURI)[len("http://"):], "?")
			if i := strings.IndexByte(path, '/'); i >= 0 && !strings.HasPrefix(path[i:], "//") {
				p.Out.URL.Opaque = path[i:]
			}
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if v, ok := p.In.Header[name]; ok {
					p.Out.Header[name] = v
				}
			}
			if !strings.EqualFold(p.Out.Header.Get("Upgrade"), "websocket") {
				p.Out.Header.Del("Upgrade")
				p.Out.Header.Del("Connection")
			}
		},
		ModifyResponse: func(*http.Response) error {
			l.requests.Add(1)
			return nil
		},
	}
}

// fail records why a plain request failed and closes the connection. Any response would
// be shown as a page of the site. Chromium reports net::ERR_EMPTY_RESPONSE, and Failure
// returns the reason.
func (p *SessionProxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		p.failed(withPort(r.URL), redacted(r.URL), err)
	}
	panic(http.ErrAbortHandler)
}

// withPort returns the host:port of a plain request.
func withPort(u *url.URL) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "80")
	}
	return u.Host
}

// redacted returns a URL without user info, query and fragment, which may be secret.
func redacted(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// tunnel answers CONNECT (RFC 9110 section 9.3.6).
func (p *SessionProxy) tunnel(w http.ResponseWriter, r *http.Request) {
	address := r.URL.Host
	if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" || r.URL.Path != "" {
		refuse(w, http.StatusBadRequest, "CONNECT accepts host:port")
		return
	}
	if err := p.acquire(r.Context()); err != nil {
		p.failed(address, address, err)
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	carried := false
	defer func() {
		if !carried {
			p.release()
		}
	}()
	far, err := p.dial(r.Context(), "tcp", address)
	if err != nil {
		p.failed(address, address, err)
		status := http.StatusBadGateway
		switch protocol.CodeOf(err) {
		case protocol.PolicyDenied:
			status = http.StatusForbidden
		case protocol.InvalidParams:
			status = http.StatusBadRequest
		}
		refuse(w, status, err.Error())
		return
	}
	near, ahead, err := http.NewResponseController(w).Hijack()
	if err != nil {
		far.Close()
		return
	}
	if n := ahead.Reader.Buffered(); n > 0 { // bytes that the browser sent right after its request
		early, _ := ahead.Reader.Peek(n)
		near = &prefixed{near, slices.Clone(early)}
	}
	carried = true
	go p.carry(near, far, address) // so that all that net/http holds for the request goes
}

// carry answers the request for a tunnel and passes bytes on until it ends.
func (p *SessionProxy) carry(near, far net.Conn, address string) {
	defer func() { _ = recover() }() // a panic ends the tunnel and not the daemon, as in net/http
	defer p.release()
	defer far.Close()
	defer near.Close()
	defer context.AfterFunc(p.ctx, func() {
		near.Close()
		far.Close()
	})()
	p.requests.Add(1)
	near.SetDeadline(time.Time{})
	if _, err := fmt.Fprint(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	browser, server := near, far
	if p.egress.terminator != nil {
		var err error
		if browser, server, err = p.terminateTLS(near, far, address); err != nil {
			p.failed(address, address, err)
			return
		}
		// It may be another connection than far.
		defer server.Close()
		defer context.AfterFunc(p.ctx, func() { server.Close() })()
	}
	if p.relay(browser, server) && p.budgetSpent() {
		p.failed(address, address, p.budgetError())
	}
}

// relay copies both ways until both sides have ended, one has failed or has not taken what
// was read for it within the idle time, or neither has sent a byte for that time. It reports
// whether it was cut.
func (p *SessionProxy) relay(near, far net.Conn) (cut bool) {
	var last atomic.Int64 // when a byte was last seen, in either direction
	last.Store(time.Now().UnixNano())
	idle := p.egress.limits.idle
	var failed atomic.Bool
	one := func(to, from net.Conn) {
		small := make([]byte, waitingBuffer)
		buf, wait := small, idle
		returnLarge := func() {
			if len(buf) > len(small) {
				buffers{}.Put(buf)
				buf, wait = small, idle
			}
		}
		defer returnLarge()
		for {
			from.SetReadDeadline(time.Now().Add(wait))
			n, err := from.Read(buf)
			if n > 0 {
				last.Store(time.Now().UnixNano())
				to.SetWriteDeadline(time.Now().Add(idle))
				if _, werr := to.Write(buf[:n]); werr != nil {
					err = net.ErrClosed // also where its time was over: what was read is lost
				}
			}
			switch {
			case err == nil:
				if n == len(small) && len(buf) == n { // there is more
					buf, wait = buffers{}.Get(), min(idle, burst)
				}
			case errors.Is(err, os.ErrDeadlineExceeded) && (len(buf) > len(small) || time.Since(time.Unix(0, last.Load())) < idle):
				returnLarge() // the burst is over, or the other direction is alive
			case isEOF(err):
				closeWrite(to) // half-closed: the other direction goes on
				return
			default:
				failed.Store(true)
				near.Close()
				far.Close()
				return
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() { one(far, near) })
	one(near, far)
	both.Wait()
	return failed.Load()
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Each direction of a tunnel waits with a small buffer, and has one of buffers while much goes through it: until burst
// has passed without a byte.
const (
	waitingBuffer = 2 << 10
	burst         = 200 * time.Millisecond
)

// buffers are reused between connections.
type buffers struct{}

var pool = sync.Pool{New: func() any { return make([]byte, 64<<10) }}

func (buffers) Get() []byte  { return pool.Get().([]byte) }
func (buffers) Put(b []byte) { pool.Put(b) }
