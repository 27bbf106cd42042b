// Package server is how clients reach browserd: WebSocket (JSON-RPC 2.0), HTTP,
// MCP, metrics, health and the live view (docs/PROTOCOL.md sections 1 to 3). It
// owns who may come in (Host, Origin, token, in this order), framing, limits on
// what one client may make the daemon hold, and the orderly end. It never knows
// what a command means: every transport hands a name and a params object to the
// same dispatcher (dispatch.go), and writes whatever comes back.
//
// # Goroutines
//
// A WebSocket connection has one reader and one writer goroutine, and one
// goroutine for each command that runs or waits, at most 2 × max_pending. An
// HTTP request runs in its own goroutine. All of them end before Serve returns.
//
// # Order
//
// Commands take their place in their session's queue in the order in which
// their frames arrived on the connection, and run in that order; commands of
// different sessions overtake each other. Answers come as commands end, and
// where one ends as the next begins their answers may change places: a client
// tells them apart by id.
//
// Events and answers leave a connection through one queue. What a session told
// before a command of this connection ended is written before that command's
// answer; what it told afterwards comes after. In plain words: when the answer
// to a click is there, every event that the click's result takes into account
// has already been there. Events of one session keep their order. Between
// connections nothing is promised.
//
// # Who holds what
//
// A connection is unknown until it has shown a right token (listener.go). Unknown ones have
// places of their own and little time. From then on connections, bytes of requests and MCP
// sessions are counted by token, by address and in all (limits.go).
//
// # Clients that do not read
//
// Nothing waits for a client. A connection whose socket takes no bytes for
// write_timeout, or whose unsent frames are too many or too large, is closed;
// its commands are cancelled, its sessions stay. While a client leaves answers
// lying, its own further requests are not read, so that a client which sends
// faster than it reads is slowed down first.
package server
