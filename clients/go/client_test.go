package browserd_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/protocol"
	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs one scripted peer: the client's rules are about the wire, and a
// daemon cannot be asked to answer out of order or to hang up half way.
func serve(t *testing.T, script func(*websocket.Conn)) string {
	t.Helper()
	upgrader := websocket.Upgrader{Subprotocols: []string{"browserd.v1"}}
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == protocol.ProofPath { // as a daemon with two tokens
			proof := protocol.Proof{Nonce: strings.Repeat("d", 64)}
			for _, token := range []string{"secret", "refused"} {
				proof.Proofs = append(proof.Proofs, protocol.ProofOf(sha256.Sum256([]byte(token)), r.Host, r.FormValue("nonce"), proof.Nonce))
			}
			json.NewEncoder(w).Encode(proof)
			return
		}
		defer close(ended)
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Errorf("upgrade: %v", err)
			return
		}
		defer conn.Close()
		script(conn)
	}))
	t.Cleanup(func() {
		<-ended
		server.Close()
	})
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

func dial(t *testing.T, url string) (context.Context, *client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	c, err := client.Dial(ctx, url, "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return ctx, c
}

func readRequest(t *testing.T, conn *websocket.Conn) protocol.Request {
	t.Helper()
	var r protocol.Request
	if err := conn.ReadJSON(&r); err != nil {
		t.Errorf("reading a request: %v", err)
	}
	return r
}

func TestAnswersAreMatchedByID(t *testing.T) {
	ctx, c := dial(t, serve(t, func(conn *websocket.Conn) {
		first, second := readRequest(t, conn), readRequest(t, conn)
		conn.WriteJSON(protocol.Response{JSONRPC: "2.0", ID: second.ID, Result: second.Method})
		conn.WriteJSON(protocol.Response{JSONRPC: "2.0", ID: first.ID, Result: first.Method})
		conn.ReadMessage()
	}))
	a, err := c.Send("snapshot", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := c.Call(ctx, "ping", map[string]any{}, &got); err != nil || got != "ping" {
		t.Errorf("second = %q, %v", got, err)
	}
	if err := a.Wait(ctx, &got); err != nil || got != "snapshot" {
		t.Errorf("first = %q, %v", got, err)
	}
}

func TestAnErrorKeepsItsCodeAndDetails(t *testing.T) {
	ctx, c := dial(t, serve(t, func(conn *websocket.Conn) {
		r := readRequest(t, conn)
		e := protocol.Errorf(protocol.NotActionable, "@e5 is covered").With("reason", "covered").Then("close it")
		conn.WriteJSON(protocol.Response{JSONRPC: "2.0", ID: r.ID, Error: e.RPC()})
		conn.ReadMessage()
	}))
	err := c.Call(ctx, "click", map[string]string{"ref": "@e5"}, nil)
	var got *protocol.Error
	if !errors.As(err, &got) {
		t.Fatalf("err = %v", err)
	}
	if got.Code != protocol.NotActionable || got.Details["reason"] != "covered" || got.Next != "close it" {
		t.Errorf("err = %+v", got)
	}
}

func TestEventsWaitUntilAskedFor(t *testing.T) {
	ctx, c := dial(t, serve(t, func(conn *websocket.Conn) {
		for _, typ := range []string{protocol.EventHello, protocol.EventDialog} {
			conn.WriteJSON(protocol.Notification{JSONRPC: "2.0", Method: "event", Params: protocol.Event{Type: typ, Session: "s_1"}})
		}
		r := readRequest(t, conn)
		conn.WriteJSON(protocol.Notification{JSONRPC: "2.0", Method: "event", Params: protocol.Event{Type: protocol.EventBrowserLost}})
		conn.WriteJSON(protocol.Response{JSONRPC: "2.0", ID: r.ID, Result: json.RawMessage(`{}`)})
		conn.ReadMessage()
	}))
	e, err := c.Event(ctx, client.OfType(protocol.EventDialog))
	if err != nil || e.Session != "s_1" {
		t.Fatalf("dialog = %+v, %v", e, err)
	}
	if err := c.Call(ctx, "ping", nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Event(ctx, client.OfType(protocol.EventBrowserLost)); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if e, err := c.Event(short, client.OfType(protocol.EventDialog)); err == nil {
		t.Errorf("the dialog event came twice: %+v", e)
	}
}

func TestALostConnectionEndsWhatIsPending(t *testing.T) {
	ctx, c := dial(t, serve(t, func(conn *websocket.Conn) { readRequest(t, conn) }))
	if err := c.Call(ctx, "wait", nil, nil); !errors.Is(err, client.ErrClosed) {
		t.Errorf("pending: %v", err)
	}
	if err := c.Call(ctx, "ping", nil, nil); err == nil {
		t.Error("a call after the end succeeded")
	}
}

func TestARefusedTokenNamesTheStatus(t *testing.T) {
	url := serve(t, func(*websocket.Conn) {})
	_, err := client.Dial(t.Context(), url, "refused")
	if err == nil || !strings.Contains(err.Error(), "HTTP 401") {
		t.Errorf("err = %v", err)
	}
}

// One that does not know the token does not get it.
func TestTheTokenWaitsForTheProof(t *testing.T) {
	sent := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent += r.Header.Get("Authorization")
		proof := protocol.Proof{Nonce: strings.Repeat("d", 64), Proofs: []string{"", r.FormValue("nonce")}}
		proof.Proofs = append(proof.Proofs, protocol.ProofOf(sha256.Sum256([]byte("secret")), "127.0.0.1:1", r.FormValue("nonce"), proof.Nonce))
		json.NewEncoder(w).Encode(proof)
	}))
	defer server.Close()
	_, err := client.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), "secret")
	if !errors.Is(err, client.ErrNotProved) || sent != "" {
		t.Errorf("err = %v, sent %q", err, sent)
	}
}

// A connection that does not know the session yet is told it with the first request, of which nothing else
// is changed.
func TestARequestNamesItsSessionAndStaysAsItIs(t *testing.T) {
	got := make(chan protocol.Request, 2)
	url := serve(t, func(conn *websocket.Conn) {
		for range 2 {
			r := readRequest(t, conn)
			got <- r
			conn.WriteJSON(protocol.Response{JSONRPC: "2.0", ID: r.ID, Result: map[string]any{}})
		}
		conn.ReadMessage()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := client.Connect(ctx, client.Options{URL: url, Token: "secret", Session: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, sent := range []any{map[string]any{"text": "a,}b"}, nil} {
		if err := c.Call(ctx, "type", sent, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`{"session":"shop","text":"a,}b"}`, `{"session":"shop"}`} {
		if r := <-got; string(r.Params) != want {
			t.Errorf("params %s, want %s", r.Params, want)
		}
	}
}
