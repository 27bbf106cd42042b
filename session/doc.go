// Package session owns one client's browsing: the queue of its commands, its refs, what each client was
// shown last, and its page.
//
// A session belongs to one agent and is identified by its name and that agent. Tokens of other agents cannot
// reach it. It outlives its connections. It ends when a client sends session_close, when it has been idle for
// session.idle_timeout, or when the daemon stops. In a fleet another daemon may continue it.
//
// Goroutines: a command takes a turn (Session.Take) and runs when it holds the turn; turns
// are given in the order in which they were taken. A command that waits for the page lends
// its turn to the commands behind it that only read (Turn.Yield). Only the holder of the
// turn may use the refs, the views and the page's acting methods. Dialogs, tabs,
// status and closing need no turn. A session starts one goroutine for each page, which
// watches for its loss, and one to close a page. Manager.Shutdown waits for all of them.
//
// A session never speaks CDP and does not know its clients.
package session
