package main

import (
	"regexp"
	"testing"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/protocol"
)

// What an error says to do next is said as it is typed: no JSON, no member of details, no
// command without the program's name before it.
func TestNextStepsAreTyped(t *testing.T) {
	for _, c := range []struct{ said, typed string }{
		{`answer it with dialog {accept}`, `answer it with browserd dialog (browserd help dialog has its flags)`},
		{`tab_select {"tab": "t2"}, then send the command again`, `browserd tab_select t2, then send the command again`},
		{`close a tab with tab_close`, `close a tab with browserd tab_close`},
		{`take a snapshot and use a ref from it`, `run browserd snapshot and use a ref from it`},
		{`use one of details.candidates, or take a snapshot`, `use one of candidates (below), or run browserd snapshot`},
		{`return less, or raise max_chars`, `return less, or raise --max_chars`},
		{`use source auto, or add jina to fallback.order`, `use --source auto, or add jina to fallback.order`},
		{`browserd doctor says why; source auto goes on without it`, `browserd doctor says why; --source auto goes on without it`},
		{`an operator has been asked (confirm c1): send the same command again`, `an operator has been asked (browserd confirm c1): send the same command again`},
		{`use check`, `use browserd check`},
		{`open the page with source chromium`, `open the page with --source chromium`},
		{`ask the operator to set fallback.jina_api_key, or use source http`, `ask the operator to set fallback.jina_api_key, or use --source http`},
		{`run browserd tab_close`, `run browserd tab_close`},
	} {
		if got := asTyped(c.said); got != c.typed {
			t.Errorf("%s: got %q, want %q", c.said, got, c.typed)
		}
	}
	// Where there is no session, how one is opened here, whatever a program would be told.
	none := protocol.Errorf(protocol.SessionNotFound, "click needs a session, and the request names none").Then("send open with a url, and pass the session that it answers with in every request")
	if got, want := nextStep(actions.Click, none, ""), "browserd open URL opens one, browserd session_list lists yours"; got != want {
		t.Errorf("%v: got %q, want %q", none, got, want)
	}
	// None of the codes' own steps is left as a program reads it. The first two and
	// unauthorized are for who writes messages.
	asMessage := regexp.MustCompile(`[{}]|details\.|take a snapshot|(^|[^-])\btimeout_ms`)
	word := regexp.MustCompile(`(browserd |--)?\b[a-z]+_[a-z_]+\b`)
	for _, row := range protocol.Codes[2:] {
		next := nextStep(actions.Click, &protocol.Error{Code: row.Code}, "")
		if asMessage.MatchString(next) {
			t.Errorf("%s: %s", row.Code, next)
		}
		for _, m := range word.FindAllStringSubmatch(next, -1) {
			if _, is := actions.All.Lookup(m[0]); is {
				t.Errorf("%s names %s as a message does: %s", row.Code, m[0], next)
			}
		}
	}
}
