package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// Send sends a command to a node. Commands of one goroutine arrive in their order. After an
// error nothing was sent.
func (n *Node) Send(ctx context.Context, node string, c Call) (*Pending, error) {
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
	o.waiting[p.id] = p
	o.mu.Unlock()
	if err := o.send(&frame{ID: p.id, Call: &c}); err != nil {
		o.mu.Lock()
		delete(o.waiting, p.id)
		o.mu.Unlock()
		return nil, err
	}
	return p, nil
}

// Reach returns nil if there is a connection to the node, or one can be made.
func (n *Node) Reach(ctx context.Context, node string) error {
	_, err := n.connect(ctx, node)
	return err
}

// connect returns the connection to a node, and makes it where there is none.
func (n *Node) connect(ctx context.Context, node string) (*outbound, error) {
	n.links.mu.Lock()
	o, dialing := n.links.open[node], n.links.dialing[node]
	if dialing == nil {
		dialing = &sync.Mutex{}
		n.links.dialing[node] = dialing
	}
	n.links.mu.Unlock()
	if o != nil {
		return o, nil
	}
	dialing.Lock()
	defer dialing.Unlock()
	n.links.mu.Lock()
	o = n.links.open[node]
	n.links.mu.Unlock()
	if o != nil {
		return o, nil
	}
	m := n.member(node)
	if m == nil { // it has come since the last beat
		if err := n.read(ctx); err != nil {
			return nil, err
		}
		m = n.member(node)
	}
	if m == nil || m.Lost {
		return nil, fmt.Errorf("the node is not of the fleet any more")
	}
	o, err := n.dial(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("connecting to node %d at %s: %w", m.Number, m.Address, err)
	}
	return o, nil
}

func (n *Node) dial(ctx context.Context, m *Member) (*outbound, error) {
	ctx, cancel := context.WithTimeout(ctx, dialFor)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", m.Address)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(conn, n.identity.config(m.ID))
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	o := &outbound{link: newLink(secure, m.ID), waiting: map[uint64]*Pending{}}
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
	mu      sync.Mutex
	open    map[string]*outbound
	dialing map[string]*sync.Mutex
	wanted  []Interest
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
