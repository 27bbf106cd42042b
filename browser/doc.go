// Package browser does what sessions ask of Chromium's pages.
//
// A [Browser] makes browser contexts in one Chromium, which package chromium runs and
// package cdp connects to, and pools a few before a session asks. A [Context] is the
// pages of one session: its tabs, and the commands that act on them, each in a file named
// for it. Context is made of small types, each with one subject: the tab list, the
// records of its network and console, cookies, states, the device it emulates, uploads.
// The comment of each says what it holds, who writes it and which lock guards it.
//
// When Chromium dies, the calls that are under way fail with browser_lost or
// [cdp.ErrGone], [Context.Done] closes, and the next [Browser.NewContext] launches
// another Chromium. [Context.Restore] works then too. No page, frame or worker runs before
// browserd listens to it, and no context is given to a second session.
//
// The package never decides whether a URL may be opened (package policy does), and never
// logs page text or what is typed.
//
// Goroutines: one goroutine at a time, the holder of the session's turn, calls a context's
// commands; a comment names the methods that any goroutine may call. The reader goroutine
// of the connection delivers the events: a handler writes down what happened and returns;
// it never waits for Chromium. Locks are taken from the top down: Browser.mu, host.mu,
// Context.mu, then the lock of one small type, which calls nothing while it is held.
// Context.mu is not held while Chromium is asked and waited for.
package browser
