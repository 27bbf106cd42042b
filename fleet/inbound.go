package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/browserd/browserd/secret"
)

// Handler serves the requests of other nodes. For each connection the methods are called in the order in which the other
// node sent its messages, and must not block for long, unless they say otherwise. from names the connection.
type Handler interface {
	// Call starts a command. ctx ends when the sender cancels the command or disconnects. The handler calls answer
	// once, from any goroutine.
	Call(ctx context.Context, from string, c Call, answer func(Answer))
	// ClientGone says that a client of the node has disconnected.
	ClientGone(from, client string)
	// Subscribe replaces the subscriptions of the node's clients. publish sends an event to the node, and never blocks.
	Subscribe(from string, subscriptions []Subscription, publish func(Event))
	// Disconnected says that the connection has ended.
	Disconnected(from string)
	// StreamCard sends pictures of a card to another node, until ctx ends: nobody watches the card any more. send sends
	// one picture and returns when the viewer has drawn it. StreamCard returns after an error of send, and when the card
	// can no longer be shown; a *protocol.Error says why. It runs in a goroutine of its own, and may block.
	StreamCard(ctx context.Context, c Card, send func(Picture) error) error
	// ServeHTTPConn serves HTTP requests that a node forwards, until the connection ends. It may block.
	ServeHTTPConn(conn net.Conn)
	// HandleEvent passes an event of another node to the clients here.
	HandleEvent(e Event)
	// Hide redacts the values from whatever the agent is sent from now on.
	Hide(agent string, given []secret.Given)
}

// Serve serves other nodes with h, until Close. Before it returns it has h hide all that agents were given so far. Call it
// once, before the daemon serves its own clients. Its error names fleet.dsn.
func (n *Node) Serve(h Handler) error {
	n.handler = h
	n.serving.Store(true) // before loadGiven, so that a heartbeat whose lease begins meanwhile loads too
	if err := loadGiven(n.ctx, n); err != nil {
		return n.unusable(err)
	}
	n.running.Go(n.acceptLoop)
	return nil
}

// acceptLoop accepts the connections of other nodes.
func (n *Node) acceptLoop() {
	for {
		conn, err := n.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of file descriptors: nothing signals when one is free
			continue
		}
		n.handshakes.begin(conn)
		n.running.Go(func() { n.serveConn(conn) })
	}
}

// serveConn serves one connection of another node, until it ends.
func (n *Node) serveConn(conn net.Conn) {
	secure := tls.Server(conn, n.identity.config("", append(slices.Clone(wireVersions), wireHTTP)...))
	defer conn.Close()
	ctx, cancel := context.WithTimeout(n.ctx, dialTimeout)
	err := secure.HandshakeContext(ctx)
	cancel()
	n.handshakes.end(conn)
	if err != nil {
		n.log.Debug("a connection to the fleet's port was refused", "remote", conn.RemoteAddr(), "error", err)
		return
	}
	if secure.ConnectionState().NegotiatedProtocol == wireHTTP {
		defer context.AfterFunc(n.ctx, func() { conn.Close() })()
		n.handler.ServeHTTPConn(secure)
		return
	}
	// The new ID tells this connection from an earlier one of the same node, which may not have ended yet.
	id := secure.ConnectionState().PeerCertificates[0].Subject.CommonName
	from := id + "/" + newID()
	if n.member(id) == nil { // it has just joined: connect to it, so that this node's clients get its events
		if err := n.refresh(n.ctx); err != nil {
			n.log.Debug("reading the nodes after an unknown one has connected", "error", n.clean(err))
		}
	}
	l := newLink(secure, from)
	defer context.AfterFunc(n.ctx, l.close)()
	var writing sync.WaitGroup
	writing.Go(l.write)
	calls := &inboundCalls{link: l, cancels: map[uint64]context.CancelFunc{}, acks: map[uint64]chan struct{}{}}
	calls.ctx, calls.cancel = context.WithCancel(n.ctx)
	l.read(func(f *frame) { handleCallFrame(n, calls, f) })
	calls.cancel()
	n.handler.Disconnected(from)
	calls.cards.Wait()
	writing.Wait()
}

// inboundCalls are the commands of one connection that run here, and the cards that are streamed on it.
type inboundCalls struct {
	link   *link
	ctx    context.Context
	cancel context.CancelFunc
	cards  sync.WaitGroup // the goroutines of serveCard

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc // by the ID of the call
	acks    map[uint64]chan struct{}      // by the ID of the card: receives when its last picture was drawn
}

// handleCallFrame handles one frame on a connection that another node has made to this one.
func handleCallFrame(n *Node, c *inboundCalls, f *frame) {
	switch {
	case f.Call != nil:
		ctx, cancel := context.WithCancel(c.ctx)
		c.mu.Lock()
		c.cancels[f.ID] = cancel
		c.mu.Unlock()
		n.handler.Call(ctx, c.link.peer, *f.Call, func(a Answer) {
			c.mu.Lock()
			delete(c.cancels, f.ID)
			c.mu.Unlock()
			cancel()
			if err := c.link.send(&frame{ID: f.ID, Answer: &a}); err != nil && !errors.Is(err, errLinkClosed) {
				n.log.Warn("an answer could not be sent to the node that forwarded the command", "error", err)
				c.link.close() // or the other node would wait for this answer
			}
		})
	case f.Cancel:
		c.mu.Lock()
		cancel := c.cancels[f.ID]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	case f.Card != nil:
		c.serveCard(n.handler, f.ID, *f.Card)
	case f.Drawn:
		c.mu.Lock()
		ack := c.acks[f.ID]
		c.mu.Unlock()
		select {
		case ack <- struct{}{}:
		default:
		}
	case f.Gone != "":
		n.handler.ClientGone(c.link.peer, f.Gone)
	case f.Hide != nil:
		n.handler.Hide(f.Hide.Agent, f.Hide.Given)
		c.link.send(&frame{ID: f.ID, Answer: &Answer{}})
	case f.Remove != nil:
		if store := n.recordings.store.Load(); store != nil {
			store.Remove(f.Remove.Folder, f.Remove.Gone)
		}
	case f.Subscriptions != nil:
		n.handler.Subscribe(c.link.peer, *f.Subscriptions, func(e Event) { c.link.send(&frame{Event: &e}) })
	}
}
