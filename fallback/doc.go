// Package fallback is a session without Chromium. A Page gets its documents over direct
// HTTP, or from a reader service that renders them elsewhere, and shows and operates
// what their HTML alone allows. It is a session.Page like the one of package browser:
// the same refs, snapshots, errors and effects.
//
// It owns the session's cookies, its history, what its controls hold, and the choice
// between direct HTTP and the reader (SourceChain). It never runs script: an action
// that needs script fails with unsupported, and the error says so. Requests leave the
// machine only through the session's Gate and the Reader, and the Reader is only given
// public addresses.
//
// One goroutine at a time calls the methods of a Page that act and read; any goroutine
// may call State, Attempts, Restore, Done and Close. Any goroutine may use a SourceChain.
package fallback
