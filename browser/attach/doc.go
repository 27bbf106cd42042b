// Package attach connects browserd to a person's own Chromium: it finds where that listens
// ([Find]), and filters the connection, so that browserd reaches only the tabs that it opened
// there or was granted ([Only]).
//
// To the rest of browserd the person's Chromium looks like one of its own, with a browser
// context for each session. These contexts do not exist in Chromium: a session's tabs are in the
// person's own profile, in windows of their own, and Only keeps the list of them. A command for
// another target, another CDP session or the profile as a whole is refused here and not sent, and
// events of them are dropped. No setting outlives the connection or applies to the person's tabs.
package attach
