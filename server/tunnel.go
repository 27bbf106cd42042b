package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// tunnel forwards an HTTP request to the node of the fleet that has its view or its MCP conversation:
// their ids begin with that node's ID. It also serves the requests that other nodes forward to this
// one; those are never forwarded again. If the daemon serves alone, it does nothing.
type tunnel struct {
	node      *fleet.Node // nil: the daemon serves alone
	transport *http.Transport
	log       *log.Logger
	http      *http.Server
	conns     chan net.Conn
	done      chan struct{} // closed when no connection is served any more
	closeOnce sync.Once
}

// forwardedRequest describes the client of a forwarded request, in forwardedHeader. The forwarding node
// has checked Host, Origin and the client's token. The token itself is not sent.
type forwardedRequest struct {
	Remote   string          `json:"remote"`
	Secure   bool            `json:"secure"` // the client speaks TLS
	Agent    string          `json:"agent,omitempty"`
	Role     string          `json:"role,omitempty"`
	Autonomy policy.Autonomy `json:"autonomy,omitempty"`
	Number   int             `json:"number,omitempty"`
	TokenID  string          `json:"token_id,omitempty"`
}

const forwardedHeader = "Browserd-Passed-On"

// tokenHeader is a header of an answer to the forwarding node: the number of the token for whose holder a
// view was opened. The client's connection at the forwarding node counts for that token.
const tokenHeader = "Browserd-Token"

// newTunnel returns the tunnel of a server. It calls serve for requests that other nodes forward.
func newTunnel(node *fleet.Node, to *slog.Logger, serve func(http.ResponseWriter, *http.Request, forwardedRequest)) *tunnel {
	t := &tunnel{node: node, conns: make(chan net.Conn), done: make(chan struct{})}
	if node == nil {
		return t
	}
	t.log = slog.NewLogLogger(to.Handler(), slog.LevelDebug)
	t.transport = &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return node.DialHTTP(ctx, strings.ToUpper(host))
	}, MaxIdleConnsPerHost: 16, IdleConnTimeout: idleTimeout, DisableCompression: true}
	t.http = &http.Server{ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * idleTimeout, MaxHeaderBytes: 2 * maxHeaderBytes, ErrorLog: t.log,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var from forwardedRequest
			if json.Unmarshal([]byte(r.Header.Get(forwardedHeader)), &from) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			r.Header.Del(forwardedHeader)
			if r.RemoteAddr = from.Remote; from.Secure {
				r.TLS = &tls.ConnectionState{}
			}
			serve(w, r, from)
		})}
	go t.http.Serve(t) // until close
	return t
}

// idPrefix returns what the ids of a node's views and MCP conversations begin with.
func idPrefix(node *fleet.Node) string {
	if node == nil {
		return ""
	}
	return node.ID() + "."
}

// forward forwards a request for the view or conversation of that id to its node, and returns true. It
// returns false, and does nothing, if the node is this one or cannot be reached. The id may come from
// anybody: nothing is asked of the database or of another node unless it names one that this node
// knows. who has the request's token; the zero value: it has none.
func (t *tunnel) forward(w http.ResponseWriter, r *http.Request, id string, who holder, s *Server) bool {
	node, _, named := strings.Cut(id, ".")
	if t.node == nil || !named || !t.isOtherNode(node) {
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	err := t.node.EnsureConnected(ctx, node)
	cancel()
	if err != nil {
		return false
	}
	header, _ := json.Marshal(forwardedRequest{ // strings and numbers only
		Remote: r.RemoteAddr, Secure: r.TLS != nil, Agent: who.agent, Role: who.role, Autonomy: who.autonomy, Number: who.number, TokenID: who.id,
	})
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", node, p.In.Host
			p.Out.Header.Set(forwardedHeader, string(header))
			p.Out.Header.Del("Authorization")
		},
		ModifyResponse: func(answer *http.Response) error {
			token, err := strconv.Atoi(answer.Header.Get(tokenHeader))
			answer.Header.Del(tokenHeader)
			if err != nil {
				return nil
			}
			if _, err := s.admit(r, token); err != nil {
				return err
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			var e *protocol.Error
			if !errors.As(err, &e) {
				t.log.Print("a request could not be forwarded: ", err)
				e = protocol.Errorf(protocol.FleetUnavailable, "the node at which this lives is not reached")
			}
			writeError(w, e.Code.Row().HTTP, e)
		},
		Transport: t.transport, FlushInterval: -1, ErrorLog: t.log,
	}
	ctx, cancel = context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.dispatch.life, cancel)()
	http.NewResponseController(w).SetWriteDeadline(time.Time{}) // its streams last
	proxy.ServeHTTP(w, r.WithContext(ctx))
	return true
}

// serveConn serves the requests that another node forwards on one connection, until the connection ends.
func (t *tunnel) serveConn(conn net.Conn) {
	c := &tunnelConn{Conn: conn, closed: make(chan struct{})}
	select {
	case t.conns <- c:
	case <-t.done:
		return
	}
	select {
	case <-c.closed:
	case <-t.done:
	}
}

// tokenHeaderFor returns the headers that tell the forwarding node for which token a view was opened; nil if
// the request was not forwarded.
func tokenHeaderFor(r *http.Request, token int) http.Header {
	if r.Context().Value(connectionKey{}) != nil {
		return nil
	}
	return http.Header{tokenHeader: {strconv.Itoa(token)}}
}

// tunnelConn is a connection of another node. It hides the nodes' own TLS from http.Server, so that a
// request's TLS field says what the client uses.
type tunnelConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func (c *tunnelConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Accept is of net.Listener.
func (t *tunnel) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.done:
		return nil, net.ErrClosed
	}
}

// Addr is of net.Listener.
func (t *tunnel) Addr() net.Addr { return &net.TCPAddr{} }

// Close is of net.Listener: nothing is served any more.
func (t *tunnel) Close() error {
	t.closeOnce.Do(func() { close(t.done) })
	return nil
}

// end closes all connections.
func (t *tunnel) close() {
	if t.node == nil {
		return
	}
	t.http.Close()
	t.Close()
	t.transport.CloseIdleConnections()
}
