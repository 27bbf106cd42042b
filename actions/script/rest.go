package script

import (
	"context"
	"slices"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// restFor is how long nothing that a page shows may change before it rests.
const restFor = time.Second

// Rest watches a page that a replay finds to be another one than it was. One goroutine uses
// it. The zero value is ready for use.
type Rest struct {
	// Longer is how much longer than restFor nothing may change.
	Longer time.Duration

	url   string
	shown []Element // all nodes of the page, texts too
	since time.Time
}

// Over reports whether the page, which has these nodes now, has been the same at each call
// for restFor and Longer and loads nothing: it will not become another one by itself.
func (r *Rest) Over(ctx context.Context, page session.Page, nodes []snapshot.Node) bool {
	shown := make([]Element, len(nodes))
	for i, n := range nodes {
		shown[i] = NewElement(n.Role, n.Name)
	}
	if url := page.State().URL; r.since.IsZero() || r.url != url || !slices.Equal(r.shown, shown) {
		r.url, r.shown, r.since = url, shown, time.Now()
	}
	if time.Since(r.since) < restFor+r.Longer {
		return false
	}
	soon, cancel := context.WithTimeout(ctx, restFor/4)
	defer cancel()
	_, err := page.Wait(soon, nil, protocol.Wait{For: protocol.WaitQuiet}, nil)
	return err == nil
}
