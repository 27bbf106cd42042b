package protocol

import "context"

// Request ids tell one command from all others in the daemon's log.
type requestKey struct{}

type requestOf struct{ id, session string }

// WithRequest marks ctx as one command's: with the id that the daemon has given
// it, and its session's name, empty if it has none.
func WithRequest(ctx context.Context, id, session string) context.Context {
	return context.WithValue(ctx, requestKey{}, requestOf{id, session})
}

// RequestOf returns what WithRequest has marked ctx with; empty: nothing.
func RequestOf(ctx context.Context) (id, session string) {
	r, _ := ctx.Value(requestKey{}).(requestOf)
	return r.id, r.session
}
