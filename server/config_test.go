package server

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestConfigCheck(t *testing.T) {
	if err := testConfig().Check(); err != nil {
		t.Errorf("a good one: %v", err)
	}
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Listen = "9333" }, `server.listen: "9333": accepts ADDRESS:PORT, such as 127.0.0.1:9333`},
		{func(c *Config) { c.Listen = "127.0.0.1:99999" }, `server.listen: "127.0.0.1:99999": accepts ADDRESS:PORT, such as 127.0.0.1:9333`},
		{func(c *Config) { c.Listen = "127.0.0.1:http" }, `server.listen: "127.0.0.1:http": accepts ADDRESS:PORT, such as 127.0.0.1:9333`},
		{func(c *Config) { c.AllowedOrigins = []string{"null"} }, `server.allowed_origins: "null": accepts an origin, such as https://app.example or http://localhost:3000`},
		{func(c *Config) { c.AllowedOrigins = []string{"*"} }, `server.allowed_origins: "*": accepts an origin, such as https://app.example or http://localhost:3000`},
		{func(c *Config) { c.AllowedOrigins = []string{"https://*.example"} }, `server.allowed_origins: "https://*.example": accepts an origin, such as https://app.example or http://localhost:3000`},
		{func(c *Config) { c.AllowedOrigins = []string{"https://app.example/"} }, `server.allowed_origins: "https://app.example/": accepts an origin, such as https://app.example or http://localhost:3000`},
		{func(c *Config) { c.AllowedHosts = []string{"http://a.example"} }, `server.allowed_hosts: "http://a.example": accepts a host name or address, with a port or without, such as browserd.example:9333`},
		{func(c *Config) { c.AllowedHosts = []string{""} }, `server.allowed_hosts: "": accepts a host name or address, with a port or without, such as browserd.example:9333`},
		{func(c *Config) { c.AllowedHosts = []string{"*.example"} }, `server.allowed_hosts: "*.example": accepts a host name or address, with a port or without, such as browserd.example:9333`},
		{func(c *Config) { c.MaxConnections = 0 }, `server.max_connections: 0: accepts a number above 0`},
		{func(c *Config) { c.MaxPending = -1 }, `server.max_pending: -1: accepts a number above 0`},
		{func(c *Config) { c.ReadLimit = 0 }, `server.read_limit: 0: accepts a number above 0`},
		{func(c *Config) { c.SendBuffer = 0 }, `server.send_buffer: 0: accepts a number above 0`},
		{func(c *Config) { c.WriteTimeout = 0 }, `server.write_timeout: 0s: accepts a duration above 0, such as 10s`},
		{func(c *Config) { c.PingInterval = -time.Second }, `server.ping_interval: -1s: accepts a duration above 0, such as 10s`},
		{func(c *Config) { c.Limits.Unauthenticated = 0 }, `server.limits.unauthenticated: 0: accepts a number above 0`},
		{func(c *Config) { c.Limits.MCPSessionsPerToken = -1 }, `server.limits.mcp_sessions_per_token: -1: accepts a number above 0`},
		{func(c *Config) { c.Limits.QueuedBytes = 4 << 20 }, `server.limits.queued_bytes: 4194304: accepts more than server.read_limit (4194304), so that the largest request fits`},
		{func(c *Config) { c.Limits.AuthTimeout = 0 }, `server.limits.auth_timeout: 0s: accepts a duration above 0, such as 10s`},
		{func(c *Config) { c.ShutdownTimeout = 0 }, `server.shutdown_timeout: 0s: accepts a duration above 0, such as 10s`},
	} {
		cfg := testConfig()
		test.change(&cfg)
		if err := cfg.Check(); err == nil || err.Error() != test.want {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}

// Every key has its tags, since config reads its defaults and its manual there.
func TestConfigTags(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[LimitsConfig](), reflect.TypeFor[Token](), reflect.TypeFor[AuthConfig]()} {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Type == reflect.TypeFor[LimitsConfig]() {
				continue
			}
			if f.Tag.Get("koanf") == "" || f.Tag.Get("doc") == "" {
				t.Errorf("%s.%s has no tags", typ.Name(), f.Name)
			}
			if _, ok := f.Tag.Lookup("default"); !ok && (typ == reflect.TypeFor[Config]() || typ == reflect.TypeFor[LimitsConfig]()) {
				t.Errorf("%s.%s has no default", typ.Name(), f.Name)
			}
		}
	}
}

func TestCheckExposure(t *testing.T) {
	for listen, exposed := range map[string]bool{
		"127.0.0.1:9333": false, "127.8.8.8:9333": false, "[::1]:9333": false, "localhost:9333": false, "[::ffff:127.0.0.1]:1": false,
		":9333": true, "0.0.0.0:9333": true, "[::]:9333": true, "192.168.1.5:9333": true, "128.0.0.1:9333": true, "browserd.example:9333": true, "localhost.evil.test:1": true,
	} {
		c := Config{Listen: listen}
		if err := c.CheckExposure(false); (err != nil) != exposed {
			t.Errorf("%s without a token: %v", listen, err)
		}
		if err := c.CheckExposure(true); err != nil {
			t.Errorf("%s with a token: %v", listen, err)
		}
	}
}

func TestAuthCheck(t *testing.T) {
	good := Token{Agent: "a", Token: "0123456789abcdef", Role: RoleOperator}
	if err := (AuthConfig{[]Token{good, {Agent: "a", Token: "another-0123456789"}}}).Check(); err != nil {
		t.Errorf("good ones: %v", err)
	}
	const secret = "hunter2"
	for _, test := range []struct {
		token Token
		want  string
	}{
		{Token{Agent: "b", Token: secret}, `auth.tokens[1].token (agent b): 7 characters: accepts at least 16`},
		{Token{Agent: "b"}, `auth.tokens[1].token (agent b): 0 characters: accepts at least 16`},
		{Token{Agent: "b", Token: secret + " " + secret + secret}, `auth.tokens[1].token (agent b): accepts printable ASCII characters without spaces`},
		{Token{Agent: "b", Token: good.Token}, `auth.tokens[1].token (agent b): the same token as auth.tokens[0] (agent a)`},
		{Token{Token: secret + secret + secret}, `auth.tokens[1].agent: "": accepts a name of 1 to 64 printable ASCII characters without spaces`},
		{Token{Agent: "b c", Token: secret + secret + secret}, `auth.tokens[1].agent: "b c": accepts a name of 1 to 64 printable ASCII characters without spaces`},
		{Token{Agent: "b", Token: secret + secret + secret, Role: "root"}, `auth.tokens[1].role: "root": accepts agent or operator`},
	} {
		err := AuthConfig{[]Token{good, test.token}}.Check()
		if err == nil || err.Error() != test.want || strings.Contains(err.Error(), secret) {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}

func TestNew(t *testing.T) {
	runtime := testRuntime(newSite(), &lockedBuffer{})
	if _, err := New(testConfig(), nil, runtime, testSources); err == nil {
		t.Error("no token was accepted")
	}
	if _, err := New(Config{}, testTokens, runtime, testSources); err == nil {
		t.Error("an empty configuration was accepted")
	}
}
