package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
)

// outbound is the connection to another node on which this node sends commands.
type outbound struct {
	*link
	mu      sync.Mutex
	lastID  uint64
	pending map[uint64]*Pending
	failed  bool
}

// Pending is a command that was sent to another node, or a card that it is asked to stream.
type Pending struct {
	conn   *outbound
	id     uint64
	done   chan struct{}
	answer Answer
	lost   bool
	// pictures holds the newest picture of a card; nil for a command.
	pictures chan Picture
}

// ErrLost is the error of a command whose connection ended before the answer came: the command may have run.
var ErrLost = errors.New("the connection to the node that ran the command is lost")

// Wait waits for the answer. After ErrLost or ctx's cause the command may have run, or may still run.
func (p *Pending) Wait(ctx context.Context) (Answer, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		select {
		case <-p.done: // both are ready: prefer the answer
		default:
			return Answer{}, context.Cause(ctx)
		}
	}
	if p.lost {
		return Answer{}, ErrLost
	}
	return p.answer, nil
}

// Cancel asks the other node to cancel the command. Its answer still comes.
func (p *Pending) Cancel() { p.conn.send(&frame{ID: p.id, Cancel: true}) }

// abandon drops the answer if it comes later.
func (p *Pending) abandon() {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	delete(p.conn.pending, p.id)
}

// Send sends a command to a node, and connects to it if necessary. Commands of one goroutine arrive in the order of their
// Sends. After an error nothing was sent.
func (n *Node) Send(ctx context.Context, node string, c Call) (*Pending, error) {
	return sendFrame(ctx, n, node, &frame{Call: &c})
}

// sendFrame sends a frame that the other node answers.
func sendFrame(ctx context.Context, n *Node, node string, f *frame) (*Pending, error) {
	o, err := n.connect(ctx, node)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	if o.failed {
		o.mu.Unlock()
		return nil, errLinkClosed
	}
	o.lastID++
	p := &Pending{conn: o, id: o.lastID, done: make(chan struct{})}
	if f.Card != nil {
		p.pictures = make(chan Picture, 1) // 1: the link's reader does not wait
	}
	o.pending[p.id] = p
	o.mu.Unlock()
	f.ID = p.id
	if err := o.send(f); err != nil {
		p.abandon()
		return nil, err
	}
	return p, nil
}

// EnsureConnected returns nil if there is a connection to the node, or after it has made one.
func (n *Node) EnsureConnected(ctx context.Context, node string) error {
	_, err := n.connect(ctx, node)
	return err
}

// attempt is one attempt to connect to a node. All callers that need the connection share it.
type attempt struct {
	done   chan struct{} // closed when the attempt has ended
	err    error         // why it failed; read it after done
	warned bool          // this attempt or one before has logged a warning
}

// connect returns the connection to a node, and makes one if there is none. After a failed attempt it returns that error
// until the next heartbeat starts another one.
func (n *Node) connect(ctx context.Context, node string) (*outbound, error) {
	n.links.mu.Lock()
	o, a := n.links.open[node], n.links.attempts[node]
	n.links.mu.Unlock()
	if o == nil && a == nil {
		m, err := seek(ctx, n, node)
		if err != nil {
			return nil, err
		}
		n.links.mu.Lock()
		if o, a = n.links.open[node], n.links.attempts[node]; o == nil && a == nil {
			a = n.links.startAttempt(n, m.ID) // not node, which may be part of a client's request and keep all of it in memory
		}
		n.links.mu.Unlock()
	}
	if o != nil {
		return o, nil
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	n.links.mu.Lock()
	o = n.links.open[node]
	n.links.mu.Unlock()
	switch {
	case a.err != nil:
		return nil, a.err
	case o == nil:
		return nil, errLinkClosed
	}
	return o, nil
}

// startAttempt starts to connect to a node, whose ID is that of a member. The caller holds mu.
func (l *links) startAttempt(n *Node, node string) *attempt {
	a := &attempt{done: make(chan struct{})}
	if n.ctx.Err() != nil {
		a.err = net.ErrClosed
		close(a.done)
		return a
	}
	if before := l.attempts[node]; before != nil {
		a.warned = before.warned
	}
	l.attempts[node] = a
	n.running.Go(func() {
		a.err = n.attemptConnect(a, node)
		l.mu.Lock()
		defer l.mu.Unlock()
		if a.err == nil {
			delete(l.attempts, node)
		}
		close(a.done)
	})
	return a
}

// retryMissing starts to connect to those of the nodes to which there is no connection, at most one attempt at a time
// each. It removes failed attempts for other nodes. It does not wait.
func (l *links) retryMissing(n *Node, nodes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for node, a := range l.attempts {
		if !slices.Contains(nodes, node) && finished(a) {
			delete(l.attempts, node)
		}
	}
	for _, node := range nodes {
		if a := l.attempts[node]; l.open[node] == nil && (a == nil || finished(a)) {
			l.startAttempt(n, node)
		}
	}
}

// finished reports whether the attempt has ended.
func finished(a *attempt) bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// attemptConnect connects to a node. It logs a warning for the first of several failed attempts.
func (n *Node) attemptConnect(a *attempt, node string) error {
	m := n.member(node)
	if m == nil || m.Lost {
		return errNotAMember
	}
	_, err := n.dial(n.ctx, m)
	if err == nil || n.ctx.Err() != nil {
		return err
	}
	level := slog.LevelWarn
	if a.warned {
		level = slog.LevelDebug
	}
	a.warned = true
	n.log.Log(n.ctx, level, fmt.Sprintf("node %d is not reached at %s: open that port, or correct fleet.advertise there", m.Number, m.Address), "error", err)
	return fmt.Errorf("connecting to node %d at %s: %w", m.Number, m.Address, err)
}

// dial connects to a node, sends it the subscriptions, and starts the connection's two goroutines.
func (n *Node) dial(ctx context.Context, m *Member) (*outbound, error) {
	conn, err := dialTLS(ctx, n, m, wireVersions...)
	if err != nil {
		return nil, err
	}
	o := &outbound{link: newLink(conn, m.ID), pending: map[uint64]*Pending{}}
	n.links.mu.Lock()
	defer n.links.mu.Unlock()
	if n.ctx.Err() != nil {
		conn.Close()
		return nil, net.ErrClosed
	}
	n.links.open[m.ID] = o
	n.links.sendSubscriptions(o) // before any command, so that the client gets its events
	n.running.Go(o.write)
	n.running.Go(func() {
		stop := context.AfterFunc(n.ctx, o.close)
		o.read(func(f *frame) { n.handleReply(o, f) })
		stop()
		n.links.remove(o)
		o.failPending()
		readMembersSoon(n) // the other node may have left the fleet
	})
	return o, nil
}

// dialTLS connects to a node's port. speaks are the protocols that it offers (ALPN).
func dialTLS(ctx context.Context, n *Node, m *Member, speaks ...string) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", m.Address)
	if err != nil {
		return nil, err
	}
	client := tls.Client(conn, n.identity.config(m.ID, speaks...))
	if err := client.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return client, nil
}

// DialHTTP makes a connection on which this node forwards HTTP requests of its clients to another node. The caller
// closes it.
func (n *Node) DialHTTP(ctx context.Context, node string) (net.Conn, error) {
	m := n.member(node)
	if m == nil {
		return nil, errNotAMember
	}
	return dialTLS(ctx, n, m, wireHTTP)
}

// handleReply handles a frame on a connection that this node has made.
func (n *Node) handleReply(o *outbound, f *frame) {
	switch {
	case f.Answer != nil:
		o.mu.Lock()
		p := o.pending[f.ID]
		delete(o.pending, f.ID)
		o.mu.Unlock()
		if p != nil {
			p.answer = *f.Answer
			close(p.done)
		}
	case f.Picture != nil:
		o.mu.Lock()
		p := o.pending[f.ID]
		o.mu.Unlock()
		if p != nil && p.pictures != nil {
			p.replacePicture(*f.Picture)
		}
	case f.Event != nil && n.serving.Load():
		n.handler.HandleEvent(*f.Event)
	}
}

// failPending ends all that wait for an answer, with ErrLost.
func (o *outbound) failPending() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = true
	for _, p := range o.pending {
		p.lost = true
		close(p.done)
	}
	o.pending = nil
}

// links are the connections that this node has made to the others, one to each.
type links struct {
	mu            sync.Mutex
	open          map[string]*outbound
	attempts      map[string]*attempt // by node, which has been a member: the one that runs, or failed after the last heartbeat
	subscriptions []Subscription
}

// remove removes a connection that has ended.
func (l *links) remove(o *outbound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[o.peer] == o {
		delete(l.open, o.peer)
	}
}

// sendSubscriptions sends a node the subscriptions of this node's clients. The caller holds mu.
func (l *links) sendSubscriptions(o *outbound) {
	subscriptions := slices.Clone(l.subscriptions)
	o.send(&frame{Subscriptions: &subscriptions})
}

// SetSubscriptions replaces the subscriptions of this node's clients at all other nodes. The events of commands that are
// sent afterwards are published accordingly.
func (l *links) SetSubscriptions(subscriptions []Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(l.subscriptions, subscriptions) {
		return
	}
	l.subscriptions = subscriptions
	for _, o := range l.open {
		l.sendSubscriptions(o)
	}
}

// ClientGone tells the other nodes that a client has disconnected.
func (l *links) ClientGone(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.open {
		o.send(&frame{Gone: client})
	}
}
