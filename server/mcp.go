package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
)

// mcpSessionTimeout is how long the protocol's own session of an older client
// is kept between two requests. No browsing session hangs on it.
const mcpSessionTimeout = 15 * time.Minute

// mcpTransport is /mcp: the streamable HTTP transport of the Model Context Protocol.
// Each agent has handlers and a browsing session of its own.
type mcpTransport struct {
	dispatch *dispatcher
	options  mcp.StreamableHTTPOptions

	mu     sync.Mutex
	agents map[holder]*mcpAgent
}

// mcpAgent is one agent's side of the transport. An MCP session belongs to one of its
// handlers, so that the session's id is of no use to another agent.
type mcpAgent struct {
	dispatch *dispatcher
	// handler speaks with clients that begin with initialize; stateless with those
	// of statelessSince and later, whose every request stands for itself.
	handler, stateless http.Handler

	mu      sync.Mutex             // guards the fields below, and is held while caller prepares a command
	caller  *command.Caller        // whose own session its tools work in by default
	servers map[string]*mcp.Server // by the choice of tools (/mcp?tools=all), made when first asked for
}

func newMCPTransport(d *dispatcher, cfg Config) *mcpTransport {
	return &mcpTransport{dispatch: d, agents: map[holder]*mcpAgent{}, options: mcp.StreamableHTTPOptions{
		SessionTimeout:      mcpSessionTimeout,
		MaxRequestBodyBytes: cfg.ReadLimit,
		// The gate has compared Host and Origin with more than the SDK knows.
		DisableLocalhostProtection:   true,
		PropagateRequestCancellation: true,
	}}
}

// statelessSince is the version of the protocol that knows no sessions. Clients
// of it name it in every request; others need a session, without which nothing
// that they send can cancel a call or hear of its progress.
const statelessSince = "2026-07-28"

// serve answers one request of an agent that has been let in.
func (m *mcpTransport) serve(w http.ResponseWriter, r *http.Request, who holder) {
	if _, err := tools.Choose(r.URL.Query().Get("tools")); err != nil {
		writeError(w, http.StatusBadRequest, protocol.Errorf(protocol.InvalidParams, "tools: %w", err).With("parameter", "tools"))
		return
	}
	agent := m.agent(who)
	if r.Header.Get("Mcp-Protocol-Version") >= statelessSince {
		agent.stateless.ServeHTTP(w, r)
		return
	}
	agent.handler.ServeHTTP(w, r)
}

// agent returns the side of the transport that belongs to a token's holder.
func (m *mcpTransport) agent(who holder) *mcpAgent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.agents[who]; a != nil {
		return a
	}
	a := &mcpAgent{dispatch: m.dispatch, caller: who.caller(), servers: map[string]*mcp.Server{}}
	o := m.options
	a.handler = mcp.NewStreamableHTTPHandler(a.server, &o)
	o.Stateless = true
	a.stateless = mcp.NewStreamableHTTPHandler(a.server, &o)
	m.agents[who] = a
	return a
}

// maxToolChoices is how many servers of one agent are kept. A client chooses its tools by
// a list of names, so that it could ask for any number of them.
const maxToolChoices = 16

// server is the MCP server for the tools that a request asks for.
func (a *mcpAgent) server(r *http.Request) *mcp.Server {
	names := r.URL.Query().Get("tools")
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.servers[names]; s != nil {
		return s
	}
	chosen, err := tools.Choose(names)
	if err != nil {
		return nil
	}
	s := tools.New(a.dispatch.runtime.Version, chosen, a.do)
	if len(a.servers) < maxToolChoices {
		a.servers[names] = s
	}
	return s
}

// do runs one command as every transport does. ctx ends when the client cancels.
func (a *mcpAgent) do(ctx context.Context, method string, params json.RawMessage) (result json.RawMessage, err *protocol.Error) {
	living, cancel := context.WithCancelCause(a.dispatch.life)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(command.ErrCancelled) })()

	a.mu.Lock()
	t, err := a.dispatch.prepare(a.caller, method, params)
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t.run(living, func(r json.RawMessage, e *protocol.Error) { result, err = r, e })
	return result, err
}
