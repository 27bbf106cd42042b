// Package fallback serves pages where there is no Chromium, or where it is not
// wanted: documents got over direct HTTP or from a reader that renders them
// elsewhere, shown and acted on as HTML alone allows. Its Page is a
// session.Page like the live one: the same refs, snapshots, errors and effects.
//
// It owns a session's cookies, its history, what its controls hold, and the
// choice between direct HTTP and the reader. It never runs script: what needs
// some is unsupported, and the error says so. Nothing leaves the machine but
// by the session's Gate and by the Reader, which is given public addresses alone.
//
// The methods of a Page that act and read are called by one goroutine at a
// time; State, Restore, Done and Close by any. A Ladder is safe for any.
package fallback
