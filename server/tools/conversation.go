package tools

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// conversations are the conversations of one server's clients. Each MCP session is one, and all requests
// without a session (MCP 2026-07-28, and standard input) together are one. Any goroutine may call its methods.
type conversations struct {
	mu   sync.Mutex
	list map[string]*conversation // by the id of the MCP session; "" for those without
}

// conversation records what the agents behind one connection do, to warn them if there are several: MCP does
// not tell them apart.
type conversation struct {
	mu       sync.Mutex
	running  map[string]int  // number of running commands that queue, by session; "" is the conversation's own session
	acting   map[string]int  // the same for those that change something
	named    map[string]bool // sessions that calls have named
	pages    map[string]*pageRefs
	reported ReportedState
	asked    map[string]string // by session that waits for a person: linkID of the link that the client was asked to open
}

// pageRefs are the refs of one session that the conversation's answers have shown.
type pageRefs struct {
	shown map[string]bool // shown since the last open; at most maxShown
	left  map[string]bool // shown before the last open, and not again since
	turns bool            // a command has used one of left, so several agents take turns in the session
}

// maxShown is how many refs of one page are remembered.
const maxShown = 5000

var refShown = regexp.MustCompile(`@e[0-9]+`)

// rememberRefs records the refs of an answer. It reports whether the answer is that of an open, in a session in
// which several agents take turns.
func (c *conversation) rememberRefs(cmd *command.Command, session string, result json.RawMessage) (turns bool) {
	if cmd.Is(command.NoSession) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pages[session]
	if p == nil {
		if len(c.pages) >= maxNamed {
			return false
		}
		p = &pageRefs{shown: map[string]bool{}}
		c.pages[session] = p
	}
	if cmd == actions.Open {
		p.left, p.shown, turns = p.shown, map[string]bool{}, p.turns
	}
	for _, ref := range refShown.FindAllString(string(result), -1) {
		if len(p.shown) < maxShown {
			p.shown[strings.Clone(ref)] = true // a substring would keep the whole answer
		}
		delete(p.left, ref)
	}
	return turns
}

// leftRef returns the ref of a failed command that is from the page before the last open, if there is one. An
// agent that opens a page acts on that page, so the last open was probably another agent's.
func (c *conversation) leftRef(session string, arguments json.RawMessage) (ref string, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pages[session]
	if p == nil {
		return "", false
	}
	for _, ref := range refShown.FindAllString(string(arguments), -1) {
		if p.left[ref] {
			p.turns = true
			return ref, true
		}
	}
	return "", false
}

// of returns the conversation of an MCP session. It is forgotten when the session ends.
func (c *conversations) of(s *mcp.ServerSession) *conversation {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := s.ID()
	one := c.list[id]
	if one == nil {
		one = &conversation{running: map[string]int{}, acting: map[string]int{}, named: map[string]bool{}, pages: map[string]*pageRefs{}}
		c.list[id] = one
		if id != "" {
			go func() {
				s.Wait()
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.list, id)
			}()
		}
	}
	return one
}

// maxNamed is how many sessions a conversation records.
const maxNamed = 100

// begin records that a command runs, until end. concurrent says that another command runs in the same session
// at the same time, and that one of the two changes something. An agent waits for an answer before it acts, so
// the two commands are from two agents.
func (c *conversation) begin(cmd *command.Command, session string) (end func(), concurrent bool) {
	if cmd.Is(command.Unqueued) || cmd.Is(command.NoSession) || cmd.Is(command.OpensSession) {
		return func() {}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	acts := 1
	if cmd.Is(command.MCPReadOnly) {
		acts = 0
	}
	concurrent = c.acting[session] > 0 || acts > 0 && c.running[session] > 0
	c.running[session]++
	c.acting[session] += acts
	if session != "" && len(c.named) < maxNamed {
		c.named[session] = true
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[session]--
		c.acting[session] -= acts
		if c.running[session] == 0 {
			delete(c.running, session)
			delete(c.acting, session)
		}
	}, concurrent
}

// hasNamedSessions reports whether calls have named sessions. Then a call that names none may have been meant
// for one of them.
func (c *conversation) hasNamedSessions() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.named) > 0
}

// Warnings for agents that share a connection.
const (
	warnConcurrent = "warning: another call worked in this session at the same time. Agents that work side by side each pass a session of their own: open with session NAME begins it."
	warnTurns      = "warning: a later open of this connection has left the page of %s. If that was another agent's, each of you passes a session of its own: open with session NAME begins it."
	noteTurns      = "note: agents take turns in this session. Each passes a session of its own: open with session NAME begins it."
	warnUnnamed    = "note: this call named no session, and others of this connection did. Pass the session that your open answered with."
)

// sessionArgument returns the session that a call's arguments name.
func sessionArgument(arguments json.RawMessage) string {
	var a struct {
		Session string `json:"session"`
	}
	json.Unmarshal(arguments, &a)
	return a.Session
}

// run runs a command. If it names a session that does not exist, and is one with which an agent's work begins
// (command.BeginsSession), run opens the session first.
func run(ctx context.Context, do Do, conversation string, cmd *command.Command, arguments json.RawMessage) (json.RawMessage, *protocol.Error) {
	result, err := do(ctx, conversation, cmd.Name, arguments)
	session := sessionArgument(arguments)
	if err == nil || session == "" || !cmd.Is(command.BeginsSession) || err.Code != protocol.SessionNotFound || err.Details["ended_at"] != nil {
		return result, err
	}
	opening, wrong := json.Marshal(map[string]string{"session": session})
	if wrong != nil {
		return result, err
	}
	_, refused := do(ctx, conversation, actions.SessionOpen.Name, opening)
	result, err = do(ctx, conversation, cmd.Name, arguments)
	if refused != nil && err != nil && err.Code == protocol.SessionNotFound {
		return nil, refused
	}
	return result, err
}
