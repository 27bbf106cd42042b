// Package cdp is one connection to a Chromium over the Chrome DevTools Protocol (CDP):
// its transport (a pipe, or a WebSocket), calls and their answers, events, flattened
// sessions, message limits, and detection of an unresponsive browser.
// It is the only package that imports chromedp's transport.
//
// A [Conn] has one reader and one writer goroutine, which end with its transport. Any
// number of goroutines may send commands to any number of CDP sessions at once: a
// command is written in the order of [Session.Send], and waiting for its answer is the
// sender's own business. Event callbacks run on the reader goroutine, one at a time,
// in the order of the events and in order with the answers; they never wait, see
// [EventFunc].
//
// When the browser dies or hangs up, every call under way fails with [ErrGone], once.
// A Conn does not reconnect, does not start or end a process (package chromium), and
// knows nothing about pages: it decodes no event but Target.detachedFromTarget.
package cdp
