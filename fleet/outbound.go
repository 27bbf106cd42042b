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

// outbound is the connection to another node, on which this one sends commands.
type outbound struct {
	*link
	mu      sync.Mutex
	last    uint64
	waiting map[uint64]*Pending
	ended   bool
}

// Pending is a command that was sent to another node.
type Pending struct {
	of     *outbound
	id     uint64
	done   chan struct{}
	answer Answer
	lost   bool
	// pictures holds the newest picture of a card; nil: this is a command.
	pictures chan Picture
}

// ErrLost is the error of a command whose answer will not come: it may have been done.
var ErrLost = errors.New("the connection to the node that ran the command is lost")

// Wait returns the answer. After ErrLost or ctx's error the command may have been done, or may
// still run.
func (p *Pending) Wait(ctx context.Context) (Answer, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		select {
		case <-p.done: // both, and the answer is worth more
		default:
			return Answer{}, context.Cause(ctx)
		}
	}
	if p.lost {
		return Answer{}, ErrLost
	}
	return p.answer, nil
}

// Cancel ends the command, which then answers.
func (p *Pending) Cancel() { p.of.send(&frame{ID: p.id, Cancel: true}) }

// forget says that nobody waits for the answer any more.
func (p *Pending) forget() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	delete(p.of.waiting, p.id)
}

// Send sends a command to a node. Commands of one goroutine arrive in their order. After an
// error nothing was sent.
func (n *Node) Send(ctx context.Context, node string, c Call) (*Pending, error) {
	return sendFrame(ctx, n, node, &frame{Call: &c})
}

// sendFrame sends a frame that is answered.
func sendFrame(ctx context.Context, n *Node, node string, f *frame) (*Pending, error) {
	o, err := n.connect(ctx, node)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	if o.ended {
		o.mu.Unlock()
		return nil, errLinkClosed
	}
	o.last++
	p := &Pending{of: o, id: o.last, done: make(chan struct{})}
	if f.Card != nil {
		p.pictures = make(chan Picture, 1) // 1: the link's reader does not wait
	}
	o.waiting[p.id] = p
	o.mu.Unlock()
	f.ID = p.id
	if err := o.send(f); err != nil {
		p.forget()
		return nil, err
	}
	return p, nil
}

// Reach returns nil if there is a connection to the node, or one can be made.
func (n *Node) Reach(ctx context.Context, node string) error {
	_, err := n.connect(ctx, node)
	return err
}

// attempt is one try to reach a node, for which all wait who want to.
type attempt struct {
	done   chan struct{} // closed when it has ended
	err    error         // why the node was not reached
	warned bool          // the log says that the node is not reached
}

// connect returns the connection to a node, and makes it where there is none. After a try that
// failed there is no other until the next beat.
func (n *Node) connect(ctx context.Context, node string) (*outbound, error) {
	n.links.mu.Lock()
	o, a := n.links.open[node], n.links.tried[node]
	if o == nil && a == nil {
		a = n.links.try(n, node)
	}
	n.links.mu.Unlock()
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

// try begins to connect to a node. The caller holds mu.
func (l *links) try(n *Node, node string) *attempt {
	a := &attempt{done: make(chan struct{})}
	if n.living.Err() != nil {
		a.err = net.ErrClosed
		close(a.done)
		return a
	}
	if before := l.tried[node]; before != nil {
		a.warned = before.warned
	}
	l.tried[node] = a
	n.running.Go(func() {
		a.err = n.reach(a, node)
		l.mu.Lock()
		defer l.mu.Unlock()
		if a.err == nil {
			delete(l.tried, node)
		}
		close(a.done)
	})
	return a
}

// tryAgain begins to connect to the nodes that are not reached, each once at a time, and forgets
// those that are not there any more. It does not wait.
func (l *links) tryAgain(n *Node, nodes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for node, a := range l.tried {
		if !slices.Contains(nodes, node) && ended(a) {
			delete(l.tried, node)
		}
	}
	for _, node := range nodes {
		if a := l.tried[node]; l.open[node] == nil && (a == nil || ended(a)) {
			l.try(n, node)
		}
	}
}

func ended(a *attempt) bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// reach makes the connection to a node.
func (n *Node) reach(a *attempt, node string) error {
	m := n.member(node)
	if m == nil { // it has come since the last beat
		if err := n.read(n.living); err != nil {
			return err
		}
		m = n.member(node)
	}
	if m == nil || m.Lost {
		return fmt.Errorf("the node is not of the fleet any more")
	}
	_, err := n.dial(n.living, m)
	if err == nil || n.living.Err() != nil {
		return err
	}
	level := slog.LevelWarn
	if a.warned {
		level = slog.LevelDebug
	}
	a.warned = true
	n.log.Log(n.living, level, fmt.Sprintf("node %d is not reached at %s: open that port, or correct fleet.advertise there", m.Number, m.Address), "error", err)
	return fmt.Errorf("connecting to node %d at %s: %w", m.Number, m.Address, err)
}

func (n *Node) dial(ctx context.Context, m *Member) (*outbound, error) {
	conn, err := secure(ctx, n, m, wireVersions...)
	if err != nil {
		return nil, err
	}
	o := &outbound{link: newLink(conn, m.ID), waiting: map[uint64]*Pending{}}
	n.links.mu.Lock()
	defer n.links.mu.Unlock()
	if n.living.Err() != nil {
		conn.Close()
		return nil, net.ErrClosed
	}
	n.links.open[m.ID] = o
	n.links.interest(o) // before any command, whose events its client wants
	n.running.Go(o.write)
	n.running.Go(func() {
		stop := context.AfterFunc(n.living, o.close)
		o.read(func(f *frame) { n.hear(o, f) })
		stop()
		n.links.forget(o)
		o.fail()
		if n.living.Err() == nil { // it may have left the fleet
			n.read(n.living)
		}
	})
	return o, nil
}

// secure connects to a node's port.
func secure(ctx context.Context, n *Node, m *Member, speaks ...string) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialFor)
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

// DialRequests makes a connection on which this node passes HTTP requests of its clients on to
// another one. The caller closes it.
func (n *Node) DialRequests(ctx context.Context, node string) (net.Conn, error) {
	m := n.member(node)
	if m == nil {
		return nil, fmt.Errorf("the node is not of the fleet any more")
	}
	return secure(ctx, n, m, wireRequests)
}

// hear handles a frame of a node to which this one sends.
func (n *Node) hear(o *outbound, f *frame) {
	switch {
	case f.Answer != nil:
		o.mu.Lock()
		p := o.waiting[f.ID]
		delete(o.waiting, f.ID)
		o.mu.Unlock()
		if p != nil {
			p.answer = *f.Answer
			close(p.done)
		}
	case f.Picture != nil:
		o.mu.Lock()
		p := o.waiting[f.ID]
		o.mu.Unlock()
		if p != nil && p.pictures != nil {
			p.replace(*f.Picture)
		}
	case f.Event != nil && n.serving.Load():
		n.handler.Tell(*f.Event)
	}
}

// fail ends what waits for an answer.
func (o *outbound) fail() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	for _, p := range o.waiting {
		p.lost = true
		close(p.done)
	}
	o.waiting = nil
}

// links are the connections to other nodes, one each.
type links struct {
	mu     sync.Mutex
	open   map[string]*outbound
	tried  map[string]*attempt // that runs, or has failed since the last beat
	wanted []Interest
}

func (l *links) forget(o *outbound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[o.peer] == o {
		delete(l.open, o.peer)
	}
}

// interest tells a node what this one's clients want. The caller holds mu.
func (l *links) interest(o *outbound) {
	wanted := slices.Clone(l.wanted)
	o.send(&frame{Interest: &wanted})
}

// Want says what this node's clients want to be told, all of it. Commands that are sent after
// it have their events told.
func (l *links) Want(interests []Interest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(l.wanted, interests) {
		return
	}
	l.wanted = interests
	for _, o := range l.open {
		l.interest(o)
	}
}

// Forget tells the other nodes that a client has left.
func (l *links) Forget(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.open {
		o.send(&frame{Gone: client})
	}
}
