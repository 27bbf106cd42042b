// Package session owns a client's browsing: its turn-taking, its refs, its
// last snapshot, and the page that a source serves it with.
//
// A session belongs to one agent and is found by its name together with that
// agent; nobody else's token reaches it. It outlives its connections and ends
// by session_close, by its idle time, or with the daemon.
//
// Two lanes: the driver is whoever holds the session's turn (Session.Turn);
// turns are given in the order in which they were taken, and only the holder
// touches refs, the last snapshot and the page's acting methods. What is safe
// at any time (dialogs, tabs, status, closing) lies outside the turn and never
// waits for it. A session never talks CDP and never knows its clients.
package session
