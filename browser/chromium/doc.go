// Package chromium is the Chromium process: it finds the program, launches it,
// supervises it, and removes all that is left of it.
//
// It owns the command line, the sandbox and the jail (a network namespace with nothing
// in it but the egress proxy), the profile directory, the memory watch, and the checks
// of browserd doctor. A [Supervisor] is one Chromium that runs when it is needed: its
// [Supervisor.Conn] launches it, or connects to browser.endpoint, and returns the
// [cdp.Conn]. When the browser dies, every call under way fails with [cdp.ErrGone], the
// callbacks of [Supervisor.OnLost] are called once, its processes and its profile
// directory are removed, and the next Conn launches another one. [Reap] removes at the
// next start what a daemon that was killed left behind.
//
// Chromium runs with its own sandbox on, unless browser.unsafe_no_sandbox is set. As
// root browserd gives its processes to an unprivileged user, because Chromium refuses to
// sandbox root. Chromium listens on no port (the protocol goes over a pipe), gets a
// clean environment, a HOME and a profile directory of its own, and nothing of it
// outlives the Supervisor.
//
// The package never opens a page for a session, and never decides whether a URL may be
// opened. Any goroutine may use its exported types; a Supervisor's goroutines end with
// [Supervisor.Close], which waits for them.
package chromium
