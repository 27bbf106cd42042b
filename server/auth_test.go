package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A token is told from others by what it is, and not by its place in auth.tokens, which may differ from node to node.
func TestATokenHasItsIDInAnyOrder(t *testing.T) {
	a, b, c := Token{Agent: "a", Token: aliceToken}, Token{Agent: "b", Token: bobToken, Role: RoleOperator}, Token{Agent: "b", Token: opsToken, Role: RoleOperator}
	ids := func(tokens ...Token) map[string]string {
		of := map[string]string{}
		for i, h := range newKeyring(tokens).holders {
			of[tokens[i].Token] = h.caller().TokenID
		}
		return of
	}
	one, two := ids(a, b, c), ids(c, a, b)
	for token, id := range one {
		if id == "" || id != two[token] {
			t.Errorf("a token is %q, and %q in another order", id, two[token])
		}
	}
	if one[bobToken] == one[opsToken] || one[aliceToken] == one[bobToken] {
		t.Errorf("two tokens have one ID: %v", one)
	}
}

// A node of an older version leaves the ID of the token out. The client of the token goes on with its conversation all the
// same: updating a fleet node by node ends none. An operator with several tokens may have been another of them.
func TestWhomAnOlderNodeNames(t *testing.T) {
	alice, one, two := Token{Agent: "a", Token: aliceToken}, Token{Agent: "b", Token: bobToken, Role: RoleOperator}, Token{Agent: "b", Token: opsToken, Role: RoleOperator}
	k := newKeyring([]Token{alice, one})
	for _, h := range k.holders {
		older := h
		older.id = ""
		if got := k.withID(older); got != h {
			t.Errorf("%+v became %+v", h, got)
		}
	}
	k = newKeyring([]Token{alice, one, two})
	for _, h := range []holder{{"b", RoleOperator, "", 2, ""}, {"a", RoleAgent, "", 2, ""}, {"c", RoleAgent, "", 1, ""}, {"a", RoleAgent, "", 1, "theirs"}} {
		if got := k.withID(h); got != h {
			t.Errorf("%+v became %+v", h, got)
		}
	}

	d := start(t, nil)
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	header := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	status, begun, text := d.do(t, "POST", "/mcp", body, append(header, "Authorization", "Bearer "+aliceToken)...)
	if status != http.StatusOK {
		t.Fatal(status, text)
	}
	h := d.keys.holders[0]
	from := forwardedRequest{Remote: "127.0.0.1:1", Agent: h.agent, Role: h.role, Autonomy: h.autonomy, Number: h.number}
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	for _, f := range [][]string{header[:2], header[2:], {sessionHeader, begun.Get(sessionHeader)}} {
		r.Header.Set(f[0], f[1])
	}
	w := httptest.NewRecorder()
	d.serveForwarded(w, r, from)
	if w.Code != http.StatusOK {
		t.Errorf("a conversation, by a node of an older version: %d %s", w.Code, cut(w.Body.String()))
	}
}
