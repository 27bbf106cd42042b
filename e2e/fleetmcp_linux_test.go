package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
