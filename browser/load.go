package browser

import (
	"context"
	"errors"
	"time"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// How long a document is waited for.
const (
	// contentWait is how long a document may take to have its content once it is
	// committed: one that never ends is shown as far as it came.
	contentWait = 8 * time.Second
	// afterContent is how long a new document may take to become quiet once its
	// content is there.
	afterContent = 3 * time.Second
	// emptyWait is how long a document with scripts may take to show anything at all.
	emptyWait = 2 * time.Second
)

// awaitDocument waits until a document that was committed is as far as mode
// says, and its title is known.
func (n *navigation) awaitDocument(ctx context.Context, mode string) error {
	var err error
	switch mode {
	case protocol.WaitNone:
		return nil
	case protocol.WaitDOMContentLoaded:
		err = n.t.until(ctx, n.hasContent)
	case protocol.WaitLoad:
		err = n.t.until(ctx, n.hasLoaded)
	case protocol.WaitNetworkIdle:
		err = n.t.until(ctx, n.hasLoaded)
		if err == nil {
			err = n.awaitIdle(ctx, 500*time.Millisecond)
		}
	default:
		return n.awaitContent(ctx)
	}
	if err == nil {
		n.awaitTitle(ctx)
	}
	return err
}

// awaitContent waits until a document that was committed has its content and is
// quiet.
func (n *navigation) awaitContent(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, contentWait)
	defer cancel()
	if err := n.t.until(limited, n.hasContent); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return n.awaitQuiet(ctx)
}

// awaitQuiet waits until a document that has its content is quiet too: no request under way that the page waits for,
// no refresh due, and no change of its DOM for a moment. It gives up waiting after afterContent, without an error.
func (n *navigation) awaitQuiet(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, afterContent)
	defer cancel()
	shown := time.Now().Add(emptyWait)
	for {
		err := n.t.until(limited, func() bool { return n.t.requests.InFlight() == 0 && !n.refreshing })
		var seen script.Settled
		if err == nil {
			seen, err = evaluate(limited, n.t.frames.main, script.Settle, script.SettleArgs{NewDocument: true, Empty: int(max(time.Until(shown).Milliseconds(), 0))})
		}
		if err == nil {
			n.t.c.mu.Lock()
			busy := n.t.requests.InFlight() > 0 || n.refreshing
			n.setTitleAndURL(seen.Title, seen.URL)
			n.t.c.mu.Unlock()
			if busy {
				continue
			}
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case limited.Err() != nil:
			return nil
		case protocol.CodeOf(err) != protocol.StaleRef:
			return err
		}
		// The page went on to another document by itself: follow it, unless the tab is gone.
		if err := n.t.until(limited, n.hasContent); err != nil && limited.Err() == nil {
			return err
		}
	}
}

// awaitIdle waits until no request has been under way for the given time.
func (n *navigation) awaitIdle(ctx context.Context, for_ time.Duration) error {
	for {
		if err := n.t.until(ctx, func() bool { return n.t.requests.InFlight() == 0 }); err != nil {
			return err
		}
		quiet, cancel := context.WithTimeout(ctx, for_)
		err := n.t.until(quiet, func() bool { return n.t.requests.InFlight() > 0 })
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
