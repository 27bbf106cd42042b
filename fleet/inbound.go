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

// Handler is what a node does for others. The methods are called for each other node in the
// order in which it sent, and must not block for long. from names a connection of a node.
type Handler interface {
	// Call begins a command. ctx ends when the sender cancels it or is gone. answer is called
	// once, from any goroutine.
	Call(ctx context.Context, from string, c Call, answer func(Answer))
	// Gone says that a client of the node has left.
	Gone(from, client string)
	// Interested says what the node's clients want to be told, all of it, by tell, which never
	// blocks. Without interests, nobody wants anything.
	Interested(from string, interests []Interest, tell func(Event))
	// Left says that the node's connection has ended.
	Left(from string)
	// Card shows a card to another node: show sends a picture and returns when it was drawn there. It returns when
	// the card is shown no more, with a *protocol.Error that says why where it could not be, and after an error of
	// show. ctx ends when nobody looks at the card any more. It has a goroutine of its own, and may block.
	Card(ctx context.Context, c Card, show func(Picture) error) error
	// Requests serves HTTP requests that a node passes on, until the connection ends.
	Requests(conn net.Conn)
	// Tell passes an event of another node to the clients here.
	Tell(e Event)
	// Hide has the values removed from whatever the agent is sent from now on.
	Hide(agent string, given []secret.Given)
}

// Serve has h do what other nodes ask, until Close, and hide what agents were given before. Call it once, before
// the node's own clients are served. Its error names fleet.dsn.
func (n *Node) Serve(h Handler) error {
	n.handler = h
	n.serving.Store(true) // before the reading: a lease that begins again from now on reads too
	if err := learnGiven(n.living, n); err != nil {
		return unusable(n, err)
	}
	n.running.Go(n.accept)
	return nil
}

// accept takes the connections of other nodes.
func (n *Node) accept() {
	for {
		conn, err := n.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // no descriptor is left: there is no event for one
			continue
		}
		n.running.Go(func() { n.inbound(conn) })
	}
}

// inbound serves one connection of another node.
func (n *Node) inbound(conn net.Conn) {
	secure := tls.Server(conn, n.identity.config("", append(slices.Clone(wireVersions), wireRequests)...))
	defer conn.Close()
	ctx, cancel := context.WithTimeout(n.living, dialFor)
	err := secure.HandshakeContext(ctx)
	cancel()
	if err != nil {
		n.log.Debug("a connection to the fleet's port was refused", "remote", conn.RemoteAddr(), "error", err)
		return
	}
	if secure.ConnectionState().NegotiatedProtocol == wireRequests {
		defer context.AfterFunc(n.living, func() { conn.Close() })()
		n.handler.Requests(secure)
		return
	}
	// A node that connects again is another one to the handler, until the first has left.
	id := secure.ConnectionState().PeerCertificates[0].Subject.CommonName
	from := id + "/" + newID()
	if n.member(id) == nil { // it has just come, and this node's clients want to know what happens there
		if err := n.look(n.living); err != nil {
			n.log.Debug("a node has come, and the database does not say so", "error", n.clean(err))
		}
	}
	l := newLink(secure, from)
	defer context.AfterFunc(n.living, l.close)()
	var writing sync.WaitGroup
	writing.Go(l.write)
	calls := &calls{link: l, ends: map[uint64]context.CancelFunc{}, drawn: map[uint64]chan struct{}{}}
	calls.living, calls.end = context.WithCancel(n.living)
	l.read(func(f *frame) { handleCallFrame(n, calls, f) })
	calls.end()
	n.handler.Left(from)
	calls.cards.Wait()
	writing.Wait()
}

// calls are the commands of one connection that run here, and the cards that are shown on it.
type calls struct {
	link   *link
	living context.Context
	end    context.CancelFunc
	cards  sync.WaitGroup // the goroutines that show them

	mu    sync.Mutex
	ends  map[uint64]context.CancelFunc
	drawn map[uint64]chan struct{} // by card: told when its picture was drawn
}

// handleCallFrame handles one frame of another node that sends to this one.
func handleCallFrame(n *Node, c *calls, f *frame) {
	switch {
	case f.Call != nil:
		ctx, cancel := context.WithCancel(c.living)
		c.mu.Lock()
		c.ends[f.ID] = cancel
		c.mu.Unlock()
		n.handler.Call(ctx, c.link.peer, *f.Call, func(a Answer) {
			c.mu.Lock()
			delete(c.ends, f.ID)
			c.mu.Unlock()
			cancel()
			if err := c.link.send(&frame{ID: f.ID, Answer: &a}); err != nil && !errors.Is(err, errLinkClosed) {
				n.log.Warn("an answer could not be sent to the node that asked", "error", err)
				c.link.close() // it would wait
			}
		})
	case f.Cancel:
		c.mu.Lock()
		cancel := c.ends[f.ID]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	case f.Card != nil:
		c.show(n.handler, f.ID, *f.Card)
	case f.Drawn:
		c.mu.Lock()
		drawn := c.drawn[f.ID]
		c.mu.Unlock()
		select {
		case drawn <- struct{}{}:
		default:
		}
	case f.Gone != "":
		n.handler.Gone(c.link.peer, f.Gone)
	case f.Hide != nil:
		n.handler.Hide(f.Hide.Agent, f.Hide.Given)
		c.link.send(&frame{ID: f.ID, Answer: &Answer{}})
	case f.Remove != nil:
		if store := n.recordings.store.Load(); store != nil {
			store.Remove(f.Remove.Folder, f.Remove.Gone)
		}
	case f.Interest != nil:
		n.handler.Interested(c.link.peer, *f.Interest, func(e Event) { c.link.send(&frame{Event: &e}) })
	}
}
