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

// tunnel passes a request on to the node of the fleet at which its view, or its MCP conversation,
// lives: their ids begin with that node's. Requests that another node passes on are served here,
// and never passed on again. Where the daemon serves alone, it does nothing.
type tunnel struct {
	node      *fleet.Node // nil: the daemon serves alone
	transport *http.Transport
	log       *log.Logger
	http      *http.Server
	conns     chan net.Conn
	over      chan struct{} // closed when no connection is served any more
	shut      sync.Once
}

// passedOn is what a node says of a request that it passes on. It has checked Host and Origin, and
// the client's token, which stays with it.
type passedOn struct {
	Remote   string          `json:"remote"`
	Secure   bool            `json:"secure"` // the client speaks TLS
	Agent    string          `json:"agent,omitempty"`
	Role     string          `json:"role,omitempty"`
	Autonomy policy.Autonomy `json:"autonomy,omitempty"`
	Number   int             `json:"number,omitempty"`
}

const passedHeader = "Browserd-Passed-On"

// tokenHeader is the number of the token for whose holder a view was opened, in the answer to the
// node that passed its request on: the client's connection there counts for it.
const tokenHeader = "Browserd-Token"

// newTunnel returns the tunnel of a server, which serves with serve what is passed on.
func newTunnel(node *fleet.Node, to *slog.Logger, serve func(http.ResponseWriter, *http.Request, passedOn)) *tunnel {
	t := &tunnel{node: node, conns: make(chan net.Conn), over: make(chan struct{})}
	if node == nil {
		return t
	}
	t.log = slog.NewLogLogger(to.Handler(), slog.LevelDebug)
	t.transport = &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return node.DialRequests(ctx, strings.ToUpper(host))
	}, MaxIdleConnsPerHost: 16, IdleConnTimeout: idleTimeout, DisableCompression: true}
	t.http = &http.Server{ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * idleTimeout, MaxHeaderBytes: 2 * maxHeaderBytes, ErrorLog: t.log,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var said passedOn
			if json.Unmarshal([]byte(r.Header.Get(passedHeader)), &said) != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			r.Header.Del(passedHeader)
			if r.RemoteAddr = said.Remote; said.Secure {
				r.TLS = &tls.ConnectionState{}
			}
			serve(w, r, said)
		})}
	go t.http.Serve(t) // until close
	return t
}

// idsOf returns what the ids of a node's views and MCP conversations begin with.
func idsOf(node *fleet.Node) string {
	if node == nil {
		return ""
	}
	return node.ID() + "."
}

// pass passes a request about what has that id on to its node, unless that is this one or is not
// there any more. who has the request's token; the zero value: it has none.
func (t *tunnel) pass(w http.ResponseWriter, r *http.Request, id string, who holder, s *Server) bool {
	node, _, named := strings.Cut(id, ".")
	if t.node == nil || !named || node == t.node.ID() {
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	err := t.node.Reach(ctx, node)
	cancel()
	if err != nil {
		return false
	}
	said, _ := json.Marshal(passedOn{ // strings and numbers only
		Remote: r.RemoteAddr, Secure: r.TLS != nil, Agent: who.agent, Role: who.role, Autonomy: who.autonomy, Number: who.number,
	})
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", node, p.In.Host
			p.Out.Header.Set(passedHeader, string(said))
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
				t.log.Print("a request could not be passed on: ", err)
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

// requests serves the requests that another node passes on, on one connection, until it ends.
func (t *tunnel) requests(conn net.Conn) {
	c := &tunnelled{Conn: conn, ended: make(chan struct{})}
	select {
	case t.conns <- c:
	case <-t.over:
		return
	}
	select {
	case <-c.ended:
	case <-t.over:
	}
}

// admitted is what an answer tells the node that passed the request on, if one did: whose view it
// is.
func admitted(r *http.Request, token int) http.Header {
	if r.Context().Value(connectionKey{}) != nil {
		return nil
	}
	return http.Header{tokenHeader: {strconv.Itoa(token)}}
}

// tunnelled is a connection of another node. It hides TLS, which is the nodes' and not the client's.
type tunnelled struct {
	net.Conn
	once  sync.Once
	ended chan struct{}
}

func (c *tunnelled) Close() error {
	c.once.Do(func() { close(c.ended) })
	return c.Conn.Close()
}

// Accept is of net.Listener.
func (t *tunnel) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.over:
		return nil, net.ErrClosed
	}
}

// Addr is of net.Listener.
func (t *tunnel) Addr() net.Addr { return &net.TCPAddr{} }

// Close is of net.Listener: nothing is served any more.
func (t *tunnel) Close() error {
	t.shut.Do(func() { close(t.over) })
	return nil
}

// end closes all connections.
func (t *tunnel) end() {
	if t.node == nil {
		return
	}
	t.http.Close()
	t.Close()
	t.transport.CloseIdleConnections()
}
