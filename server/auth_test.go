package server

import "testing"

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
