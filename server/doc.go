// Package server serves browserd's transports: WebSocket (JSON-RPC 2.0), HTTP, MCP, metrics,
// health and the live view (docs/PROTOCOL.md sections 1 to 3). It owns admission (Host,
// Origin and token, in this order), framing, the limits on what one client may use, and the
// orderly shutdown. It does not know what commands mean: every transport passes a name and a
// params object to the same dispatcher (dispatch.go) and writes the answer.
//
// # Goroutines
//
// A WebSocket connection has one reader goroutine, one writer goroutine, and one goroutine
// for each command that runs or waits, at most 2 × max_pending. An HTTP request runs in its
// own goroutine. All of them end before Serve returns.
//
// # Order
//
// Commands take their place in their session's queue in the order in which
// their frames arrived on the connection, and run in that order; commands of
// different sessions overtake each other. Answers are sent as commands end. The answers of
// two commands of which one ends as the other begins may come in either order: a client
// tells them apart by id.
//
// Events and answers leave a connection through one queue. Events that a session emitted
// before a command of this connection ended are written before that command's answer; later
// ones after it. So when a client reads the answer to a click, it has already read every
// event that the click's result takes into account. Events of one session keep their order.
// There is no order between connections.
//
// # Limits
//
// A connection is unknown until it has shown a right token (listener.go). Unknown connections
// have a separate limit and little time. Connections, bytes of requests and MCP sessions are
// counted by token, by address and in total (limits.go).
//
// # Clients that do not read
//
// The daemon never waits for a client. It closes a connection whose socket accepts no bytes
// for write_timeout, or whose unsent frames are too many or too large. The connection's
// commands are cancelled; its sessions stay. While a client does not read its answers, its
// further requests are not read either, so that a client that sends faster than it reads is
// slowed down first.
package server
