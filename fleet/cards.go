package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Card names a tab of a session at another node, of which a live view here shows a small picture.
type Card struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Tab     string `json:"tab,omitempty"` // empty: the selected one
}

// Picture is one picture of a card.
type Picture struct {
	Width  int    `json:"width"` // of the part of the page that is shown, in CSS pixels
	Height int    `json:"height"`
	JPEG   []byte `json:"-"`
}

// A card's stream ends if a picture is not acknowledged within ackTimeout. CardStream.Next checks this node's lease each
// cardLeaseInterval.
const (
	ackTimeout        = 15 * time.Second
	cardLeaseInterval = 500 * time.Millisecond
)

// errNoAck ends a card's stream if the viewer does not acknowledge a picture: its node may be stopped.
var errNoAck = errors.New("the picture was not drawn")

// CardStream receives the pictures of a card of another node. The other node sends the next picture after Ack, so that at
// most one picture of a card is in flight. One goroutine at a time may use it.
type CardStream struct {
	node    *Node
	pending *Pending
}

// WatchCard asks a node to stream a card, until Close. It fails if the node cannot be reached. A node of an older version
// that knows no cards sends nothing.
func WatchCard(ctx context.Context, n *Node, node string, c Card) (*CardStream, error) {
	p, err := sendFrame(ctx, n, node, &frame{Card: &c})
	if err != nil {
		return nil, err
	}
	return &CardStream{n, p}, nil
}

// Next waits for the next picture. It returns nil and no error if the other node has ended the stream without one. Errors:
// ctx's cause; ErrLost if the connection ended; fleet_unavailable if this node has no lease; that of the other node.
func (w *CardStream) Next(ctx context.Context) (*Picture, error) {
	check := time.NewTicker(cardLeaseInterval)
	defer check.Stop()
	for {
		var next *Picture
		select {
		case p := <-w.pending.pictures:
			next = &p
		case <-w.pending.done:
			a, err := w.pending.Wait(ctx)
			if a.Error != nil {
				err = a.Error.Protocol()
			}
			return nil, err
		case <-check.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := w.node.CheckLease(); err != nil { // after the picture has arrived: it must not be shown without a lease
			return nil, err
		}
		if next != nil {
			return next, nil
		}
	}
}

// Ack tells the other node that the viewer has drawn the last picture.
func (w *CardStream) Ack() { w.pending.conn.send(&frame{ID: w.pending.id, Drawn: true}) }

// Close ends the stream.
func (w *CardStream) Close() {
	w.pending.Cancel()
	w.pending.abandon()
}

// replacePicture stores the newest picture, in place of one that nobody has read. Only the link's reader calls it.
func (p *Pending) replacePicture(next Picture) {
	select {
	case <-p.pictures:
	default:
	}
	p.pictures <- next
}

// serveCard starts to stream a card, and answers when the stream has ended.
func (c *inboundCalls) serveCard(h Handler, id uint64, card Card) {
	ctx, cancel := context.WithCancel(c.ctx)
	ack := make(chan struct{}, 1) // 1: the link's reader does not wait
	c.mu.Lock()
	c.cancels[id], c.acks[id] = cancel, ack
	c.mu.Unlock()
	c.cards.Go(func() {
		defer cancel()
		err := h.StreamCard(ctx, card, func(p Picture) error {
			if err := c.link.send(&frame{ID: id, Picture: &p}); err != nil {
				return err
			}
			late := time.NewTimer(ackTimeout)
			defer late.Stop()
			select {
			case <-ack:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-late.C:
				return errNoAck
			}
		})
		c.mu.Lock()
		delete(c.cancels, id)
		delete(c.acks, id)
		c.mu.Unlock()
		var a Answer
		if said := (*protocol.Error)(nil); errors.As(err, &said) {
			a.Error = WireError(said)
		}
		c.link.send(&frame{ID: id, Answer: &a})
	})
}
