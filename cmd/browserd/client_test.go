package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

// The client stays in the session that its first command opened, and hands
// back what the daemon answered, errors with their code.
func TestClientStaysInItsSession(t *testing.T) {
	type seen struct{ Path, Token, Type, Body string }
	var got []seen
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, seen{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body)})
		w.Header().Set("Browserd-Session", "s_1")
		if r.URL.Path == "/v1/click" {
			w.WriteHeader(http.StatusConflict)
			io.WriteString(w, `{"error":{"code":"stale_ref","message":"@e1 is gone","retryable":false,"next":"take a snapshot","details":{"ref":"@e1"}}}`)
			return
		}
		io.WriteString(w, `{"ok":true}`+"\n")
	}))
	defer daemon.Close()
	c := &client{endpoint: endpoint{base: daemon.URL}, token: "secret"}

	if raw, err := c.call(t.Context(), "open", map[string]any{"url": "http://a.test/"}); err != nil || string(raw) != `{"ok":true}` {
		t.Errorf("open: %s, %v", raw, err)
	}
	_, err := c.call(t.Context(), "click", json.RawMessage(`{"ref":"@e1"}`))
	var e *protocol.Error
	if !errors.As(err, &e) {
		t.Fatalf("click: %v", err)
	}
	want := &protocol.Error{Code: "stale_ref", Message: "@e1 is gone", Next: "take a snapshot", Details: map[string]any{"ref": "@e1"}}
	if d := cmp.Diff(want, e); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if _, err := c.call(t.Context(), "snapshot", map[string]any{"session": "s_other"}); err != nil {
		t.Error(err)
	}
	if _, err := c.call(t.Context(), "ping", nil); err != nil {
		t.Error(err)
	}
	for _, params := range []string{`[1]`, `"x"`, `{"ref":"@e1","ref":"@e2"}`, `{"session":null}`, `{"session":""}`, `null`} {
		if _, err := c.call(t.Context(), "read", json.RawMessage(params)); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff([]seen{
		{"/v1/open", "Bearer secret", "application/json", `{"url":"http://a.test/"}`},
		{"/v1/click", "Bearer secret", "application/json", `{"ref":"@e1","session":"s_1"}`},
		{"/v1/snapshot", "Bearer secret", "application/json", `{"session":"s_other"}`},
		{"/v1/ping", "Bearer secret", "application/json", `{"session":"s_1"}`},
		// What is wrong goes as it is, for the daemon to say so.
		{"/v1/read", "Bearer secret", "application/json", `[1]`},
		{"/v1/read", "Bearer secret", "application/json", `"x"`},
		{"/v1/read", "Bearer secret", "application/json", `{"ref":"@e1","ref":"@e2","session":"s_1"}`},
		{"/v1/read", "Bearer secret", "application/json", `{"session":"s_1"}`},
		{"/v1/read", "Bearer secret", "application/json", `{"session":"s_1"}`},
		{"/v1/read", "Bearer secret", "application/json", `{"session":"s_1"}`},
	}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// An MCP client whose session was closed or has expired begins another with open; many at
// once begin one. Any other command is the error. A session that it names itself stays named.
func TestBridgeBeginsAnotherSession(t *testing.T) {
	var mu sync.Mutex
	opened := 0
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var params struct{ Session string }
		json.NewDecoder(r.Body).Decode(&params)
		mu.Lock()
		defer mu.Unlock()
		live := fmt.Sprintf("s_%d", opened)
		switch params.Session {
		case live:
		case "":
			opened++
			live = fmt.Sprintf("s_%d", opened)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"error":{"code":"session_not_found","message":"there is no session","details":{"session":%q}}}`, params.Session)
			return
		}
		w.Header().Set("Browserd-Session", live)
		fmt.Fprintf(w, `{"session":%q}`, live)
	}))
	defer daemon.Close()
	b := &bridge{client: &client{endpoint: endpoint{base: daemon.URL}, session: "s_closed"}}

	if _, err := b.do(t.Context(), "read", nil); err == nil || err.Code != protocol.SessionNotFound || opened != 0 {
		t.Errorf("read: %v, %d sessions were opened", err, opened)
	}
	b.client.use("s_closed")
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if result, err := b.do(t.Context(), "open", nil); err != nil || string(result) != `{"session":"s_1"}` {
				t.Errorf("open: %s, %v", result, err)
			}
		})
	}
	calls.Wait()
	if _, err := b.do(t.Context(), "read", json.RawMessage(`{"session":"s_other"}`)); err == nil || err.Code != protocol.SessionNotFound {
		t.Errorf("another session: %v", err)
	}
	if own := b.client.own(); own != "s_1" || opened != 1 {
		t.Errorf("%d sessions were opened, and the last is %q", opened, own)
	}
}

// Arguments that are null, as some clients send them, are none.
func TestBridgeTakesNoArguments(t *testing.T) {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"body":%s}`, body)
	}))
	defer daemon.Close()
	b := &bridge{client: &client{endpoint: endpoint{base: daemon.URL}}}
	for _, arguments := range []string{"", "null", "{}"} {
		if result, err := b.do(t.Context(), "status", json.RawMessage(arguments)); err != nil || string(result) != `{"body":{}}` {
			t.Errorf("%q: %s, %v", arguments, result, err)
		}
	}
}

// Where the session that another command opened meanwhile has gone as well, a
// command opens one itself.
func TestBridgeFindsWhatAnotherOpenedGone(t *testing.T) {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var params struct{ Session string }
		json.NewDecoder(r.Body).Decode(&params)
		if params.Session == "s_gone" {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"error":{"code":"session_not_found","message":"there is no session","details":{"session":"s_gone"}}}`)
			return
		}
		w.Header().Set("Browserd-Session", "s_1")
		io.WriteString(w, `{"session":"s_1"}`)
	}))
	defer daemon.Close()
	b := &bridge{client: &client{endpoint: endpoint{base: daemon.URL}}}

	b.first.Lock() // as the other command does
	answered := make(chan error)
	go func() {
		_, err := b.do(t.Context(), "open", nil)
		if err != nil {
			answered <- err
		}
		close(answered)
	}()
	for stacks := make([]byte, 1<<20); !bytes.Contains(stacks, []byte(".(*bridge).once(")); runtime.Stack(stacks, true) {
		runtime.Gosched() // until it waits for that one
	}
	b.client.use("s_gone")
	b.first.Unlock()
	if err := <-answered; err != nil || b.client.own() != "s_1" {
		t.Errorf("%v in %q", err, b.client.own())
	}
}

// What is no browserd is said to be none.
func TestClientMeetsSomethingElse(t *testing.T) {
	for _, body := range []string{"404 page not found", `{}`, `{"error":"no such page"}`} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, body)
		}))
		_, err := (&client{endpoint: endpoint{base: other.URL}}).call(t.Context(), "ping", nil)
		other.Close()
		if err == nil || err.Error() != "ping: HTTP 404, and no browserd's answer" {
			t.Errorf("%s: got %v", body, err)
		}
	}
}
