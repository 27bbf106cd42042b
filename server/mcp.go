package server

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server/tools"
	"github.com/browserd/browserd/telemetry"
)

// mcpSessionTimeout is how long an MCP session (of a client that uses them) is kept between two requests.
// Browsing sessions do not depend on it.
const mcpSessionTimeout = 15 * time.Minute

// mcpTransport is /mcp: the streamable HTTP transport of the Model Context Protocol.
// Each agent has handlers and a browsing session of its own.
type mcpTransport struct {
	dispatch   *dispatcher
	tunnel     *tunnel // to the other nodes, to fetch files to which their results link
	options    mcp.StreamableHTTPOptions
	sessions   *quota
	clientInfo int64          // bytes of a request that begins a session
	ending     sync.WaitGroup // of the goroutines that wait for the ends of sessions

	mu     sync.Mutex
	agents map[holder]*mcpAgent
}

// mcpAgent is one agent's side of the transport. An MCP session belongs to one of its
// handlers, so that the session's id is of no use to another agent.
type mcpAgent struct {
	dispatch *dispatcher
	// handler serves clients that begin with initialize. stateless serves clients of statelessSince and later,
	// whose requests do not depend on each other.
	handler, stateless http.Handler

	files tools.Files // files to which its results link

	mu sync.Mutex // guards the fields below, and is held while a caller prepares a command
	// callers are the conversations, by the id of their MCP session. Without a fleet, "" is for all requests
	// without an MCP session. Each conversation has its own browsing session, in which its tools work by
	// default.
	callers map[string]*command.Caller
	caller  func() *command.Caller
	servers map[string]*toolServer // by the query of the endpoint (tools=all), made when first asked for
}

// toolServer is an agent's MCP server for one choice of tools. mcpAgent.mu guards users.
type toolServer struct {
	*mcp.Server
	users int // requests that are being served, and sessions
}

func newMCPTransport(d *dispatcher, cfg Config, sessions *quota, t *tunnel) *mcpTransport {
	return &mcpTransport{dispatch: d, tunnel: t, agents: map[holder]*mcpAgent{}, sessions: sessions, clientInfo: cfg.Limits.ClientInfo, options: mcp.StreamableHTTPOptions{
		SessionTimeout:      mcpSessionTimeout,
		MaxRequestBodyBytes: cfg.ReadLimit,
		// The gate has compared Host and Origin with more than the SDK knows.
		DisableLocalhostProtection:   true,
		PropagateRequestCancellation: true,
	}}
}

// statelessSince is the first version of the protocol without sessions. Its clients name it in every request.
// Other clients need a session to cancel a call or to get its progress.
const statelessSince = "2026-07-28"

// serve answers one request of an agent that has been let in. size is that of its body.
func (m *mcpTransport) serve(w http.ResponseWriter, r *http.Request, who holder, from peer, size int) {
	choice, err := toolChoice(r)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	agent := m.agent(who)
	server := agent.use(choiceKey(r), choice)
	defer agent.release(server)
	if r.Header.Get("Mcp-Protocol-Version") >= statelessSince {
		agent.stateless.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodPost || r.Header.Get(sessionHeader) != "" {
		agent.handler.ServeHTTP(w, r)
		return
	}
	// It begins a session.
	if int64(size) > m.clientInfo {
		writeError(w, protocol.TooLarge.Row().HTTP, protocol.Errorf(protocol.TooLarge, "the request that begins an MCP session has more than %d bytes", m.clientInfo).
			With("quota", "server.limits.client_info").With("limit", m.clientInfo).With("size", size).Then("say less in clientInfo and capabilities; other requests name their session in the header Mcp-Session-Id"))
		return
	}
	if err := m.sessions.take(from, 1); err != nil {
		writeError(w, m.sessions.status(err), err)
		return
	}
	agent.handler.ServeHTTP(w, r)
	m.await(agent, server, w.Header().Get(sessionHeader), from)
}

// toolChoice returns the choice of tools that a request's query makes.
func toolChoice(r *http.Request) (tools.Choice, *protocol.Error) {
	choice, err := tools.Choose(r.URL.Query().Get("tools"))
	if err != nil {
		return choice, protocol.Errorf(protocol.InvalidParams, "tools: %w", err).With("parameter", "tools")
	}
	switch word := r.URL.Query().Get("structured"); word {
	case "", "false":
	case "true":
		choice.Structured = true
	default:
		return choice, protocol.Errorf(protocol.InvalidParams, "structured: accepts true or false, not %q", protocol.Cut(word, 60)).With("parameter", "structured")
	}
	return choice, nil
}

// choiceKey tells requests apart that ask for different tools.
func choiceKey(r *http.Request) string {
	return r.URL.Query().Get("tools") + " " + r.URL.Query().Get("structured")
}

// sessionHeader names an MCP session (MCP 2025-06-18, session management).
const sessionHeader = "Mcp-Session-Id"

// await returns the MCP session to the quota when it has ended, which may be at once.
func (m *mcpTransport) await(agent *mcpAgent, server *toolServer, id string, from peer) {
	for session := range server.Sessions() {
		if id == "" || session.ID() != id {
			continue
		}
		agent.retain(server)
		m.ending.Go(func() {
			session.Wait()
			agent.forget(id)
			agent.release(server)
			m.sessions.give(from, 1)
		})
		return
	}
	m.sessions.give(from, 1)
}

// close ends all MCP sessions and waits until they have ended. Call it when no request is served any more.
func (m *mcpTransport) close() {
	m.mu.Lock()
	agents := slices.Collect(maps.Values(m.agents))
	m.mu.Unlock()
	for _, a := range agents {
		a.mu.Lock()
		servers := slices.Collect(maps.Values(a.servers))
		a.mu.Unlock()
		for _, server := range servers {
			for session := range server.Sessions() {
				session.Close()
			}
		}
	}
	m.ending.Wait()
}

// agent returns the mcpAgent of a token's holder, and makes it if there is none.
func (m *mcpTransport) agent(who holder) *mcpAgent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.agents[who]; a != nil {
		return a
	}
	a := &mcpAgent{dispatch: m.dispatch, caller: who.caller, callers: map[string]*command.Caller{}, servers: map[string]*toolServer{}}
	a.files.FetchFromPeer = func(ctx context.Context, node, uri string) (tools.File, bool) {
		return fetchFile(ctx, m.tunnel, who, node, uri)
	}
	a.files.Read = a.read
	o := m.options
	a.handler = mcp.NewStreamableHTTPHandler(a.server, &o)
	o.Stateless = true
	a.stateless = mcp.NewStreamableHTTPHandler(a.server, &o)
	m.agents[who] = a
	return a
}

// maxToolChoices limits the servers of one agent that are kept while unused. A client chooses its tools by a
// list of names, so it could ask for any number of servers.
const maxToolChoices = 16

// use returns the MCP server for a valid choice of tools. The server is kept until release.
func (a *mcpAgent) use(key string, choice tools.Choice) *toolServer {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.servers[key]
	if s == nil {
		s = &toolServer{Server: tools.New(a.dispatch.runtime.Version, idPrefix(a.dispatch.runtime.Fleet), choice, &a.files, a.do)}
		if len(a.servers) >= maxToolChoices {
			maps.DeleteFunc(a.servers, func(_ string, old *toolServer) bool { return old.users == 0 })
		}
		a.servers[key] = s
	}
	s.users++
	return s
}

func (a *mcpAgent) retain(s *toolServer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.users++
}

func (a *mcpAgent) release(s *toolServer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.users--
}

// server returns the MCP server for the tools that a request asks for, which serve uses.
func (a *mcpAgent) server(r *http.Request) *mcp.Server {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.servers[choiceKey(r)].Server
}

// forget drops the caller of an MCP session that has ended. Its browsing session ends
// when it has been idle.
func (a *mcpAgent) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if caller := a.callers[id]; caller != nil && a.dispatch.runtime.Fleet != nil {
		a.dispatch.runtime.Fleet.ClientGone(caller.ID())
	}
	delete(a.callers, id)
}

// do runs one command for a tool. ctx ends when the client cancels.
func (a *mcpAgent) do(ctx context.Context, conversation, method string, params json.RawMessage) (json.RawMessage, *protocol.Error) {
	caller, err := a.callerOf(ctx, conversation, method, params)
	if err != nil {
		return nil, err
	}
	result, err := a.run(ctx, caller, method, params)
	if own := caller.Session(); own != caller.Home && caller.Home != "" { // the command has opened another session
		if e := fleet.SetHome(context.WithoutCancel(ctx), a.dispatch.runtime.Fleet, caller.Agent, caller.Token, own); e != nil && err == nil {
			return nil, protocol.Errorf(protocol.FleetUnavailable, "session %q is open, and the fleet's database did not take down that calls without a name are for it", own).
				With("session", own).Then("name it in each call")
		}
	}
	return result, err
}

// read runs one command for the link to a file. The link names the file's session.
func (a *mcpAgent) read(ctx context.Context, _, method string, params json.RawMessage) (json.RawMessage, *protocol.Error) {
	caller := a.caller()
	caller.Stateless = true
	return a.run(ctx, caller, method, params)
}

// run runs one command as every transport does.
func (a *mcpAgent) run(ctx context.Context, caller *command.Caller, method string, params json.RawMessage) (result json.RawMessage, err *protocol.Error) {
	living, cancel := context.WithCancelCause(a.dispatch.life)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(command.ErrCancelled) })()
	a.mu.Lock()
	t, err := a.dispatch.prepare(caller, telemetry.ParentOf(ctx), method, params)
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t.run(living, func(r json.RawMessage, e *protocol.Error) { result, err = r, e })
	return result, err
}

// callerOf returns the caller of a request of a conversation. In a fleet, requests without an MCP session may
// reach any node, so each gets a caller of its own, and the database has the name of its session.
func (a *mcpAgent) callerOf(ctx context.Context, conversation, method string, params json.RawMessage) (*command.Caller, *protocol.Error) {
	node := a.dispatch.runtime.Fleet
	if conversation != "" || node == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		caller := a.callers[conversation]
		if caller == nil {
			caller = a.caller()
			caller.Shared = true
			a.callers[conversation] = caller
		}
		return caller, nil
	}
	caller := a.caller()
	caller.Shared, caller.Home = true, "mcp-"+strconv.Itoa(caller.Token)
	var of command.Common
	json.Unmarshal(params, &of) // the command reports what is wrong with them
	row, known := a.dispatch.runtime.Commands.Lookup(method)
	if of.Session != "" || !known || row.Is(command.NoSession) && row.Is(command.Unqueued) { // the command does not use the default session
		return caller, nil
	}
	home, err := fleet.Home(ctx, node, caller.Agent, caller.Token)
	if err != nil {
		return nil, protocol.Errorf(protocol.FleetUnavailable, "the fleet's database does not answer, which knows the session of calls that name none").
			Then("name the session in the call, or try again in a moment")
	}
	caller.Home = cmp.Or(home, caller.Home)
	return caller, nil
}
