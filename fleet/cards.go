package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Card names what another node is to show: a tab of one of its sessions, small, in a live view here.
type Card struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Tab     string `json:"tab,omitempty"` // empty: the selected one
}

// Picture is what a card shows.
type Picture struct {
	Width  int    `json:"width"` // of the part of the page that is shown, in CSS pixels
	Height int    `json:"height"`
	JPEG   []byte `json:"-"`
}

// How long a picture may take to be drawn before its card is shown no more, and how often whoever waits for one
// asks whether this node has its lease.
const (
	drawnWithin    = 15 * time.Second
	cardLeaseEvery = 500 * time.Millisecond
)

// errNotDrawn ends a card whose viewer does not draw: the node at which it is may be stopped.
var errNotDrawn = errors.New("the picture was not drawn")

// Watching is a card that another node shows here. The next picture is sent when the one before was drawn, so that
// at most one of each card is on its way. One goroutine at a time may use it.
type Watching struct {
	node  *Node
	shown *Pending
}

// Watch has a node show a card, until Close. Its error says why the node is not reached. A node that does not know
// cards shows none, and says nothing.
func Watch(ctx context.Context, n *Node, node string, c Card) (*Watching, error) {
	p, err := sendFrame(ctx, n, node, &frame{Card: &c})
	if err != nil {
		return nil, err
	}
	return &Watching{n, p}, nil
}

// Next waits for the next picture. Errors: ctx's; ErrLost, where the connection ended; fleet_unavailable, where
// this node has no lease; that of the other node; nil with no picture where that node shows the card no more.
func (w *Watching) Next(ctx context.Context) (*Picture, error) {
	check := time.NewTicker(cardLeaseEvery)
	defer check.Stop()
	for {
		var next *Picture
		select {
		case p := <-w.shown.pictures:
			next = &p
		case <-w.shown.done:
			a, err := w.shown.Wait(ctx)
			if a.Error != nil {
				err = a.Error.Protocol()
			}
			return nil, err
		case <-check.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := w.node.CheckLease(); err != nil { // behind the picture
			return nil, err
		}
		if next != nil {
			return next, nil
		}
	}
}

// Drawn says that the last picture was drawn.
func (w *Watching) Drawn() { w.shown.of.send(&frame{ID: w.shown.id, Drawn: true}) }

// Close has the node show the card no more.
func (w *Watching) Close() {
	w.shown.Cancel()
	w.shown.forget()
}

// replace puts a picture in the place of one that nobody has taken. Only the link's reader calls it.
func (p *Pending) replace(next Picture) {
	select {
	case <-p.pictures:
	default:
	}
	p.pictures <- next
}

// show begins to show a card, and answers when it is shown no more.
func (c *calls) show(h Handler, id uint64, card Card) {
	ctx, end := context.WithCancel(c.living)
	drawn := make(chan struct{}, 1) // 1: the link's reader does not wait
	c.mu.Lock()
	c.ends[id], c.drawn[id] = end, drawn
	c.mu.Unlock()
	c.cards.Go(func() {
		defer end()
		err := h.Card(ctx, card, func(p Picture) error {
			if err := c.link.send(&frame{ID: id, Picture: &p}); err != nil {
				return err
			}
			late := time.NewTimer(drawnWithin)
			defer late.Stop()
			select {
			case <-drawn:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-late.C:
				return errNotDrawn
			}
		})
		c.mu.Lock()
		delete(c.ends, id)
		delete(c.drawn, id)
		c.mu.Unlock()
		var a Answer
		if said := (*protocol.Error)(nil); errors.As(err, &said) {
			a.Error = WireError(said)
		}
		c.link.send(&frame{ID: id, Answer: &a})
	})
}
