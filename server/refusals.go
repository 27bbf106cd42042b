package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Of the requests that were refused, at most maxRefusals are logged in each
// refusalWindow: whoever has no token cannot fill the disk.
const (
	maxRefusals   = 60
	refusalWindow = time.Minute
)

// refusals logs requests that were refused. Any goroutine may call log.
type refusals struct {
	mu      sync.Mutex
	since   time.Time
	logged  int
	omitted int // since then
}

func (r *refusals) log(ctx context.Context, to *slog.Logger, now time.Time, level slog.Level, args ...any) {
	if !to.Enabled(ctx, level) {
		return
	}
	r.mu.Lock()
	omitted := 0
	if now.Sub(r.since) >= refusalWindow {
		omitted = r.omitted
		r.since, r.logged, r.omitted = now, 0, 0
	}
	r.logged++
	last := r.logged == maxRefusals
	full := r.logged > maxRefusals
	if full {
		r.omitted++
	}
	r.mu.Unlock()
	if omitted > 0 {
		to.Log(ctx, level, "more requests were refused", "omitted", omitted)
	}
	if full {
		return
	}
	to.Log(ctx, level, "request refused", args...)
	if last {
		to.Log(ctx, level, "further refusals are only counted for a minute", "logged", maxRefusals)
	}
}
