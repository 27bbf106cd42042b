// Package session owns a client's browsing: its queue of commands, its refs, its
// last snapshot, and the page that a source serves it with.
//
// A session belongs to one agent and is found by its name together with that
// agent; nobody else's token reaches it. It outlives its connections and ends
// by session_close, by its idle time, or with the daemon.
//
// Goroutines: a command takes a turn (Session.Take) and runs when its turn comes;
// turns come in the order in which they were taken. A command that waits for the page lends
// its turn to commands behind it that only read (Turn.Rest). Only the holder of the turn
// touches the refs, the last snapshot and the page's acting methods. Dialogs,
// tabs, status and closing need no turn and never wait for one. A session starts
// one goroutine for each page, which watches for its loss, and one to close a
// page; Manager.Shutdown waits for all of them.
//
// A session never speaks CDP and never knows its clients.
package session
