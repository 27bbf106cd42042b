// Package attach is what stands between browserd and a person's own Chromium: it finds where
// that listens ([Find]), and lets through what concerns tabs that browserd has opened there,
// and nothing else ([Only]).
//
// To the rest of browserd the person's Chromium looks like one of its own: each session has a
// browser context. There is none: its tabs are in the person's own profile, in windows of their own,
// and Only knows which they are. Any command that names another target, another CDP session or
// the profile as a whole is refused here and not sent; events of them are dropped. Nothing is
// set that outlives the connection or holds for the person's tabs.
package attach
