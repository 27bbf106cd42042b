package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
	"github.com/gorilla/websocket"
)

// wire is a connection below the client: it sends what no client would.
type wire struct {
	t    *testing.T
	conn *websocket.Conn
}

func dialWire(t *testing.T, d *testdaemon.Daemon, more http.Header) (wire, *http.Response, error) {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer " + d.Token}}
	for k, v := range more {
		header[k] = v
	}
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), d.WS(), header)
	if err == nil {
		t.Cleanup(func() { conn.Close() })
	}
	return wire{t, conn}, resp, err
}

// reply is an answer as it stands on the wire.
type reply struct {
	JSONRPC string             `json:"jsonrpc"`
	ID      json.RawMessage    `json:"id"`
	Method  string             `json:"method"`
	Result  json.RawMessage    `json:"result"`
	Error   *protocol.RPCError `json:"error"`
}

// ask sends one text frame and reads the next answer; events are passed over.
func (w wire) ask(frame string) (reply, error) {
	w.t.Helper()
	if err := w.conn.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		return reply{}, err
	}
	for {
		w.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		var r reply
		if err := w.conn.ReadJSON(&r); err != nil {
			return r, err
		}
		if r.Method == "" {
			return r, nil
		}
	}
}

// Whatever a client sends, it gets the right code and a next step, and the
// connection and its session go on.
func TestBadInput(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	pages := newPageServer(t)
	pages.serve("/page", page("page", "<h1>Still here</h1><button>Go</button>"), "")
	w, _, err := dialWire(t, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := w.ask(`{"jsonrpc":"2.0","id":1,"method":"open","params":{"url":"` + pages.URL + `/page"}}`); err != nil || r.Error != nil {
		t.Fatalf("open: %+v, %v", r.Error, err)
	}
	closed := closedSession(t, w, pages.URL+"/page")

	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`
	}
	tests := []struct {
		name, frame string
		want        protocol.Code // empty: any but internal
		says        string        // in the message: the thing that is wrong
	}{
		{"not JSON", `{`, protocol.ParseError, ""},
		{"not JSON, text", `open http://example.com`, protocol.ParseError, ""},
		{"an empty frame", ``, protocol.ParseError, ""},
		{"two values", `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, protocol.ParseError, ""},
		{"a string", `"ping"`, protocol.InvalidRequest, ""},
		{"null", `null`, protocol.InvalidRequest, ""},
		{"an empty batch", `[]`, protocol.InvalidRequest, ""},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, protocol.InvalidRequest, ""},
		{"another version", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, protocol.InvalidRequest, ""},
		{"no version", `{"id":7,"method":"ping"}`, protocol.InvalidRequest, ""},
		{"no method", `{"jsonrpc":"2.0","id":7}`, protocol.InvalidRequest, ""},
		{"method is a number", `{"jsonrpc":"2.0","id":7,"method":3}`, protocol.InvalidRequest, ""},
		{"id is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, protocol.InvalidRequest, ""},
		{"params are an array", request("click", `["@e1"]`), protocol.InvalidParams, ""},
		{"params are a string", request("click", `"@e1"`), protocol.InvalidParams, ""},
		{"an unknown command", request("clik", `{}`), protocol.UnknownCommand, "clik"},
		{"a command in capitals", request("CLICK", `{}`), protocol.UnknownCommand, "CLICK"},
		{"an unknown parameter", request("snapshot", `{"bogus":1}`), protocol.InvalidParams, "bogus"},
		{"a ref that is a number", request("click", `{"ref":7}`), protocol.InvalidParams, "ref"},
		{"a ref that is no ref", request("click", `{"ref":"button"}`), protocol.InvalidParams, "button"},
		{"a ref with more behind it", request("click", `{"ref":"@e1 or so"}`), protocol.InvalidParams, "ref"},
		{"a ref below one", request("click", `{"ref":"@e0"}`), "", "@e0"},
		{"a ref beyond numbers", request("click", `{"ref":"@e99999999999999999999999"}`), "", "@e9999"},
		{"no ref", request("click", `{}`), protocol.InvalidParams, "ref"},
		{"no url", request("open", `{}`), protocol.InvalidParams, "url"},
		{"an unknown value", request("click", `{"ref":"@e1","button":"fourth"}`), protocol.InvalidParams, "fourth"},
		{"a count of none", request("click", `{"ref":"@e1","count":-1}`), protocol.InvalidParams, "count"},
		{"text that is a number", request("type", `{"ref":"@e1","text":5}`), protocol.InvalidParams, "text"},
		{"after nothing that is a ref", request("snapshot", `{"after":"junk"}`), protocol.InvalidParams, "after"},
		{"a timeout of nothing", request("ping", `{"timeout_ms":-5}`), protocol.InvalidParams, "timeout_ms"},
		{"a timeout too long", request("ping", `{"timeout_ms":3600000}`), protocol.InvalidParams, "timeout_ms"},
		{"a budget of nothing", request("snapshot", `{"max_chars":-1}`), protocol.InvalidParams, "max_chars"},
		{"an unknown key", request("press", `{"key":"NotARealKey"}`), protocol.InvalidParams, "NotARealKey"},
		{"a ref never given out", request("click", `{"ref":"@e999999"}`), protocol.UnknownRef, "@e999999"},
		{"an unknown session", request("snapshot", `{"session":"s_none"}`), protocol.SessionNotFound, "s_none"},
		{"a ref of a closed session", request("click", `{"session":"`+closed.session+`","ref":"`+closed.ref+`"}`), protocol.SessionNotFound, closed.session},
		{"file:", request("open", `{"url":"file:///etc/passwd"}`), protocol.PolicyDenied, ""},
		{"javascript:", request("open", `{"url":"javascript:alert(1)"}`), protocol.PolicyDenied, ""},
		{"data:", request("open", `{"url":"data:text/html,x"}`), protocol.PolicyDenied, ""},
		{"chrome:", request("open", `{"url":"chrome://version"}`), protocol.PolicyDenied, ""},
		{"view-source:", request("open", `{"url":"view-source:http://127.0.0.1/"}`), protocol.PolicyDenied, ""},
		{"FILE:, with a tab", request("open", `{"url":"FI\tLE:///etc/passwd"}`), "", ""},
		{"a private address", request("open", `{"url":"http://127.0.0.2/"}`), protocol.PolicyDenied, "127.0.0.2"},
		{"a private address in disguise", request("open", `{"url":"http://0x7f.0.0.2/"}`), protocol.PolicyDenied, ""},
		{"not a URL", request("open", `{"url":"http://"}`), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := w.ask(tt.frame)
			if err != nil {
				t.Fatalf("the connection did not survive: %v", err)
			}
			if r.Error == nil {
				t.Fatalf("answered with success: %s", r.Result)
			}
			row := r.Error.Data.Code.Row()
			if tt.want != "" && r.Error.Data.Code != tt.want || r.Error.Data.Code == protocol.Internal {
				t.Errorf("code %s, want %s: %s", r.Error.Data.Code, tt.want, r.Error.Message)
			}
			if r.Error.Code != row.RPC {
				t.Errorf("error.code %d, and %s is %d", r.Error.Code, row.Code, row.RPC)
			}
			if r.Error.Data.Next == "" || r.Error.Message == "" {
				t.Errorf("no next step or no sentence: %+v", r.Error)
			}
			if !strings.Contains(r.Error.Message, tt.says) {
				t.Errorf("the message does not name %q: %s", tt.says, r.Error.Message)
			}
			if r, err := w.ask(request("ping", `{}`)); err != nil || r.Error != nil || string(r.ID) != "7" {
				t.Fatalf("ping afterwards: %+v, %v", r, err)
			}
		})
	}
	r, err := w.ask(request("snapshot", `{}`))
	if err != nil || r.Error != nil || !strings.Contains(string(r.Result), "Still here") {
		t.Errorf("the session afterwards: %s, %+v, %v", r.Result, r.Error, err)
	}
}

// closed is a session that was opened, used and closed, and a ref of it.
type closedRef struct{ session, ref string }

func closedSession(t *testing.T, w wire, url string) closedRef {
	t.Helper()
	ask := func(method string, p params) result {
		frame, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 2, "method": method, "params": p})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := w.ask(string(frame))
		if err != nil || answer.Error != nil {
			t.Fatalf("%s: %+v, %v", method, answer.Error, err)
		}
		var r result
		if err := json.Unmarshal(answer.Result, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	own := ask("status", params{}).Session
	session := ask("session_open", params{}).Session
	ask("open", params{"session": session, "url": url})
	v := view{*ask("snapshot", params{"session": session, "format": "json"}).Snapshot}
	ref := v.ref(t, "button", "Go")
	ask("session_close", params{"session": session})
	// The connection goes back to the session that it had.
	if own == "" {
		ask("open", params{"url": url})
	} else {
		ask("snapshot", params{"session": own})
	}
	return closedRef{session, ref}
}

// A frame over the limit is refused by its size, at the cost of its own
// connection at most.
func TestAnOversizedFrame(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	first, _, err := dialWire(t, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := dialWire(t, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	huge := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("a", 10<<20) + `"}}`
	r, err := second.ask(huge)
	var ended *websocket.CloseError
	switch {
	case errors.As(err, &ended):
		if ended.Code != websocket.CloseMessageTooBig {
			t.Errorf("closed with %d, want %d (RFC 6455 section 7.4.1)", ended.Code, websocket.CloseMessageTooBig)
		}
	case err != nil:
		t.Logf("the connection ended while the frame was being sent: %v", err)
	case r.Error == nil || r.Error.Data.Code != protocol.TooLarge:
		t.Errorf("answered %s, %+v; want too_large", r.Result, r.Error)
	}
	if r, err := first.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); err != nil || r.Error != nil {
		t.Errorf("the other connection: %+v, %v", r.Error, err)
	}
}

func TestWhoMayConnect(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	_, port, _ := strings.Cut(d.Addr, ":")
	tests := []struct {
		name   string
		header http.Header
		want   int
	}{
		{"with the token", nil, http.StatusSwitchingProtocols},
		{"without a token", http.Header{"Authorization": nil}, http.StatusUnauthorized},
		{"with another token", http.Header{"Authorization": {"Bearer x"}}, http.StatusUnauthorized},
		{"with another scheme", http.Header{"Authorization": {"Basic " + d.Token}}, http.StatusUnauthorized},
		{"from a page", http.Header{"Origin": {"https://evil.test"}}, http.StatusForbidden},
		{"from a local page", http.Header{"Origin": {"http://localhost:3000"}}, http.StatusForbidden},
		{"from a page without an origin", http.Header{"Origin": {"null"}}, http.StatusForbidden},
		{"under another name", http.Header{"Host": {"evil.test"}}, http.StatusForbidden},
		{"under another name with the port", http.Header{"Host": {"evil.test:" + port}}, http.StatusForbidden},
		{"under localhost", http.Header{"Host": {"localhost:" + port}}, http.StatusSwitchingProtocols},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, resp, err := dialWire(t, d, tt.header)
			if resp == nil {
				t.Fatalf("no answer: %v", err)
			}
			if resp.StatusCode != tt.want {
				t.Errorf("HTTP %d, want %d", resp.StatusCode, tt.want)
			}
		})
	}
	resp, err := http.Get(fmt.Sprintf("%s/v1/ws?token=%s", d.URL(), d.Token))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token in the query string: HTTP %d, want 401", resp.StatusCode)
	}
}
