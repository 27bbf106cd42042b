package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/browserd/browserd/protocol"
)

// firstText is the first part of a result.
func firstText(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

// With the newer protocol an answer says where the session is if that is not what the client was
// told last, by whatever node, and only then.
func TestMCPSaysWhereAtAnyNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, nil)
	w := newPageServer(t)
	w.serve("/", page("Walk", `<h1>Walk</h1><button onclick="go('/a', 'A')">A</button><button onclick="go('/b', 'B')">B</button><a href="/prices.csv">Prices</a>
		<script>function go(to, name) { history.pushState(null, '', to); document.title = name }</script>`), "")
	w.mux.HandleFunc("/prices.csv", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Disposition", `attachment; filename="prices.csv"`)
		io.WriteString(rw, "bread,2\n")
	})
	token := f.nodes[0].Token
	at := []*mcp.ClientSession{mcpAt(t, f.nodes[0].Addr, token, eras[1]), mcpAt(t, f.nodes[1].Addr, token, eras[1])}
	toolResult(t, at[0], "open", map[string]any{"url": w.URL + "/"})
	toolResult(t, at[1], "open", map[string]any{"url": w.URL + "/", "session": "other"})
	url, title := w.URL+"/", ""
	for i, step := range []struct {
		node int
		name string // of the button
	}{{0, "A"}, {1, "B"}, {0, "A"}, {0, "A"}, {1, "A"}, {1, "B"}, {0, "B"}, {1, "A"}, {0, "B"}} {
		text := firstText(toolResult(t, at[step.node], "click", map[string]any{"ref": fmt.Sprintf("role=button[name=%q]", step.name)}))
		head, _, _ := strings.Cut(text, "\neffect: ")
		now := w.URL + "/" + strings.ToLower(step.name)
		if now != url && (!strings.Contains(head, fmt.Sprintf("url=%q", now)) || !strings.Contains(head, fmt.Sprintf("title=%q", step.name))) {
			t.Errorf("step %d: the client was told that the page is %s %q, it is %s %q by now, and node %d answers\n%s", i, url, title, now, step.name, step.node+1, text)
		}
		if now == url && (strings.Contains(head, "url=") || strings.Contains(head, "tab=")) {
			t.Errorf("step %d: the client knows that the page is %s, and node %d answers\n%s", i, url, step.node+1, text)
		}
		url, title = now, step.name
	}
	// The last answer was about that session, at that node, and the one before it about another at another.
	toolResult(t, at[1], "snapshot", map[string]any{"session": "other"})
	if text := firstText(toolResult(t, at[0], "click", map[string]any{"ref": `role=button[name="A"]`})); !strings.HasPrefix(text, "session=mcp-1") {
		t.Errorf("after an answer about another session:\n%s", text)
	}
	// What another client is answered, and what a link is read with, this client is not told.
	toolResult(t, at[1], "downloads", map[string]any{"allow": true})
	toolResult(t, at[0], "click", map[string]any{"ref": "role=link"})
	file := linked(t, toolResult(t, at[1], "downloads", map[string]any{"name": "prices.csv", "wait": true}))
	newAgent(t, f.nodes[2]).do("eval", params{"session": "mcp-1", "expression": `go("/b", "B")`})
	for _, s := range at {
		readResource(t, s, file)
	}
	if text := firstText(toolResult(t, at[0], "eval", map[string]any{"expression": "1"})); !strings.Contains(text, fmt.Sprintf("url=%q", w.URL+"/b")) {
		t.Errorf("after another client has moved the page:\n%s", text)
	}
}

// With the newer protocol calls that name no session are for the one that the token opened last by
// session_open, at whatever node each of them arrives, and never for another token's.
func TestMCPSessionAtAnyNode(t *testing.T) {
	t.Parallel()
	f := startFleet(t, map[string]string{"BROWSERD_AUTH__TOKENS": `[{"agent":"ann","token":"` + ann + `"},{"agent":"ann","token":"` + annAgain + `"}]`})
	w := newPageServer(t)
	w.serve("/", page("Count", `<h1>Count</h1><button onclick="this.textContent = Number(this.textContent) + 1">0</button>`), "")
	s, again := mcpAt(t, f.Addr, ann, eras[1]), mcpAt(t, f.Addr, annAgain, eras[1])
	counts := func(s *mcp.ClientSession) (session string) {
		t.Helper()
		session = sessionOf(t, firstText(toolResult(t, s, "open", map[string]any{"url": w.URL + "/"})))
		for range 4 { // a node more than there are
			toolResult(t, s, "click", map[string]any{"ref": "role=button"})
		}
		if text := firstText(toolResult(t, s, "snapshot", nil)); !strings.Contains(text, `"4"`) || sessionOf(t, text) != session {
			t.Errorf("after four clicks in %s:\n%s", session, text)
		}
		return session
	}
	if got := counts(s); got != "mcp-1" {
		t.Errorf("before session_open the session is %s", got)
	}
	toolResult(t, s, "session_open", map[string]any{"name": "shop", "locale": "de-DE"})
	if got := counts(s); got != "shop" {
		t.Errorf("after session_open shop the session is %s", got)
	}
	if text := firstText(toolResult(t, s, "eval", map[string]any{"expression": "navigator.language"})); !strings.Contains(text, "de-DE") {
		t.Errorf("its language is %s", text)
	}
	if got := counts(again); got != "mcp-2" {
		t.Errorf("the session of the agent's other token is %s", got)
	}
	// One that a call names with the parameter session is that call's alone.
	toolResult(t, s, "session_open", map[string]any{"session": "aside"})
	if got := counts(s); got != "shop" {
		t.Errorf("after a call for another session it is %s", got)
	}
	made := sessionOf(t, firstText(toolResult(t, s, "session_open", nil)))
	if got := counts(s); got != made {
		t.Errorf("after session_open it is %s, not %s", got, made)
	}
	// One that could not be opened leaves it as it is.
	if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "session_open", Arguments: map[string]any{"name": "shop"}}); err != nil || !r.IsError {
		t.Errorf("a name that is taken: %v %+v", err, r)
	}
	if got := counts(s); got != made {
		t.Errorf("after a session_open that failed it is %s, not %s", got, made)
	}
	toolResult(t, s, "batch", map[string]any{"commands": []map[string]any{{"method": "session_open", "params": map[string]any{"name": "last"}}}})
	if got := counts(s); got != "last" {
		t.Errorf("after a batch with session_open it is %s", got)
	}
	toolResult(t, s, "session_close", map[string]any{"session": "last"})
	for range 3 {
		if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "click", Arguments: map[string]any{"ref": "@e1"}}); err != nil || !r.IsError {
			t.Errorf("a click after its end: %v %+v", err, r)
		}
	}
	if got := counts(s); got == "shop" || got == made || got == "mcp-1" {
		t.Errorf("after its end the session is %s, which was another one before", got)
	}
	// Without the database it is not known which one is meant.
	f.pg.Freeze(t)
	defer f.pg.Thaw(t)
	if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "snapshot"}); err != nil || !r.IsError || !strings.HasPrefix(firstText(r), string(protocol.FleetUnavailable)+": ") {
		t.Errorf("while the database is frozen: %v %+v", err, r)
	}
}
