package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// Subprotocol is the WebSocket subprotocol (Sec-WebSocket-Protocol) of the daemon. It is
// selected if the client offers it, but not required.
const Subprotocol = "browserd.v1"

// outboxSlack is the number of unsent frames, beyond the answers to all requests that may run at
// once, at which the daemon stops reading from the client. At twice as many, with the
// answers, it closes the connection.
const outboxSlack = 1024

// closeWait is how long a client may take to answer a close frame, or to stop sending after
// a message that was too large.
const closeWait = time.Second

// writeBuffers holds the buffers that frames are written from, since most connections wait while a model thinks.
var writeBuffers sync.Pool

// socket is one WebSocket connection.
type socket struct {
	server *Server
	ws     *websocket.Conn
	caller *command.Caller
	from   peer // whose quota its requests count against
	out    *outbox

	work context.Context // the parent context of its commands
	stop context.CancelCauseFunc
	jobs sync.WaitGroup

	closed chan struct{} // closed when the connection is closed
	once   sync.Once

	mu            sync.Mutex
	requests      map[string]context.CancelCauseFunc // by idKey
	queued        int
	unqueued      int
	sessions      map[string]bool // sessions opened or named on this connection, whose events are sent
	all           bool            // send the events of all of the agent's sessions
	events        []string        // types of events to send; nil: all but command
	hasSubscribed bool
}

func (s *Server) newSocket(who holder, from peer, ws *websocket.Conn) *socket {
	c := &socket{
		server:   s,
		ws:       ws,
		from:     from,
		out:      newOutbox(2*(2*s.cfg.MaxPending+outboxSlack), s.cfg.SendBuffer, s.unread, who.number),
		closed:   make(chan struct{}),
		requests: map[string]context.CancelCauseFunc{},
		sessions: map[string]bool{},
	}
	c.work, c.stop = context.WithCancelCause(s.dispatch.life)
	c.caller = who.caller()
	c.caller.Cancel, c.caller.Subscribe, c.caller.Use = c.cancel, c.subscribe, c.use
	return c
}

// serveWebSocket handles GET /v1/ws (RFC 6455). It returns when the connection has been upgraded, so
// that net/http lets go of what it holds for the request; run serves the connection.
func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request, who holder, from peer) {
	upgrader := websocket.Upgrader{
		HandshakeTimeout: s.cfg.WriteTimeout,
		Subprotocols:     []string{Subprotocol},
		WriteBufferPool:  &writeBuffers,
		// gate has checked the Origin.
		CheckOrigin: func(*http.Request) bool { return true },
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			e := protocol.Errorf(protocol.InvalidRequest, "this is the WebSocket endpoint: %v", reason).
				Then("connect with a WebSocket client, or POST /v1/{command}")
			writeError(w, status, e)
		},
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := s.newSocket(who, from, ws)
	if !s.add(c) {
		ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseGoingAway, "the daemon is shutting down"), time.Now().Add(closeWait))
		ws.Close()
		return
	}
	go c.run()
}

// run serves the connection until it has ended and all its goroutines have returned.
func (c *socket) run() {
	defer c.server.remove(c)
	defer func() {
		if p := recover(); p != nil { // a panic ends the connection and not the daemon, as in net/http
			c.drop()
			c.server.log.Error("connection panicked", "agent", c.caller.Agent, "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		}
	}()
	c.serve()
}

// serve reads until the connection ends.
func (c *socket) serve() {
	hello := protocol.Event{Type: protocol.EventHello, Fields: map[string]any{
		"version": c.server.runtime.Version, "protocol": protocol.Version, "agent": c.caller.Agent, "sources": c.server.working(),
	}}
	c.out.put(eventFrame(hello))
	stopEvents := c.server.runtime.Sessions.Listen(c.caller.Agent, c.subscribedTo, c.sendEvent)
	stopConfirmations := c.listenConfirmations()
	c.server.peers.updateSubscriptions(c)
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()

	var err error
	defer func() { // after a panic too
		stopEvents()
		stopConfirmations()
		c.server.peers.connectionEnded(c)
		c.stop(command.ErrCancelled)
		if errors.Is(err, websocket.ErrReadLimit) {
			c.linger()
		}
		c.drop()
		<-written
		c.jobs.Wait()
		c.out.discard()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			err = fmt.Errorf("closed by the client with code %d", closed.Code) // without the client's text
		}
		c.server.log.Debug("connection ended", "agent", c.caller.Agent, "reason", err)
	}()
	err = c.read()
}

// drop closes the connection at once. Any goroutine may call it.
func (c *socket) drop() {
	c.once.Do(func() {
		close(c.closed)
		c.stop(command.ErrCancelled)
		c.ws.NetConn().Close()
	})
}

// linger sends the close frame for a message that was too large, and goes on reading for a
// while. If the socket were closed with unread bytes, TCP would reset the connection, and the
// close frame would be lost.
func (c *socket) linger() {
	// For most lengths gorilla/websocket has already sent it. Then this does nothing.
	c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseMessageTooBig, ""), time.Now().Add(closeWait))
	c.out.finish()
	conn := c.ws.NetConn()
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	conn.SetReadDeadline(time.Now().Add(closeWait))
	io.Copy(io.Discard, io.LimitReader(conn, 16*c.server.cfg.ReadLimit))
}

// read passes every frame to handle, in the order of arrival. It returns why the connection
// ended.
func (c *socket) read() error {
	silence := 2 * c.server.cfg.PingInterval
	c.ws.SetReadLimit(c.server.cfg.ReadLimit)
	c.ws.SetPingHandler(func(payload string) error { c.out.ping(payload); return nil })
	c.ws.SetPongHandler(func(string) error { return c.ws.SetReadDeadline(time.Now().Add(silence)) })
	for {
		for c.out.isHalfFull() {
			select {
			case <-c.out.read:
			case <-c.closed:
				return net.ErrClosed
			}
		}
		c.ws.SetReadDeadline(time.Now().Add(silence))
		kind, message, err := c.ws.NextReader()
		if err != nil {
			return err
		}
		frame, counted, refused, err := c.receive(message)
		if err != nil {
			c.server.queued.give(c.from, counted)
			return err
		}
		if refused != nil {
			c.server.queued.give(c.from, counted)
			c.refuse(firstID(frame), refused)
			continue
		}
		if kind != websocket.TextMessage {
			c.server.queued.give(c.from, counted)
			c.refuse(json.RawMessage("null"), protocol.Errorf(protocol.InvalidRequest, "the message is a binary frame").
				Then("send JSON-RPC in text frames"))
			continue
		}
		c.handle(frame, counted)
	}
}

// receive reads one message as far as the quota of queued bytes allows. It reads and drops the
// rest, and refused says why. counted is the number of bytes counted in the quota.
func (c *socket) receive(r io.Reader) (frame []byte, counted int64, refused *protocol.Error, err error) {
	frame = make([]byte, 0, uncounted)
	for {
		if len(frame) == cap(frame) {
			size := min(2*int64(cap(frame)), c.server.cfg.ReadLimit+1)
			if refused := c.server.queued.take(c.from, size-counted); refused != nil {
				_, err := io.Copy(io.Discard, r)
				return frame, counted, refused, err
			}
			counted = size
			frame = append(make([]byte, 0, size), frame...)
		}
		n, err := r.Read(frame[len(frame):cap(frame)])
		frame = frame[:len(frame)+n]
		if err == io.EOF {
			return frame, counted, nil, nil
		}
		if err != nil {
			return frame, counted, nil, err
		}
	}
}

// handle starts the command of one text frame. The frame's counted bytes are returned to the
// quota when the command has ended.
func (c *socket) handle(frame []byte, counted int64) {
	req, err := decodeRequest(frame)
	if err != nil {
		c.server.queued.give(c.from, counted)
		c.refuse(req.ID, err)
		return
	}
	ctx, done, err := c.admit(req, counted)
	if err != nil {
		c.server.queued.give(c.from, counted)
		c.refuse(req.ID, err)
		return
	}
	t, err := c.server.dispatch.prepare(c.caller, req.Traceparent, req.Method, req.Params)
	if err != nil {
		done()
		c.refuse(req.ID, err)
		return
	}
	t.prefix = resultPrefix(req.ID)
	c.jobs.Add(1)
	go func() {
		defer c.jobs.Done()
		t.run(ctx, func(result json.RawMessage, err *protocol.Error) {
			done() // before the answer is sent: after reading it the client may reuse the id
			if req.ID == nil {
				return // a notification
			}
			frame := append(result, '}')
			if err != nil {
				frame = errorFrame(req.ID, err)
			}
			if !c.out.add(frame) {
				c.closeSlowReader()
			}
		})
		// Write here, which saves waking the writer; and after run, since Shutdown must
		// not wait for a client that does not read.
		if c.out.take() {
			c.flush()
		}
	}()
}

// ownRequests is how many requests of one connection may run or wait whatever the token's
// other connections do.
const ownRequests = 16

// admit registers a request within the connection's limits, so that cancel finds it. Call done
// when it has ended; that also returns its counted bytes.
func (c *socket) admit(req protocol.Request, counted int64) (ctx context.Context, done func(), err *protocol.Error) {
	pending := &c.queued
	if cmd, ok := actions.All.Lookup(req.Method); ok && cmd.Is(command.Unqueued) {
		// Count these separately, so that a client at the other limit can still cancel.
		pending = &c.unqueued
	}
	key, named := idKey(req.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if named && c.requests[key] != nil {
		return nil, nil, protocol.Errorf(protocol.InvalidRequest, "id: %s: a request of this id is still running", cut(string(req.ID))).
			Then("give every request an id of its own")
	}
	if limit := c.server.cfg.MaxPending; *pending >= limit {
		return nil, nil, protocol.Errorf(protocol.RateLimited, "%d requests of this connection run or wait already", *pending).
			With("retry_after_s", 1).With("limit", limit).Then("wait for answers before sending more requests")
	}
	all := c.server.requests
	if c.queued+c.unqueued >= ownRequests && all.of(c.from.token) >= all.limit {
		return nil, nil, protocol.Errorf(protocol.RateLimited, "%d requests with this token run or wait already", all.of(c.from.token)).
			With("quota", "server.limits.requests_per_token").With("retry_after_s", 1).With("limit", all.limit).Then("wait for answers before sending more requests")
	}
	*pending++
	all.add(c.from.token, 1)
	ctx, cancel := context.WithCancelCause(c.work)
	if named {
		c.requests[key] = cancel
	}
	return ctx, func() {
		cancel(nil)
		c.server.queued.give(c.from, counted)
		all.add(c.from.token, -1)
		c.mu.Lock()
		defer c.mu.Unlock()
		*pending--
		if named {
			delete(c.requests, key)
		}
	}, nil
}

// refuse sends an error response, unless the request is a notification.
func (c *socket) refuse(id json.RawMessage, err *protocol.Error) {
	if id != nil {
		c.send(errorFrame(id, err))
	}
}

// send puts a frame into the outbox. If the outbox is full, it closes the connection.
func (c *socket) send(frame []byte) {
	if !c.out.put(frame) {
		c.closeSlowReader()
	}
}

// closeSlowReader closes a connection whose client does not read.
func (c *socket) closeSlowReader() {
	c.server.log.Info("a client does not read: its connection is closed", "agent", c.caller.Agent)
	c.drop()
}

// cancel implements command.Caller.Cancel.
func (c *socket) cancel(id json.RawMessage) bool {
	key, named := idKey(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.requests[key]
	if !named || end == nil {
		return false
	}
	end(command.ErrCancelled)
	return true
}

// use implements command.Caller.Use.
func (c *socket) use(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[session] = true
}

// subscribe implements command.Caller.Subscribe. types, which package actions has checked,
// replaces the earlier choice; if it is empty, no events are sent. all means the events of all
// of the agent's sessions.
func (c *socket) subscribe(types []string, all bool) error {
	c.mu.Lock()
	c.events, c.hasSubscribed, c.all = slices.Clone(types), true, all
	c.mu.Unlock()
	c.server.peers.updateSubscriptions(nil)
	return nil
}

// listenConfirmations sends an operator's connection the pending and future confirmations of all
// agents, and their hand-offs. It does nothing for other connections.
func (c *socket) listenConfirmations() (stop func()) {
	if c.caller.Role != RoleOperator {
		return func() {}
	}
	confirmations := c.server.runtime.Rules.Confirmations
	stopEvents := c.server.runtime.Sessions.Listen("", func(string, string) bool { return false }, func(e protocol.Event) {
		if e.Type != protocol.EventHandoff || !c.wants(e.Type) || e.Agent == c.caller.Agent && c.subscribedTo(e.Session, e.Type) {
			return
		}
		if frame := eventFrame(e); frame != nil {
			c.send(frame)
		}
	})
	if confirmations == nil {
		return stopEvents
	}
	stopConfirmations := confirmations.Listen(func(e protocol.Event) {
		if !c.wants(e.Type) {
			return
		}
		if frame := eventFrame(e); frame != nil {
			c.send(frame)
		}
	})
	return func() { stopEvents(); stopConfirmations() }
}

// wants reports whether the client gets events of that type.
func (c *socket) wants(typ string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wantsLocked(typ)
}

// wantsLocked is wants for a caller that holds c.mu.
func (c *socket) wantsLocked(typ string) bool {
	if !c.hasSubscribed {
		return typ != protocol.EventCommand
	}
	return slices.Contains(c.events, typ)
}

// subscribedTo reports whether the client gets events of that type of that session, or of any with the
// name "".
func (c *socket) subscribedTo(session, typ string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (c.all || session == "" || c.sessions[session]) && c.wantsLocked(typ)
}

// sendEvent handles every event of the agent's sessions (session.Manager.Listen).
func (c *socket) sendEvent(e protocol.Event) {
	wanted := c.subscribedTo(e.Session, e.Type)
	if e.Type == protocol.EventSessionClosing {
		c.mu.Lock()
		delete(c.sessions, e.Session)
		c.mu.Unlock()
	}
	if !wanted {
		return
	}
	if frame := eventFrame(e); frame != nil {
		c.send(c.server.runtime.Secrets.Redact(c.caller.Agent, frame))
	}
}

// write writes the frames of the outbox until the connection ends.
func (c *socket) write() {
	ping := time.NewTicker(c.server.cfg.PingInterval)
	defer ping.Stop()
	for {
		select {
		case <-c.closed:
			return
		case <-ping.C:
			if !c.sent(c.ws.WriteControl(websocket.PingMessage, nil, c.deadline(0))) {
				return
			}
		case <-c.out.more:
			if c.out.take() && !c.flush() {
				return
			}
		}
	}
}

// flush writes all frames of the outbox, which the caller has taken. It returns false if
// nothing may be written any longer.
func (c *socket) flush() bool {
	for {
		frame, pong, last := c.out.next()
		if pong != nil && !c.sent(c.ws.WriteControl(websocket.PongMessage, pong, c.deadline(0))) {
			return false
		}
		switch {
		case frame != nil:
			c.ws.SetWriteDeadline(c.deadline(len(frame)))
			if !c.sent(c.ws.WriteMessage(websocket.TextMessage, frame)) {
				return false
			}
		case last:
			code, why := websocket.CloseGoingAway, "the daemon is shutting down"
			if c.server.peers.draining.Load() {
				code, why = websocket.CloseServiceRestart, "another node goes on: connect again"
			}
			c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), c.deadline(0))
			c.expectClose()
			return false
		default:
			return true
		}
	}
}

// sent handles the error of a write.
func (c *socket) sent(err error) bool {
	if err == nil {
		return true
	}
	// After a close frame nothing may be written, but the closing handshake still has to
	// be read.
	if !errors.Is(err, websocket.ErrCloseSent) {
		c.drop()
	}
	return false
}

// expectClose closes the connection if the client's close frame does not come in time.
func (c *socket) expectClose() {
	select {
	case <-c.closed:
	case <-time.After(closeWait):
		c.drop()
	}
}

// deadline returns the time by which the client must have read n bytes.
func (c *socket) deadline(n int) time.Time {
	return time.Now().Add(writeTime(c.server.cfg.WriteTimeout, n))
}

// writeTime returns how long writing n bytes may take: write_timeout for each MiB begun.
func writeTime(timeout time.Duration, n int) time.Duration {
	return timeout * time.Duration(1+n>>20)
}
