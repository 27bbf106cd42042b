package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// LimitsConfig limits what one token, one address and all clients together may use of the
// daemon. The Unix socket counts as one address.
type LimitsConfig struct {
	Unauthenticated       int           `koanf:"unauthenticated" default:"256" doc:"connections that have shown no right token yet; these places are reserved for them, and server.max_connections limits the others. When one more comes, the oldest one of the address with most of them is closed"`
	AuthTimeout           time.Duration `koanf:"auth_timeout" default:"5s" doc:"how long a connection may take from its beginning until it has shown a right token, TLS handshake included; then how long the headers of one request may take"`
	BodyTimeout           time.Duration `koanf:"body_timeout" default:"30s" doc:"how long the body of a request may take"`
	ConnectionsPerToken   int64         `koanf:"connections_per_token" default:"192" doc:"connections open at once with one token (WebSocket, HTTP and MCP together); any more get status 429"`
	ConnectionsPerAddress int64         `koanf:"connections_per_address" default:"224" doc:"connections open at once with right tokens from one address (an IPv4 address, an IPv6 /64, or the Unix socket)"`
	QueuedBytes           int64         `koanf:"queued_bytes" default:"134217728" doc:"bytes of all requests that are being received, wait or run; a request beyond that is refused with rate_limited (status 503). Requests up to 4096 bytes do not count"`
	QueuedBytesPerToken   int64         `koanf:"queued_bytes_per_token" default:"67108864" doc:"the same of one token's requests (status 429)"`
	QueuedBytesPerAddress int64         `koanf:"queued_bytes_per_address" default:"100663296" doc:"the same of the requests from one address (status 429)"`
	SendBytesPerToken     int64         `koanf:"send_bytes_per_token" default:"67108864" doc:"bytes of answers and events that may wait for the WebSocket clients with one token to read them; above half of it those that do not read are not read from, above all of it they are closed"`
	RequestsPerToken      int64         `koanf:"requests_per_token" default:"2048" doc:"requests of the WebSocket clients with one token that may run or wait at once; a connection with at most 16 of them is not refused"`
	MCPSessions           int64         `koanf:"mcp_sessions" default:"256" doc:"sessions of the MCP protocol at /mcp open at once; a client ends its own with DELETE, and one that is idle for 15 minutes ends by itself"`
	MCPSessionsPerToken   int64         `koanf:"mcp_sessions_per_token" default:"64" doc:"the same with one token"`
	MCPSessionsPerAddress int64         `koanf:"mcp_sessions_per_address" default:"128" doc:"the same from one address"`
	ClientInfo            int64         `koanf:"client_info" default:"16384" doc:"bytes of the request with which a client begins an MCP session: what it says about itself is kept as long as the session"`
}

func (c LimitsConfig) check(readLimit int64) error {
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"unauthenticated", int64(c.Unauthenticated)},
		{"connections_per_token", c.ConnectionsPerToken},
		{"connections_per_address", c.ConnectionsPerAddress},
		{"send_bytes_per_token", c.SendBytesPerToken},
		{"requests_per_token", c.RequestsPerToken},
		{"mcp_sessions", c.MCPSessions},
		{"mcp_sessions_per_token", c.MCPSessionsPerToken},
		{"mcp_sessions_per_address", c.MCPSessionsPerAddress},
		{"client_info", c.ClientInfo},
	} {
		if n.value <= 0 {
			return fmt.Errorf("server.limits.%s: %d: accepts a number above 0", n.key, n.value)
		}
	}
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"queued_bytes", c.QueuedBytes},
		{"queued_bytes_per_token", c.QueuedBytesPerToken},
		{"queued_bytes_per_address", c.QueuedBytesPerAddress},
	} {
		if n.value <= readLimit {
			return fmt.Errorf("server.limits.%s: %d: accepts more than server.read_limit (%d), so that the largest request fits", n.key, n.value, readLimit)
		}
	}
	for _, d := range []struct {
		key   string
		value time.Duration
	}{{"auth_timeout", c.AuthTimeout}, {"body_timeout", c.BodyTimeout}} {
		if d.value <= 0 {
			return fmt.Errorf("server.limits.%s: %v: accepts a duration above 0, such as 10s", d.key, d.value)
		}
	}
	return nil
}

// uncounted is the size in bytes up to which requests do not count. The requests that a
// client needs in order to continue, such as cancel, dialog and confirm, are that small.
const uncounted = 4 << 10

// peer is the client that something is counted for.
type peer struct {
	token   int // holder.number
	address netip.Prefix
}

// quota counts the use of one resource by peers. Any goroutine may call its methods.
type quota struct {
	what                      string // the resource in the plural, for messages
	key                       string // configuration key of the limit for all clients
	part                      string // prefix of the keys of the other limits
	all, perToken, perAddress int64
	next                      string // next step for a client that is refused

	mu        sync.Mutex
	held      int64
	tokens    map[int]int64
	addresses map[netip.Prefix]int64
}

// usage counts what all clients use, except MCP sessions, which mcpTransport counts.
type usage struct {
	connections *connections
	queued      *quota   // bytes of requests
	unread      *byToken // bytes that WebSocket clients have not read
	requests    *byToken // of WebSocket clients, that run or wait
	refused     refusals
}

func newQuota(q *quota) *quota {
	q.tokens, q.addresses = map[int]int64{}, map[netip.Prefix]int64{}
	return q
}

// quotas makes the quotas of a server.
func quotas(c Config) (connections, queued, mcpSessions *quota) {
	l := c.Limits
	connections = newQuota(&quota{
		what: "connections", key: "server.max_connections", part: "server.limits.connections",
		all: int64(c.MaxConnections), perToken: l.ConnectionsPerToken, perAddress: l.ConnectionsPerAddress,
		next: "close connections that are not used, or try again later",
	})
	queued = newQuota(&quota{
		what: "bytes of requests that wait or run", key: "server.limits.queued_bytes", part: "server.limits.queued_bytes",
		all: l.QueuedBytes, perToken: l.QueuedBytesPerToken, perAddress: l.QueuedBytesPerAddress,
		next: "wait for answers before you send more, or send smaller requests",
	})
	mcpSessions = newQuota(&quota{
		what: "MCP sessions", key: "server.limits.mcp_sessions", part: "server.limits.mcp_sessions",
		all: l.MCPSessions, perToken: l.MCPSessionsPerToken, perAddress: l.MCPSessionsPerAddress,
		next: "end MCP sessions that are not used (DELETE), or go on with one; one that is idle ends after 15 minutes",
	})
	return connections, queued, mcpSessions
}

// take counts n more for a peer. If a limit does not allow it, the error is rate_limited,
// with the limit's configuration key in details.quota.
func (q *quota) take(p peer, n int64) *protocol.Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range []struct {
		held, limit int64
		whose, key  string
	}{
		{q.tokens[p.token], q.perToken, "of this token", q.part + "_per_token"},
		{q.addresses[p.address], q.perAddress, "from this address", q.part + "_per_address"},
		{q.held, q.all, "of all clients together", q.key},
	} {
		if l.held+n > l.limit {
			return protocol.Errorf(protocol.RateLimited, "the %s %s would be %d, more than %s allows", q.what, l.whose, l.held+n, l.key).
				With("quota", l.key).With("limit", l.limit).With("retry_after_s", 1).Then("%s", q.next)
		}
	}
	q.held += n
	q.tokens[p.token] += n
	q.addresses[p.address] += n
	return nil
}

// give returns what take counted.
func (q *quota) give(p peer, n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held -= n
	if q.tokens[p.token] -= n; q.tokens[p.token] == 0 {
		delete(q.tokens, p.token)
	}
	if q.addresses[p.address] -= n; q.addresses[p.address] == 0 {
		delete(q.addresses, p.address)
	}
}

// status returns the HTTP status for an error of take: 503 if the limit for all clients was
// reached, 429 if the peer's own was.
func (q *quota) status(err *protocol.Error) int {
	if err.Details["quota"] == q.key {
		return http.StatusServiceUnavailable
	}
	return err.Code.Row().HTTP
}
