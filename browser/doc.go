// Package browser is Chromium: it finds it, launches and supervises it, and
// talks to it over the Chrome DevTools Protocol (package cdp). It is the only package
// that imports chromedp and cdproto.
//
// A [Chromium] is one supervised browser. Its [Chromium.Conn] launches it when
// it is not running and hands out the [Conn], one connection with one reader
// goroutine, over which any number of goroutines pipeline commands to any
// number of flattened CDP sessions. When the browser dies, every call under
// way fails with [cdp.ErrGone], the callbacks of [Chromium.OnLost] are told once, its
// processes and its profile directory are removed, and the next Conn launches
// another one. What a daemon that was killed left behind, [Reap] removes at the
// next start.
//
// Chromium runs with its own sandbox on, unless browser.unsafe_no_sandbox is set:
// as root its processes are given to an unprivileged user, because Chromium
// refuses to sandbox root. It listens on no port (the protocol goes over a pipe),
// gets a clean environment, a HOME and a profile directory of its own, and nothing
// of them outlives it.
//
// The package never decides whether a URL may be opened (package policy), and
// never logs page text or what is typed.
package browser
