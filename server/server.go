package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
	"github.com/browserd/browserd/server/live"
)

// Limits on a request before it reaches a handler.
const (
	idleTimeout    = 2 * time.Minute // between two requests of a connection
	maxHeaderBytes = 64 << 10
)

// Limits on the shutdown, in addition to server.shutdown_timeout.
const (
	// pageCloseTimeout is how long pages may take to close. They take milliseconds, unless
	// Chromium does not answer; then they end when it is killed.
	pageCloseTimeout = time.Second
	// shutdownLimit is how long the whole shutdown may take before the rest is cut off.
	shutdownLimit = 5 * time.Second
	// drainTimeout is how long a node of a fleet may take to hand its sessions over first. It gives
	// up earlier when its lease is over.
	drainTimeout = 25 * time.Second
)

// Server serves the daemon's transports. Any goroutine may call its methods.
type Server struct {
	cfg      Config
	runtime  *command.Runtime
	sources  func() []Source
	log      *slog.Logger
	dispatch *dispatcher
	mcp      *mcpTransport
	peers    *peers
	view     view
	admission
	usage
	cert  *certificate // nil: no TLS
	http  *http.Server
	began time.Time

	mu      sync.Mutex
	sockets map[*socket]bool
	closed  bool // no further WebSocket is accepted
	open    sync.WaitGroup

	shut     sync.Once
	shutDone chan struct{}
	shutErr  error
}

// admission decides who may use the daemon.
type admission struct {
	keys   *keyring
	gate   gate
	proofs allowance
}

// New makes a Server through which the tokens' agents use the runtime. sources returns the
// state of the sources, in order of preference; any goroutine calls it, for every hello and
// /readyz, and it must not block. Nothing runs before Serve. Errors: those of Config.Check
// and AuthConfig.Check, a certificate that cannot be read, and a missing token.
func New(cfg Config, tokens []Token, runtime *command.Runtime, sources func() []Source) (*Server, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if err := (AuthConfig{tokens}).Check(); err != nil {
		return nil, err
	}
	var cert *certificate
	if cfg.TLS() {
		var err error
		if cert, err = readCertificate(cfg.TLSCert, cfg.TLSKey, runtime.Log); err != nil {
			return nil, err
		}
	}
	if len(tokens) == 0 {
		return nil, errors.New("auth.tokens: there is no token, so that nobody could come in")
	}
	s := &Server{
		cfg: cfg, runtime: runtime, sources: sources, log: runtime.Log,
		dispatch: newDispatcher(runtime),
		admission: admission{
			keys: newKeyring(tokens),
			gate: newGate(append(slices.Clone(cfg.AllowedHosts), hostOf(cfg.PublicURL)), cfg.AllowedOrigins, cfg.TLS()),
		},
		view:     view{timeline: live.NewTimeline(runtime.Sessions), recordings: live.NewRecordings(runtime.Sessions.Recordings), base: cfg.PublicURL},
		cert:     cert,
		began:    time.Now(),
		sockets:  map[*socket]bool{},
		shutDone: make(chan struct{}),
	}
	s.Collect(s.collectors)
	known, queued, mcpSessions := quotas(cfg)
	s.usage = usage{connections: &connections{limits: cfg.Limits, known: known}, queued: queued, unread: newByToken(cfg.Limits.SendBytesPerToken), requests: newByToken(cfg.Limits.RequestsPerToken)}
	t := newTunnel(runtime.Fleet, runtime.Log, s.serveForwarded)
	s.view.access = live.NewAccess(idPrefix(runtime.Fleet))
	s.mcp = newMCPTransport(s.dispatch, cfg, mcpSessions, t)
	var err error
	if s.peers, err = servePeers(s.dispatch, t); err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.route),
		// After connections.expire, which answers.
		ReadHeaderTimeout: cfg.Limits.AuthTimeout + timeoutWrite,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       withConnection,
		ConnState:         noteState,
		ErrorLog:          slog.NewLogLogger(runtime.Log.Handler(), slog.LevelDebug),
		// Let route handle OPTIONS * like everything else.
		DisableGeneralOptionsHandler: true,
	}
	return s, nil
}

// ControlPath is the prefix of the paths that Control serves.
const ControlPath = "/control/"

// Control serves the paths below ControlPath with h, only on Unix sockets. It requires no
// token, so the socket's listener must refuse all users but the daemon's own and root. Call
// it before Serve.
func (s *Server) Control(h http.Handler) {
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if strings.HasPrefix(r.URL.Path, ControlPath) && at != nil && at.Network() == "unix" {
			// Whoever is let in by the socket needs no token: what takes long is not cut short.
			if _, err := s.admit(r, 0); err != nil {
				writeError(w, s.connections.known.status(err), err)
				return
			}
			h.ServeHTTP(w, r)
			return
		}
		s.route(w, r)
	})
}

// route admits a request and calls its handler. The order matters: a request with a foreign
// Host or Origin learns nothing about tokens, and a request without a right token learns
// nothing about paths. A new endpoint is a new case here.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	// For answers that are made at once. Handlers that take longer set their own deadline.
	control := http.NewResponseController(w)
	control.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
	if r.ContentLength != 0 {
		defer s.expectBody(w)(r.Body)
	}
	if err := s.gate.check(r); err != nil {
		s.refused.log(r.Context(), s.log, time.Now(), slog.LevelWarn, "remote", r.RemoteAddr, "reason", err.Details["reason"])
		writeError(w, err.Code.Row().HTTP, err)
		return
	}
	if r.ContentLength != 0 && websocket.IsWebSocketUpgrade(r) { // its body would be taken for frames
		writeError(w, http.StatusBadRequest, protocol.Errorf(protocol.InvalidRequest, "the WebSocket handshake has a body").
			Then("connect with a WebSocket client"))
		return
	}
	switch path := r.URL.Path; {
	case path == "/healthz":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			s.serveHealth(w, r)
		}
		return
	case path == "/readyz":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			s.serveReady(w, r)
		}
		return
	case path == protocol.ProofPath:
		if allow(w, r, http.MethodGet) {
			s.serveProof(w, r)
		}
		return
	}
	if isView(r) {
		id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, viewPath), "/")
		if !s.peers.tunnel.forward(w, r, id, holder{}, s) {
			s.serveView(w, r)
		}
		return
	}
	who, err := s.keys.authenticate(r)
	if err != nil {
		level := slog.LevelDebug // there may be many of an address that guesses
		if err.Code == protocol.Unauthorized {
			level = slog.LevelWarn
			w.Header().Set("WWW-Authenticate", `Bearer realm="browserd"`) // RFC 6750 section 3
		}
		s.refused.log(r.Context(), s.log, time.Now(), level, "remote", r.RemoteAddr, "reason", err.Code)
		writeError(w, err.Code.Row().HTTP, err)
		return
	}
	from, err := s.admit(r, who.number)
	if err != nil {
		w.Header().Set("Connection", "close")
		s.refused.log(r.Context(), s.log, time.Now(), slog.LevelDebug, "remote", r.RemoteAddr, "agent", who.agent, "reason", err.Details["quota"])
		writeError(w, s.connections.known.status(err), err)
		return
	}
	command, isCommand := strings.CutPrefix(r.URL.Path, "/v1/")
	switch {
	case command == "ws" && isCommand:
		if allow(w, r, http.MethodGet) {
			s.serveWebSocket(w, r, who, from)
		}
	case strings.HasPrefix(r.URL.Path, recording.Path):
		if allow(w, r, http.MethodGet, http.MethodHead) {
			serveRecording(s, w, r, who)
		}
	case isCommand && command != "" && !strings.Contains(command, "/"):
		if allow(w, r, http.MethodPost) {
			s.serveCommand(w, r, who, from, command)
		}
	case r.URL.Path == "/metrics":
		if allow(w, r, http.MethodGet) {
			s.dispatch.metrics.handler().ServeHTTP(w, r)
		}
	case r.URL.Path == "/":
		if allow(w, r, http.MethodGet, http.MethodHead) {
			s.serveLive(w, who)
		}
	case r.URL.Path == "/mcp":
		if !s.peers.tunnel.forward(w, r, r.Header.Get(sessionHeader), who, s) {
			s.serveMCP(w, r, who, from)
		}
	default:
		writeError(w, http.StatusNotFound, protocol.Errorf(protocol.UnknownCommand, "there is nothing at %q", cut(r.URL.Path)).
			Then("connect to GET /v1/ws, POST /v1/{command}, or speak MCP at /mcp"))
	}
}

func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, who holder, from peer) {
	body, done, err := s.readBody(w, r, from)
	defer done()
	if err != nil {
		writeError(w, s.queued.status(err), err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	http.NewResponseController(w).SetWriteDeadline(time.Time{}) // its streams last
	s.mcp.serve(w, r, who, from, len(body))
}

// serveForwarded serves a request that another node forwards. That node has authenticated the client.
func (s *Server) serveForwarded(w http.ResponseWriter, r *http.Request, from forwardedRequest) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
	switch {
	case isView(r):
		s.serveView(w, r)
		return
	case r.URL.Path == overviewPath:
		serveOverview(s, w, r)
		return
	case r.URL.Path == remoteViewPath:
		serveRemoteView(s, w, r)
		return
	case r.URL.Path == viewEndPath:
		serveViewEnd(s, w, r)
		return
	case r.URL.Path == recordingPath:
		serveHasRecording(s, w, r)
		return
	}
	who := s.keys.withID(holder{from.Agent, from.Role, from.Autonomy, from.Number, from.TokenID})
	if r.URL.Path == filePath {
		serveFile(s, w, r, who)
		return
	}
	if name, is := strings.CutPrefix(r.URL.Path, recording.Path); is {
		sendRecording(s, w, r, who.agent, name, "")
		return
	}
	s.serveMCP(w, r, who, peer{from.Number, remoteNet(from.Remote)})
}

// allow answers 405 to a request of another method.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	writeError(w, http.StatusMethodNotAllowed, protocol.Errorf(protocol.InvalidRequest, "%s accepts %s, not %s", cut(r.URL.Path), strings.Join(methods, " or "), cut(r.Method)).
		Then("send the request with %s", methods[0]))
	return false
}

// Serve accepts connections from the listeners until ctx ends or Shutdown is called. It
// returns when everything has ended: nil after an orderly shutdown, else the error of a
// listener or of Shutdown. It closes the listeners. Unix sockets never use TLS.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	stop := context.AfterFunc(ctx, func() {
		drainToStop(s)
		end, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownTimeout+shutdownLimit)
		defer cancel()
		s.Shutdown(end)
	})
	defer stop()
	s.view.setBaseURL(s.cfg, listeners)
	ended := make(chan error, len(listeners)) // each listener sends once
	for _, l := range listeners {
		var in net.Listener = &listener{l, s.connections}
		if s.cert != nil && l.Addr().Network() != "unix" {
			in = tls.NewListener(in, s.cert.config())
		}
		go func() {
			err := s.http.Serve(in)
			if !errors.Is(err, http.ErrServerClosed) {
				err = fmt.Errorf("listening on %s: %w", l.Addr(), err)
			}
			ended <- err
		}()
	}
	err := <-ended
	if !errors.Is(err, http.ErrServerClosed) {
		// A listener failed: shut down in order.
		end, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownTimeout+shutdownLimit)
		defer cancel()
		s.Shutdown(end)
		return err
	}
	<-s.shutDone
	return s.shutErr
}

// Shutdown ends the server in order. It accepts no further connections and commands
// (shutting_down). Running commands may go on for shutdown_timeout and then answer
// shutting_down. It closes the sessions and tells clients (session_closing), and closes
// WebSockets with 1001, or 1012 if other nodes go on. Whatever still runs when ctx ends is cut off and named in the error.
// A second call waits for the first.
func (s *Server) Shutdown(ctx context.Context) error {
	s.shut.Do(func() {
		s.shutErr = s.shutdown(ctx)
		close(s.shutDone)
	})
	<-s.shutDone
	return s.shutErr
}

func (s *Server) shutdown(ctx context.Context) error {
	idle := s.dispatch.drain()
	linger, hurry := context.WithCancel(ctx)
	defer hurry()
	requests := make(chan struct{})
	go func() { // closes the listeners at once, and waits for responses in progress
		defer close(requests)
		s.http.Shutdown(linger)
	}()

	grace := time.NewTimer(s.cfg.ShutdownTimeout)
	defer grace.Stop()
	select {
	case <-idle:
	case <-grace.C:
	case <-ctx.Done():
	}
	s.dispatch.end(command.ErrShuttingDown)
	select {
	case <-idle:
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(ctx, pageCloseTimeout)
	defer cancel()
	if err := s.runtime.Sessions.Shutdown(closing); err != nil {
		s.log.Warn("pages were not closed in time: they end with Chromium", "error", err)
	}

	s.mu.Lock()
	s.closed = true
	for c := range s.sockets {
		c.out.finish()
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() { s.open.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		s.mu.Lock()
		for c := range s.sockets {
			c.drop()
		}
		s.mu.Unlock()
	}
	s.mcp.close()
	s.peers.tunnel.close()
	// The remaining connections have sent no request.
	defer time.AfterFunc(closeWait, hurry).Stop()
	<-requests
	s.http.Close()
	select {
	case <-idle:
		return nil
	default:
		return errors.New("commands still run")
	}
}

// add registers a socket. It returns false once the server is closed.
func (s *Server) add(c *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.sockets[c] = true
	s.open.Add(1)
	return true
}

func (s *Server) remove(c *socket) {
	s.mu.Lock()
	delete(s.sockets, c)
	s.mu.Unlock()
	s.open.Done()
}
