package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/policy"
)

// Config configures where the daemon listens, which clients it accepts, and how many
// resources one client may use.
type Config struct {
	Listen          string        `koanf:"listen" default:"127.0.0.1:9333" doc:"address and port to listen on; an address that is not loopback needs auth.tokens"`
	AllowedOrigins  []string      `koanf:"allowed_origins" default:"" doc:"origins (scheme://host:port) whose pages may connect; a request with any other Origin is refused"`
	AllowedHosts    []string      `koanf:"allowed_hosts" default:"" doc:"names (host, or host:port) under which the daemon may be addressed, beside 127.0.0.1, localhost and [::1] with its own port"`
	PublicURL       string        `koanf:"public_url" default:"" doc:"where people's browsers reach the daemon, such as https://browserd.example, for the links to the live view; empty: at server.listen"`
	TLSCert         string        `koanf:"tls_cert" default:"" doc:"file with the certificate, and those between it and its authority (PEM); with server.tls_key: the daemon speaks TLS and nothing else. Both files are read again when they change"`
	TLSKey          string        `koanf:"tls_key" default:"" doc:"file with the certificate's private key (PEM)"`
	MaxConnections  int           `koanf:"max_connections" default:"256" doc:"connections open at once that have shown a right token; any more get status 503"`
	MaxPending      int           `koanf:"max_pending" default:"256" doc:"requests of one WebSocket connection that may run or wait at once; the same number again of requests that do not queue, such as cancel"`
	ReadLimit       int64         `koanf:"read_limit" default:"4194304" doc:"bytes of one WebSocket message or HTTP body"`
	SendBuffer      int           `koanf:"send_buffer" default:"33554432" doc:"bytes that may wait for a client to read them; above this its connection is closed"`
	WriteTimeout    time.Duration `koanf:"write_timeout" default:"10s" doc:"how long a client may take to read each MiB that it is sent, before its connection is closed"`
	PingInterval    time.Duration `koanf:"ping_interval" default:"30s" doc:"time between pings on a WebSocket; a connection silent for two of them is closed"`
	ShutdownTimeout time.Duration `koanf:"shutdown_timeout" default:"5s" doc:"how long commands may run on after the signal to stop"`
	Limits          LimitsConfig  `koanf:"limits"`
	ExitWhenIdle    time.Duration `koanf:"exit_when_idle" default:"0s" doc:"how long the daemon runs without a session, a command or a WebSocket before it stops; 0: forever"`
}

// Check returns an error that names the first key with an invalid value.
func (c Config) Check() error {
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || !isPort(port) {
		return fmt.Errorf("server.listen: %q: accepts ADDRESS:PORT, such as 127.0.0.1:9333", c.Listen)
	}
	for _, o := range c.AllowedOrigins {
		if !isOrigin(o) {
			return fmt.Errorf("server.allowed_origins: %q: accepts an origin, such as https://app.example or http://localhost:3000", o)
		}
	}
	for _, h := range c.AllowedHosts {
		if !isHost(h) {
			return fmt.Errorf("server.allowed_hosts: %q: accepts a host name or address, with a port or without, such as browserd.example:9333", h)
		}
	}
	if c.PublicURL != "" && (!isOrigin(c.PublicURL) || !strings.HasPrefix(c.PublicURL, "http")) {
		return fmt.Errorf("server.public_url: %q: accepts an address without a path, such as https://browserd.example", c.PublicURL)
	}
	if c.TLSCert != "" && c.TLSKey == "" {
		return errors.New("server.tls_cert: is set without server.tls_key: accepts both, or neither")
	}
	if c.TLSKey != "" && c.TLSCert == "" {
		return errors.New("server.tls_key: is set without server.tls_cert: accepts both, or neither")
	}
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"max_connections", int64(c.MaxConnections)},
		{"max_pending", int64(c.MaxPending)},
		{"read_limit", c.ReadLimit},
		{"send_buffer", int64(c.SendBuffer)},
	} {
		if n.value <= 0 {
			return fmt.Errorf("server.%s: %d: accepts a number above 0", n.key, n.value)
		}
	}
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"write_timeout", c.WriteTimeout},
		{"ping_interval", c.PingInterval},
		{"shutdown_timeout", c.ShutdownTimeout},
	} {
		if d.value <= 0 {
			return fmt.Errorf("server.%s: %v: accepts a duration above 0, such as 10s", d.key, d.value)
		}
	}
	if err := c.Limits.check(c.ReadLimit); err != nil {
		return err
	}
	if c.ExitWhenIdle < 0 {
		return fmt.Errorf("server.exit_when_idle: %v: accepts 0 or a duration above it, such as 15m", c.ExitWhenIdle)
	}
	return nil
}

// CheckExposure returns an error if other machines can reach the address and the operator
// has configured no token. A token that the daemon made for itself does not show that the
// operator meant to expose it. configured says whether auth.tokens or BROWSERD_TOKEN sets
// one.
func (c Config) CheckExposure(configured bool) error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("server.listen: %q: accepts ADDRESS:PORT, such as 127.0.0.1:9333", c.Listen)
	}
	if configured || strings.EqualFold(host, "localhost") {
		return nil
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("server.listen: %q can be reached from other machines: set auth.tokens or BROWSERD_TOKEN, or listen on 127.0.0.1", c.Listen)
}

// TLS reports whether the daemon speaks TLS.
func (c Config) TLS() bool { return c.TLSCert != "" }

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == s
}

// isOrigin reports whether s is a serialized origin (RFC 6454 section 6.2):
// scheme://host[:port]. It is false for "null", which any page can have.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != "" && strings.EqualFold(s, u.Scheme+"://"+u.Host) && !strings.ContainsAny(s, "* ")
}

func isHost(s string) bool {
	u, err := url.Parse("http://" + s)
	return err == nil && u.Host == s && u.Hostname() != "" && !strings.HasSuffix(s, ":") && !strings.ContainsAny(s, "* ")
}

// The roles of a token.
const (
	RoleAgent    = command.RoleAgent
	RoleOperator = command.RoleOperator
)

// Token is one accepted token. Several tokens may name the same agent; they share its
// sessions.
type Token struct {
	Agent    string `koanf:"agent" doc:"the agent's name in the log, the audit trail and the session limits"`
	Token    string `koanf:"token" doc:"the secret, at least 16 characters"`
	Role     string `koanf:"role" default:"agent" doc:"agent or operator"`
	Autonomy string `koanf:"autonomy" default:"" doc:"full, supervised or read_only, in place of policy.autonomy; empty: policy.autonomy"`
	Credits  int    `koanf:"credits" default:"0" doc:"credits that the agent starts with, where ledger.credits counts them"`
}

// HasOperator reports whether a token has the role operator, so that somebody can answer
// confirmations.
func (a AuthConfig) HasOperator() bool {
	return slices.ContainsFunc(a.Tokens, func(t Token) bool { return t.Role == RoleOperator })
}

// AuthConfig lists the accepted tokens.
type AuthConfig struct {
	Tokens []Token `koanf:"tokens" doc:"the tokens that are accepted; with none, the daemon makes one and keeps it in its state directory"`
}

// minToken is the least length of a token; shorter ones could be guessed.
const minToken = 16

// Check returns an error for the first invalid token. It names the token by its position
// in the list and never quotes it. An empty role means agent.
func (a AuthConfig) Check() error {
	seen := map[string]int{}
	for i, t := range a.Tokens {
		key := fmt.Sprintf("auth.tokens[%d]", i)
		if t.Agent == "" || len(t.Agent) > 64 || strings.ContainsFunc(t.Agent, notPrintable) {
			return fmt.Errorf("%s.agent: %q: accepts a name of 1 to 64 printable ASCII characters without spaces", key, t.Agent)
		}
		if t.Role != "" && t.Role != RoleAgent && t.Role != RoleOperator {
			return fmt.Errorf("%s.role: %q: accepts agent or operator", key, t.Role)
		}
		if _, err := policy.ParseAutonomy(t.Autonomy); err != nil {
			return fmt.Errorf("%s.autonomy (agent %s): %w", key, t.Agent, err)
		}
		if t.Credits < 0 {
			return fmt.Errorf("%s.credits (agent %s): %d: accepts 0 or more", key, t.Agent, t.Credits)
		}
		if len(t.Token) < minToken {
			return fmt.Errorf("%s.token (agent %s): %d characters: accepts at least %d", key, t.Agent, len(t.Token), minToken)
		}
		if strings.ContainsFunc(t.Token, notPrintable) {
			return fmt.Errorf("%s.token (agent %s): accepts printable ASCII characters without spaces", key, t.Agent)
		}
		if first, twice := seen[t.Token]; twice {
			return fmt.Errorf("%s.token (agent %s): the same token as auth.tokens[%d] (agent %s)", key, t.Agent, first, a.Tokens[first].Agent)
		}
		seen[t.Token] = i
	}
	return nil
}

func notPrintable(r rune) bool { return r <= ' ' || r > '~' }
