package session

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// Jar is a page whose cookies can be read and written. Only the holder of the turn may
// call it. Errors are *protocol.Error.
type Jar interface {
	// Cookies returns the cookies that would be sent to the URLs, or all if urls is empty.
	Cookies(ctx context.Context, urls []string) ([]protocol.Cookie, error)
	// SetCookies sets cookies. One without URL and domain is set for the open page.
	SetCookies(ctx context.Context, cookies []protocol.Cookie) error
	// ClearCookies removes the cookies that Cookies would return, or those of them that have
	// the name if it is not empty, and returns their number.
	ClearCookies(ctx context.Context, urls []string, name string) (int, error)
}

// Keeper is a page whose state can be saved and loaded into another session. Only the
// holder of the turn may call it. Errors are *protocol.Error.
type Keeper interface {
	// SaveState returns the cookies, and the local and session storage of the visited origins.
	SaveState(ctx context.Context) (protocol.State, error)
	// SaveLast is SaveState for the last time: afterwards only Close may be called. It misses
	// nothing of what documents kept that their pages have left.
	SaveLast(ctx context.Context) (protocol.State, error)
	// LoadState loads a state into the session. It runs no script of a page and makes no
	// request.
	LoadState(ctx context.Context, s protocol.State) error
}

// Dropper is a page with something that is kept when it closes.
type Dropper interface {
	// Drop has nothing of it kept from now on: what is kept is another's to change. Any goroutine
	// may call it.
	Drop()
}

// NameSharer is a page with a name that nobody else has while it is open, such as a profile's.
type NameSharer interface {
	// ShareName has the name stay reserved, also after Close, until release is called.
	ShareName() (release func())
}

// StorageReader is a page that tells what its origins keep.
type StorageReader interface {
	// Storage returns the local and session storage of the visited origins, as far as it is known
	// without visiting them again. Any goroutine may call it.
	Storage(ctx context.Context) []protocol.Origin
}
