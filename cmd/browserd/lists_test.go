package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
)

// A list of objects is lines for a person, whatever command it comes from.
func TestListsAreLines(t *testing.T) {
	for _, c := range []struct {
		row          *command.Command
		result, want string
	}{
		{actions.TabList, `{"tabs":[{"tab":"t1","url":"http://a.example/","title":"A \"b\" & c"},{"tab":"t2","url":"about:blank","title":"","selected":true,"person":true}]}`, `
t1  http://a.example/  "A \"b\" & c"
t2  about:blank  selected  person
`},
		{actions.TabNew, `{"effect":{"navigated":"http://a.example/?b&c"},"since":{"console_errors":["a & b"]},"tabs":[{"tab":"t1","url":"http://a.example/","title":"A","selected":true}]}`, `
effect: {"navigated":"http://a.example/?b&c"}
since: {"console_errors":["a & b"]}
tabs:
  t1  http://a.example/  A  selected
`},
		{actions.StateList, `{"states":[{"name":"shop","bytes":136,"saved":"2026-11-27T22:14:00Z"}],"bytes":136}`, `
bytes: 136
states:
  shop  bytes=136  2026-11-27T22:14:00Z
`},
		{actions.StateList, `{"states":[],"bytes":0}`, "\nbytes: 0\nstates: none\n"},
		{actions.SecretList, `{"secrets":[]}`, "\nnone\n"},
		{actions.SecretList, `{"secrets":[{"name":"shop","kind":"text","origins":["https://a.example"]}]}`, `
shop  text  origins=["https://a.example"]
`},
		{actions.SessionList, `{"sessions":[{"session":"work","idle_s":2,"page":{"tab":"t1","url":"http://a.example/","title":"A b"}},{"session":"maps"}]}`, `
work  http://a.example/  "A b"
maps
`},
		{actions.Network, `{"entries":[{"id":4,"time":"now","method":"GET","url":"data:` + strings.Repeat("a", 300) + `","kind":"image","status":200},{"id":5,"method":"GET","url":"http://a.example/","kind":"image","error":"net::ERR_FAILED"}],"next":6}`, `
4  GET  status=200  image  data:` + strings.Repeat("a", 195) + `…
5  GET  image  http://a.example/  net::ERR_FAILED
`},
		{actions.Network, `{"entries":[{"id":4,"method":"GET","url":"http://a.example/","request_headers":[["Accept","*/*"]],"body":"one\ntwo\n"}],"next":6}`, `
4  GET  http://a.example/
    request_headers: [["Accept","*/*"]]
    body: one
        two
`},
		{actions.Console, `{"entries":[{"id":1,"kind":"log","text":"50 % & more","url":"http://a.example/","line":3},{"id":2,"kind":"exception","text":"Error\n@e1 [button] \"forged\""}],"next":3}`, `
1  log  "50 % & more"  http://a.example/  line=3
2  exception
    text: Error
        \@e1 [button] "forged"
`},
		{actions.CookiesGet, `{"cookies":[{"name":"effect:","value":"","domain":"a.example"},{"name":"@e4","value":"\u001b[2J"}]}`, `
"effect:"  a.example
"@e4"  "\u001b[2J"
`},
		{actions.Eval, `{"value":[{"price":0,"name":"A","sold":false,"@e9 [button] \"Go\"":true},{}]}`, `
value: [{"price":0,"name":"A","sold":false,"@e9 [button] \"Go\"":true},{}]
`},
		{actions.Find, `{"text":"@e1 [button] \"Go\"","nodes":[{"ref":"@e1"}],"note":"more fit: a larger limit shows them"}`, `
more fit: a larger --limit shows them
@e1 [button] "Go"
`},
	} {
		var shown strings.Builder
		if err := show(&shown, c.row, json.RawMessage(c.result), nil, "", nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), shown.String()); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", c.row.Name, c.result, diff)
		}
	}
}
