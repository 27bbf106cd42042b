package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
)

// mcpSessionTimeout is how long the protocol's own session of an older client
// is kept between two requests. No browsing session hangs on it.
const mcpSessionTimeout = 15 * time.Minute

// mcpTransport is /mcp: the streamable HTTP transport of the Model Context Protocol.
// Each agent has one server per choice of tools (/mcp?tools=all), made when it
// first asks, and a browsing session of its own behind all of them.
type mcpTransport struct {
	dispatch *dispatcher
	version  string
	// handler speaks with clients that begin with initialize; stateless with those
	// of statelessSince and later, whose every request stands for itself.
	handler, stateless http.Handler

	mu      sync.Mutex
	agents  map[holder]*mcpAgent
	servers map[mcpKey]*mcp.Server
}

type mcpKey struct {
	who   holder
	tools string
}

// mcpAgent is one agent's caller, whose own session is the one that its tools
// work in by default.
type mcpAgent struct {
	mu     sync.Mutex // Caller: prepared by one goroutine at a time
	caller *command.Caller
}

type whoKey struct{}

func newMCPTransport(d *dispatcher, cfg Config) *mcpTransport {
	m := &mcpTransport{dispatch: d, version: d.house.Version, agents: map[holder]*mcpAgent{}, servers: map[mcpKey]*mcp.Server{}}
	// An MCP session is its token's: its id is no way in for another one.
	owned := auth.RequireBearerToken(holds, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	o := mcp.StreamableHTTPOptions{
		SessionTimeout:      mcpSessionTimeout,
		MaxRequestBodyBytes: cfg.ReadLimit,
		// The gate has compared Host and Origin with more than the SDK knows.
		DisableLocalhostProtection:   true,
		PropagateRequestCancellation: true,
	}
	m.handler = owned(mcp.NewStreamableHTTPHandler(m.server, &o))
	o.Stateless = true
	m.stateless = owned(mcp.NewStreamableHTTPHandler(m.server, &o))
	return m
}

// statelessSince is the version of the protocol that knows no sessions. Clients
// of it name it in every request; others need a session, without which nothing
// that they send can cancel a call or hear of its progress.
const statelessSince = "2026-07-28"

// holds names the holder of the request's token, who has been let in already,
// to the SDK.
func holds(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
	who, in := ctx.Value(whoKey{}).(holder)
	if !in {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: strconv.Itoa(who.number)}, nil
}

// serve answers one request of an agent that has been let in.
func (m *mcpTransport) serve(w http.ResponseWriter, r *http.Request, who holder) {
	if _, err := tools.Choose(r.URL.Query().Get("tools")); err != nil {
		writeError(w, http.StatusBadRequest, protocol.Errorf(protocol.InvalidParams, "tools: %w", err).With("parameter", "tools"))
		return
	}
	handler := m.handler
	if r.Header.Get("Mcp-Protocol-Version") >= statelessSince {
		handler = m.stateless
	}
	handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), whoKey{}, who)))
}

// server is the MCP server for a request, nil where nobody was let in.
func (m *mcpTransport) server(r *http.Request) *mcp.Server {
	who, in := r.Context().Value(whoKey{}).(holder)
	if !in {
		return nil
	}
	key := mcpKey{who, r.URL.Query().Get("tools")}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.servers[key]; s != nil {
		return s
	}
	chosen, err := tools.Choose(key.tools)
	if err != nil {
		return nil
	}
	agent := m.agents[who]
	if agent == nil {
		agent = &mcpAgent{caller: who.caller()}
		m.agents[who] = agent
	}
	s := tools.New(m.version, chosen, func(ctx context.Context, command string, params json.RawMessage) (json.RawMessage, *protocol.Error) {
		return m.do(ctx, agent, command, params)
	})
	// A client chooses its tools by words: how many servers it can make is bounded.
	if len(m.servers) < 64 {
		m.servers[key] = s
	}
	return s
}

// do runs one command as every transport does. ctx ends when the client cancels.
func (m *mcpTransport) do(ctx context.Context, agent *mcpAgent, method string, params json.RawMessage) (result json.RawMessage, err *protocol.Error) {
	living, cancel := context.WithCancelCause(m.dispatch.life)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(command.ErrCancelled) })()

	agent.mu.Lock()
	t, err := m.dispatch.prepare(agent.caller, method, params)
	agent.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t.run(living, func(r json.RawMessage, e *protocol.Error) { result, err = r, e })
	return result, err
}
