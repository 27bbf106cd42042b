package session

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// Jar is a page whose session has cookies that can be read and written. Only
// the holder of the turn calls it. Errors are *protocol.Error.
type Jar interface {
	// Cookies returns the cookies that would be sent to the URLs; all without any.
	Cookies(ctx context.Context, urls []string) ([]protocol.Cookie, error)
	// SetCookies sets cookies; one without URL and domain is the open page's.
	SetCookies(ctx context.Context, cookies []protocol.Cookie) error
	// ClearCookies removes what Cookies returns, and says how many that were.
	ClearCookies(ctx context.Context, urls []string) (int, error)
}

// Keeper is a page whose session's state can be kept for another session. Only
// the holder of the turn calls it. Errors are *protocol.Error.
type Keeper interface {
	// SaveState returns the cookies and what the origins that were visited keep.
	SaveState(ctx context.Context) (protocol.State, error)
	// LoadState puts a state into the session. No script of a page runs for it,
	// and no request is made.
	LoadState(ctx context.Context, s protocol.State) error
}
