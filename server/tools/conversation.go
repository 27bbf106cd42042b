package tools

import (
	"context"
	"encoding/json"
	"regexp"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// conversations are those of one server's clients: each MCP session is one, and all
// requests without a session (MCP 2026-07-28, and standard input) are one. Any goroutine
// may call its methods.
type conversations struct {
	mu   sync.Mutex
	list map[string]*conversation // by the id of the MCP session; "" for those without
}

// conversation is what is known of the agents behind one connection, to warn them where
// there are several: nothing in MCP tells them apart.
type conversation struct {
	mu      sync.Mutex
	running map[string]int  // by session, "" for the conversation's own: commands that are not unqueued
	acting  map[string]int  // those of them that change something
	named   map[string]bool // the sessions that calls named
	pages   map[string]*pageRefs
	told    Told
	asked   map[string]string // of each session that waits for a person, linkID of the link that the client was asked to open
}

// pageRefs are the refs of one session as the conversation's answers showed them.
type pageRefs struct {
	shown map[string]bool // since the last open; at most maxShown
	left  map[string]bool // before it, and not again since
	turns bool            // a command used one of left
}

// maxShown is how many refs of one page are remembered.
const maxShown = 5000

var refShown = regexp.MustCompile(`@e[0-9]+`)

// note remembers the refs of an answer. It reports whether that answer is of an open in a
// session in which agents take turns.
func (c *conversation) note(cmd *command.Command, session string, result json.RawMessage) (turns bool) {
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
			p.shown[ref] = true
		}
		delete(p.left, ref)
	}
	return turns
}

// left reports whether a command that found a ref stale used one of the page before the last
// open. An agent that has opened a page acts on that one, so the open was another agent's.
func (c *conversation) left(session string, arguments json.RawMessage) (ref string, is bool) {
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

// of returns the conversation of an MCP session, and forgets it when that ends.
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

// maxNamed is how many names of sessions a conversation remembers.
const maxNamed = 100

// begin notes that a command begins, until end. crossed says that it and another one run
// in the same session at the same time, and that one of the two changes something: an
// agent waits for its answer before it acts, so these are two.
func (c *conversation) begin(cmd *command.Command, session string) (end func(), crossed bool) {
	if cmd.Is(command.Unqueued) || cmd.Is(command.NoSession) || cmd.Is(command.OpensSession) {
		return func() {}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	acts := 1
	if cmd.Is(command.MCPReadOnly) {
		acts = 0
	}
	crossed = c.acting[session] > 0 || acts > 0 && c.running[session] > 0
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
	}, crossed
}

// shared reports whether calls named a session: then one that names none may have meant it.
func (c *conversation) shared() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.named) > 0
}

// Warnings for agents that share a connection.
const (
	warnCrossed = "warning: another call worked in this session at the same time. Agents that work side by side each pass a session of their own: open with session NAME begins it."
	warnTurns   = "warning: a later open of this connection has left the page of %s. If that was another agent's, each of you passes a session of its own: open with session NAME begins it."
	noteTurns   = "note: agents take turns in this session. Each passes a session of its own: open with session NAME begins it."
	warnUnnamed = "note: this call named no session, and others of this connection did. Pass the session that your open answered with."
)

// named returns the session that a call's arguments name.
func named(arguments json.RawMessage) string {
	var a struct {
		Session string `json:"session"`
	}
	json.Unmarshal(arguments, &a)
	return a.Session
}

// run runs a command, and opens the session that it names if there is none of that
// name and an agent's work begins with the command.
func run(ctx context.Context, do Do, conversation string, cmd *command.Command, arguments json.RawMessage) (json.RawMessage, *protocol.Error) {
	result, err := do(ctx, conversation, cmd.Name, arguments)
	session := named(arguments)
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
