package e2e_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
	"github.com/gorilla/websocket"
)

const wireToken = "wire-token-0123456789abcdef"

// framePeer is the daemon's end of a client's connections, frame by frame: a daemon cannot be asked
// to answer late, in pieces or out of order, nor to break RFC 6455.
type framePeer struct {
	*testing.T
	url   string
	conns chan *websocket.Conn
	conn  *websocket.Conn
	pongs []string // payloads
}

func newFramePeer(t *testing.T) *framePeer {
	w := &framePeer{T: t, conns: make(chan *websocket.Conn, 1)} // a client has one at a time
	upgrader := websocket.Upgrader{Subprotocols: []string{"browserd.v1"}}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == protocol.ProofPath {
			proof := protocol.Proof{Nonce: strings.Repeat("d", 64)}
			proof.Proofs = []string{protocol.ProofOf(sha256.Sum256([]byte(wireToken)), r.Host, r.FormValue("nonce"), proof.Nonce)}
			json.NewEncoder(rw).Encode(proof)
		} else if conn, err := upgrader.Upgrade(rw, r, nil); err != nil || r.Header.Get("Authorization") != "Bearer "+wireToken {
			t.Errorf("upgrade: %v", err)
		} else {
			w.conns <- conn
		}
	}))
	t.Cleanup(s.Close)
	w.url = "ws" + strings.TrimPrefix(s.URL, "http") + "/v1/ws"
	return w
}

// accept takes the next connection.
func (w *framePeer) accept() {
	w.Helper()
	select {
	case w.conn = <-w.conns:
	case <-time.After(30 * time.Second):
		w.Fatal("the client does not connect")
	}
	conn := w.conn
	w.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(60 * time.Second))
	conn.SetPongHandler(func(payload string) error {
		w.pongs = append(w.pongs, payload)
		return nil
	})
}

// request is what a client sends.
type request struct {
	ID     json.RawMessage
	Method string
	Params map[string]any
}

func (w *framePeer) request(method string) (r request) {
	w.Helper()
	if err := w.conn.ReadJSON(&r); err != nil || r.Method != method {
		w.Fatalf("%s: got %+v, %v", method, r, err)
	}
	return r
}

func (w *framePeer) answer(r request, result any) {
	w.conn.WriteJSON(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
}

// raw sends bytes as they are, in place of a frame.
func (w *framePeer) raw(b ...byte) { w.conn.NetConn().Write(b) }

func (w *framePeer) event(fields map[string]any) {
	fields["session"] = "s_1"
	w.conn.WriteJSON(map[string]any{"jsonrpc": "2.0", "method": "event", "params": fields})
}

// What each client does with frames, lost connections, commands that it gives up, its own
// deadline, and events.
func TestEveryClientOnTheWire(t *testing.T) {
	t.Parallel()
	for name, connect := range clientsAt {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFramePeer(t)
			call := connect(t, w.url, wireToken)
			w.accept()
			said := func(method string, p params) string {
				t.Helper()
				result, e := call(method, p)
				if e != nil {
					t.Fatalf("%s: %+v", method, e)
				}
				return string(result)
			}
			sent := func(method string, p params) request {
				t.Helper()
				said("+"+method, p)
				return w.request(method)
			}
			is := func(want string) {
				t.Helper()
				if got := said("-", nil); got != want {
					t.Fatalf("the answer is %.200s, not %.200s", got, want)
				}
			}

			// A message in three frames with a ping between them, the second empty.
			r := sent("read", nil)
			text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"session":"s_1","content":"ä"}}`, r.ID)
			half := strings.Index(text, "ä") + 1 // in the middle of the letter
			w.raw(append([]byte{0x01, byte(half)}, text[:half]...)...)
			w.raw(0x89, 3, 'o', 'n', 'e')
			w.raw(0x00, 0)
			w.raw(append([]byte{0x80, byte(len(text) - half)}, text[half:]...)...)
			if got := said("-", nil); !strings.Contains(got, `"ä"`) && !strings.Contains(got, `"\u00e4"`) {
				t.Fatalf("a message in three frames is %s", got)
			}

			// Lengths in one byte, two and eight, in both directions.
			for _, n := range []int{1, 125, 126, 65535, 65536, 1 << 20} {
				long := strings.Repeat("x", n)
				r := sent("help", params{"command": long})
				if r.Params["command"] != long {
					t.Fatalf("%d characters came as %d", n, len(fmt.Sprint(r.Params["command"])))
				}
				w.answer(r, map[string]any{"text": long})
				if got := said("-", nil); !strings.Contains(got, `"`+long+`"`) {
					t.Fatalf("%d characters came back as %d", n, len(got))
				}
			}
			if len(w.pongs) != 1 || w.pongs[0] != "one" {
				t.Errorf("the answers to a ping are %q", w.pongs)
			}

			// Answers belong to ids, not to the order.
			first, second := sent("ping", nil), sent("ping", nil)
			w.answer(second, "second")
			w.answer(first, "first")
			is(`"second"`)
			is(`"first"`)

			// What is given up is cancelled, once, and its answer does no harm.
			r = sent("wait", params{"ms": 30000})
			if result, e := call("!", nil); e == nil || e.Code != "" {
				t.Fatalf("a command that was given up has the result %s, %+v", result, e)
			}
			if c := w.request("cancel"); fmt.Sprint(c.Params["id"]) != string(r.ID) {
				t.Fatalf("wait has the id %s, cancelled is %v", r.ID, c.Params)
			}
			w.answer(r, "late")
			w.answer(sent("ping", nil), "pong")
			is(`"pong"`)

			// A daemon always answers by timeout_ms and a second. (Go: by its context.)
			if name != "go" {
				r := sent("wait", params{"ms": 1, "timeout_ms": 1})
				if result, e := call("-", nil); e == nil || !strings.Contains(e.Message, "no answer within") {
					t.Fatalf("without an answer: %s, %+v", result, e)
				}
				if c := w.request("cancel"); fmt.Sprint(c.Params["id"]) != string(r.ID) {
					t.Fatalf("wait has the id %s, cancelled is %v", r.ID, c.Params)
				}
			}

			// Events come in order, each once, before they are asked for and after.
			w.event(map[string]any{"type": "download", "name": "a.csv"})
			w.event(map[string]any{"type": "dialog", "message": "Delete?"})
			if e := said("?download", nil); !strings.Contains(e, "a.csv") {
				t.Fatal(e)
			}
			if e := said("?dialog", nil); !strings.Contains(e, "Delete?") {
				t.Fatal(e)
			}
			for i := range 1100 { // 1024 are kept
				w.event(map[string]any{"type": "console_error", "text": fmt.Sprint("line ", i, ".")})
			}
			w.answer(sent("ping", nil), "pong")
			is(`"pong"`)
			if e := said("?console_error", nil); !strings.Contains(e, "line 76.") {
				t.Fatalf("the oldest event that is kept is %s", e)
			}

			// A connection that ends: what is sent is not sent again, and the next command goes on
			// in the session on another one.
			for _, end := range []struct {
				how, says string
				frame     []byte
			}{
				{"a close frame", "restarting", append([]byte{0x88, 12, 0x03, 0xf4}, "restarting"...)},
				{"the end within a frame", "", []byte{0x81, 100, '{'}},
				{"a reserved bit", "", []byte{0xc1, 2, '{', '}'}},
				{"a frame with a mask", "", []byte{0x81, 0x82, 0, 0, 0, 0, '{', '}'}},
				{"2^62 bytes", "", []byte{0x81, 127, 0x40, 0, 0, 0, 0, 0, 0, 0}},
			} {
				sent("ping", nil)
				w.raw(end.frame...)
				if strings.Contains(end.how, "end") {
					w.conn.Close()
				}
				if result, e := call("-", nil); e == nil || e.Code != "" || !strings.Contains(e.Message, end.says) {
					t.Fatalf("after %s: %s, %+v", end.how, result, e)
				}
				if _, e := call("?dialog", nil); e == nil {
					t.Fatalf("after %s the events go on", end.how)
				}
				said("+read", nil)
				w.accept()
				r := w.request("read")
				if r.Params["session"] != "s_1" {
					t.Fatalf("after %s, the next command is %+v", end.how, r)
				}
				w.answer(r, map[string]any{"session": "s_1"})
				said("-", nil)
			}
		})
	}
}

// Without an address, a client finds the daemon of its user by the socket and the token of
// the state directory.
func TestEveryClientFindsItsDaemon(t *testing.T) {
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	var socket string
	filepath.WalkDir(d.Home, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".sock") {
			socket = path
		}
		return nil
	})
	home := t.TempDir()
	dir := filepath.Join(home, "browserd")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(socket, filepath.Join(dir, "127.0.0.1:9333.sock")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(d.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", home)
	for name, connect := range clientsAt {
		t.Run(name, func(t *testing.T) {
			if result, e := connect(t, "", "")("ping", nil); e != nil || !strings.Contains(string(result), `"pong"`) {
				t.Errorf("%s, %+v", result, e)
			}
		})
	}
}
