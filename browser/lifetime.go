package browser

import (
	"context"

	"github.com/browserd/browserd/browser/cdp"
)

// lifetime is how long a context lasts: until it is closed, or its browser dies. Its
// fields are written once, when the context is made; any goroutine may read them and
// call end.
type lifetime struct {
	conn *cdp.Conn               // to the browser
	life context.Context         // ends with the context; its cause says why
	end  context.CancelCauseFunc // ends life
	done chan struct{}           // closes after life has ended
}

func newLifetime(conn *cdp.Conn) lifetime {
	l := lifetime{conn: conn, done: make(chan struct{})}
	l.life, l.end = context.WithCancelCause(context.Background())
	return l
}

// Done closes when the context is closed or its Chromium has died. Whoever asks after
// a call that failed for that reason finds it closed.
func (l *lifetime) Done() <-chan struct{} {
	select {
	case <-l.conn.Done():
		return l.conn.Done() // the context's own life ends a moment later
	default:
		return l.done
	}
}

// gone reports whether Done has closed.
func (l *lifetime) gone() bool {
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}
