package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// cardHandler is a Handler that streams the pictures a test gives it.
type cardHandler struct {
	nopHandler
	show  chan Picture // to be shown; closed: the card has ended
	shown chan error   // what show returned
	ended chan error   // with ctx's cause
}

func (h *cardHandler) StreamCard(ctx context.Context, c Card, show func(Picture) error) error {
	defer func() { h.ended <- context.Cause(ctx) }()
	if c.Session != "work" {
		return protocol.Errorf(protocol.SessionNotFound, "there is no %s of %s in %s", c.Tab, c.Agent, c.Session)
	}
	for {
		select {
		case p, open := <-h.show:
			if !open {
				return nil
			}
			err := show(p)
			h.shown <- err
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A card's pictures come one by one, each when the one before was drawn, until its viewer, its host or the connection
// ends it; and none is handed on without a lease.
func TestCards(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	net := newFaultyProxy(t, pg.DSN)
	a, b := joinTest(t, net.DSN, "a"), joinTest(t, pg.DSN, "b")
	if err := a.Serve(nopHandler{}); err != nil {
		t.Fatal(err)
	}
	h := &cardHandler{show: make(chan Picture), shown: make(chan error, 9), ended: make(chan error, 9)}
	if err := b.Serve(h); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	watch := func(session string) *CardStream {
		t.Helper()
		w, err := WatchCard(ctx, a, b.ID(), Card{Agent: "ann", Session: session, Tab: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	next := func(w *CardStream, want string) {
		t.Helper()
		p, err := w.Next(ctx)
		if err != nil || p == nil || string(p.JPEG) != want || p.Width != 1280 || p.Height != len(want) {
			t.Fatalf("%+v, %v; want %q", p, err, want)
		}
	}
	send := func(text string) { h.show <- Picture{1280, len(text), []byte(text)} }

	w := watch("work")
	send("first")
	next(w, "first")
	select {
	case err := <-h.shown:
		t.Fatalf("before it was drawn: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	w.Ack()
	if err := <-h.shown; err != nil {
		t.Fatal(err)
	}
	send("second\x00\xff")
	next(w, "second\x00\xff")
	w.Close()
	if err := <-h.shown; err == nil {
		t.Error("a picture that nobody draws was drawn")
	}
	if err := <-h.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("after Close: %v", err)
	}

	w = watch("none")
	if p, err := w.Next(ctx); p != nil || protocol.CodeOf(err) != protocol.SessionNotFound || err.Error() != "session_not_found: there is no t1 of ann in none" {
		t.Errorf("a session that is not there: %+v, %v", p, err)
	}
	<-h.ended
	w = watch("work")
	close(h.show)
	if p, err := w.Next(ctx); p != nil || err != nil {
		t.Errorf("a card that has ended: %+v, %v", p, err)
	}
	<-h.ended

	h.show = make(chan Picture)
	w = watch("work")
	send("with a lease")
	next(w, "with a lease")
	w.Ack()
	<-h.shown
	net.Drop(dropRequests)
	await(t, "the lease is over", func() bool { return a.CheckLease() != nil })
	send("without")
	if p, err := w.Next(ctx); p != nil || protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("without a lease: %+v, %v", p, err)
	}
	net.heal()
	await(t, "the lease is back", func() bool { return a.CheckLease() == nil })
	w.Close()
	<-h.shown
	<-h.ended

	w = watch("work")
	send("last")
	next(w, "last")
	b.Close(ctx)
	if err := <-h.ended; err == nil {
		t.Error("the card goes on when its node has ended")
	}
	if p, err := w.Next(ctx); p != nil || err != nil && !errors.Is(err, ErrLost) { // it may still say so
		t.Errorf("a node that has ended: %+v, %v", p, err)
	}
}
