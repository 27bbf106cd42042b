package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/command"
)

// FuzzFrame hands one frame to a connection, as its reader does: it never
// panics, and it answers one valid JSON-RPC response, or nothing to a
// notification.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		"", "{", "null", "[]", `{}`, request(1, "ping", `{}`), request(1, "open", `{"url":"https://site.test/"}`), request(1, "open", `{"session":"x","timeout_ms":1}`),
		`{"jsonrpc":"2.0","method":"ping"}`, `{"jsonrpc":"2.0","id":"a\ud800","method":"ping"}`, `{"jsonrpc":"2.0","id":1e999,"method":"ping","params":[]}`,
		`{"jsonrpc":"2.0","id":null,"method":"cancel","params":{"id":1}}`, `{"id":1,"id":2}`, " {\t\"\\u0069d\" : [ {\"a\\\"]\":\"}\\\\\"} , -1.5e3 ] , \"method\":true\r,\"params\" : {} }\n", `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"events":["x"]}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"\\u2028\",\"method\":\"\xff\"}", `{"jsonrpc":"2.0","id":1,"method":"session_open","params":{"name":"..","name":"a"}}`,
	} {
		f.Add([]byte(seed))
	}
	s := fuzzServer(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		c := s.newSocket(holder{agent: "alice", role: RoleAgent}, peer{}, nil)
		c.out.take() // so that the answer stays there
		c.handle(frame, 0)
		end := time.AfterFunc(50*time.Millisecond, func() { c.stop(command.ErrCancelled) })
		c.jobs.Wait()
		end.Stop()
		c.stop(nil)

		checkSplit(t, frame)
		req, err := decodeRequest(frame)
		answers := c.out.frames
		if err == nil && req.ID == nil || err != nil && req.ID == nil {
			if len(answers) != 0 {
				t.Fatalf("a notification was answered: %s", answers)
			}
			return
		}
		if len(answers) != 1 {
			t.Fatalf("%d answers: %s", len(answers), answers)
		}
		var got struct {
			JSONRPC string
			ID      json.RawMessage
			Result  json.RawMessage
			Error   *struct {
				Code    int
				Message string
				Data    struct{ Code, Next string }
			}
		}
		d := json.NewDecoder(bytes.NewReader(answers[0]))
		d.DisallowUnknownFields()
		e := d.Decode(&got)
		if _, unknown := e.(*json.SyntaxError); unknown || !json.Valid(answers[0]) {
			t.Fatalf("%s: %v", answers[0], e)
		}
		if got.JSONRPC != "2.0" || !bytes.Equal(got.ID, req.ID) || (got.Result == nil) == (got.Error == nil) {
			t.Fatalf("%s", answers[0])
		}
		if got.Error != nil && (got.Error.Code >= 0 || got.Error.Message == "" || got.Error.Data.Code == "" || got.Error.Data.Next == "") {
			t.Fatalf("%s", answers[0])
		}
	})
}

// checkSplit holds split against encoding/json, which takes the last of two
// members of a name, as split does.
func checkSplit(t *testing.T, frame []byte) {
	frame = trimJSON(frame)
	if len(frame) == 0 || frame[0] != '{' || !json.Valid(frame) {
		return
	}
	got, _ := split(frame)
	var all map[string]json.RawMessage
	if err := json.Unmarshal(frame, &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jsonrpc", "id", "method", "params"} {
		if !bytes.Equal(got[name], all[name]) {
			t.Fatalf("%s of %s: got %s, want %s", name, frame, got[name], all[name])
		}
	}
}

// FuzzHTTPBody posts a body to a command: it never panics, and the answer is
// one JSON object with a status that fits.
func FuzzHTTPBody(f *testing.F) {
	for _, seed := range []string{"", " ", "{", "null", "[]", "{}", `{"url":"https://site.test/"}`, `{"session":1}`, `{"a":1}x`, "{\"a\":\"\xff\"}", `{"timeout_ms":1e400}`} {
		f.Add("application/json", []byte(seed))
	}
	f.Add("text/plain", []byte("{}"))
	f.Add("application/json; charset", []byte("{}"))
	s := fuzzServer(f)
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9333}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(addr)), 50*time.Millisecond)
		defer cancel()
		ctx = withConnection(ctx, &connection{all: s.connections, admitted: true})
		r := httptest.NewRequest("POST", "http://127.0.0.1:9333/v1/open", bytes.NewReader(body)).WithContext(ctx)
		r.Header["Authorization"] = []string{"Bearer " + aliceToken}
		r.Header["Content-Type"] = []string{contentType}
		w := httptest.NewRecorder()
		s.route(w, r)
		var got map[string]json.RawMessage
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v", w.Body, err)
		}
		var e errorBody
		json.Unmarshal(w.Body.Bytes(), &e)
		if e.Error.Code == "" != (w.Code == 200) || e.Error.Code != "" && e.Error.Code.Row().HTTP != w.Code {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if len(s.runtime.Sessions.List("alice")) > 0 {
			for _, i := range s.runtime.Sessions.List("alice") {
				s.runtime.Sessions.Close(context.Background(), "alice", i.Session)
			}
		}
	})
}

func fuzzServer(f *testing.F) *Server {
	s, err := New(testConfig(), testTokens, testRuntime(newSite(), io.Discard), testSources)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Shutdown(context.Background()) })
	return s
}
