package script

import (
	"context"
	"slices"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// stableFor is how long nothing that a page shows may change until it counts as stable.
const stableFor = time.Second

// Stability watches a page that differs from the recorded one, until it is stable. One
// goroutine uses it. The zero value is ready for use.
type Stability struct {
	// ExtraWait is added to stableFor.
	ExtraWait time.Duration

	url   string
	shown []Element // all nodes of the page, texts too
	since time.Time
}

// Stable reports whether the page, which has these nodes now, was the same at each call for
// stableFor and ExtraWait, and loads nothing: it is not expected to change by itself.
func (r *Stability) Stable(ctx context.Context, page session.Page, nodes []snapshot.Node) bool {
	shown := make([]Element, len(nodes))
	for i, n := range nodes {
		shown[i] = NewElement(n.Role, n.Name)
	}
	if url := page.State().URL; r.since.IsZero() || r.url != url || !slices.Equal(r.shown, shown) {
		r.url, r.shown, r.since = url, shown, time.Now()
	}
	if time.Since(r.since) < stableFor+r.ExtraWait {
		return false
	}
	soon, cancel := context.WithTimeout(ctx, stableFor/4)
	defer cancel()
	_, err := page.Wait(soon, nil, protocol.Wait{For: protocol.WaitQuiet}, nil, nil)
	return err == nil
}
