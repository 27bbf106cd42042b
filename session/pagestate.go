package session

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// CookieJar is a page whose cookies can be read and written. Only the holder of the turn may
// call it. Errors are *protocol.Error.
type CookieJar interface {
	// Cookies returns the cookies that would be sent to the URLs, or all if urls is empty.
	Cookies(ctx context.Context, urls []string) ([]protocol.Cookie, error)
	// SetCookies sets cookies. One without URL and domain is set for the open page.
	SetCookies(ctx context.Context, cookies []protocol.Cookie) error
	// ClearCookies removes the cookies that Cookies would return, or those of them that have
	// the name if it is not empty, and returns their number.
	ClearCookies(ctx context.Context, urls []string, name string) (int, error)
}

// StateSaver is a page whose state can be saved and loaded into another session. Only the
// holder of the turn may call it. Errors are *protocol.Error.
type StateSaver interface {
	// SaveState returns the cookies, and the local and session storage of the visited origins.
	SaveState(ctx context.Context) (protocol.State, error)
	// SaveLast is SaveState for the last time: afterwards only Close may be called. The state includes the
	// storage of documents that their tabs have left.
	SaveLast(ctx context.Context) (protocol.State, error)
	// LoadState loads a state into the session. It runs no script of a page and makes no
	// request.
	LoadState(ctx context.Context, s protocol.State) error
}

// SaveStopper is a page that saves something when it closes, such as a profile.
type SaveStopper interface {
	// StopSaving makes Close save nothing: another daemon may have changed what is saved. Any goroutine may
	// call it.
	StopSaving()
}

// NameHolder is a page that holds a saved name while it is open, such as that of a profile.
type NameHolder interface {
	// HoldName keeps the name reserved, even after Close, until release is called.
	HoldName() (release func())
}

// StorageReader is a page that can tell the storage of its origins.
type StorageReader interface {
	// Storage returns the local and session storage of the visited origins, as far as it is known
	// without visiting them again. Any goroutine may call it.
	Storage(ctx context.Context) []protocol.Origin
}
