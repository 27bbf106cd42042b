//go:build linux

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// flooded starts a daemon without Chromium and without the race detector, so that its
// memory is its own.
func flooded(t *testing.T, env map[string]string) *testdaemon.Daemon {
	t.Helper()
	all := map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}
	for k, v := range env {
		all[k] = v
	}
	bin, err := testdaemon.PlainBinary()
	if err != nil {
		t.Fatal(err)
	}
	return testdaemon.Start(t, testdaemon.Options{Binary: bin, Env: all})
}

// memory is what the daemon's process holds now and held at most, in MiB.
func memory(t *testing.T, d *testdaemon.Daemon) (now, peak int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.PID))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		switch {
		case f[0] == "VmRSS:":
			now, _ = strconv.Atoi(f[1])
		case f[0] == "VmHWM:":
			peak, _ = strconv.Atoi(f[1])
		}
	}
	return now >> 10, peak >> 10
}

// asker sends requests on connections of its own, over TCP or the daemon's socket.
type asker struct {
	base, token string
	http        *http.Client
}

func overTCP(t *testing.T, d *testdaemon.Daemon) asker {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return asker{d.URL(), d.Token, &http.Client{Transport: tr, Timeout: 60 * time.Second}}
}

func overSocket(t *testing.T, d *testdaemon.Daemon) asker {
	path := socketOf(d)
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", path)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return asker{"http://localhost", d.Token, &http.Client{Transport: tr, Timeout: 60 * time.Second}}
}

func socketOf(d *testdaemon.Daemon) string {
	return filepath.Join(d.Home, "state", "browserd", d.Addr+".sock")
}

// answered is what came of one request; code is empty if it is not an error of browserd's.
type answered struct {
	status     int
	code       string
	next       string
	retryAfter string
	session    string
	err        error
}

func (a asker) send(method, path string, body []byte, header ...string) (got answered) {
	r, err := http.NewRequest(method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return answered{err: err}
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := a.http.Do(r)
	if err != nil {
		return answered{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var failed struct{ Error protocol.ErrorData }
	json.Unmarshal(text, &failed)
	return answered{resp.StatusCode, string(failed.Error.Code), failed.Error.Next, resp.Header.Get("Retry-After"), resp.Header.Get("Mcp-Session-Id"), err}
}

func (a asker) initialize(name string) answered { return a.send("POST", "/mcp", initialize(name)) }

// initialize is the request that begins an MCP session.
func initialize(name string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, name)
}

// tally counts answers by status and code.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (o *tally) add(a answered) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n == nil {
		o.n = map[string]int{}
	}
	what := strings.TrimSpace(fmt.Sprint(a.status, " ", a.code))
	if a.err != nil {
		what = "no answer: " + a.err.Error()
	}
	o.n[what]++
}

// refused is how many were told rate_limited.
func (o *tally) refused() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for what, count := range o.n {
		if strings.HasSuffix(what, "rate_limited") {
			n += count
		}
	}
	return n
}

// works holds every transport to answering a right token soon.
func works(t *testing.T, d *testdaemon.Daemon) {
	t.Helper()
	began := time.Now()
	for name, a := range map[string]asker{"TCP": overTCP(t, d), "the socket": overSocket(t, d)} {
		a.http.Timeout = 5 * time.Second
		if got := a.send("POST", "/v1/ping", []byte(`{}`)); got.status != 200 {
			t.Errorf("HTTP over %s: %+v, %v", name, got, got.err)
		}
		got := a.initialize("a client")
		if got.status != 200 {
			t.Errorf("MCP over %s: %+v", name, got)
		} else if end := a.send("DELETE", "/mcp", nil, "Mcp-Session-Id", got.session); end.status != 204 {
			t.Errorf("the end of an MCP session over %s: %+v", name, end)
		}
	}
	dialer := websocket.Dialer{HandshakeTimeout: 5 * time.Second}
	ws, resp, err := dialer.Dial(d.WS(), http.Header{"Authorization": {"Bearer " + d.Token}})
	if err != nil {
		t.Errorf("WebSocket: %v %v", resp, err)
	} else {
		ws.Close()
	}
	if out, err := d.Command("status"); err != nil {
		t.Errorf("the command line: %v %s", err, out)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("all transports together took %v", took)
	}
}

// Requests that begin an MCP session, with a great deal about the client in each: none is
// kept, and the sessions of small ones have a number.
func TestFloodOfMCPSessions(t *testing.T) {
	aboutOneProcess(t, "what its socket and its limits let in")
	d := flooded(t, nil)
	a := overTCP(t, d)
	before, _ := memory(t, d)
	name := initialize(strings.Repeat("n", 3_900_000))
	var large tally
	parallel(200, 8, func(int) {
		got := a.send("POST", "/mcp", name)
		if got.status == 413 && got.next == "" {
			t.Errorf("refused without a next step: %+v", got)
		}
		large.add(got)
	})
	now, peak := memory(t, d)
	t.Logf("200 initialize requests of 3.9 MB: %v; %d MiB before, %d after, %d at most", large.n, before, now, peak)
	if peak > 500 || large.n["413 too_large"] != 200 {
		t.Errorf("200 large ones: %v, and %d MiB at most", large.n, peak)
	}
	works(t, d)

	var small tally
	var mu sync.Mutex
	var open []string
	parallel(200, 8, func(int) {
		got := a.initialize("small")
		if got.status == 429 && (got.retryAfter == "" || got.next == "") {
			t.Errorf("refused without Retry-After or a next step: %+v", got)
		}
		small.add(got)
		if got.status == 200 {
			mu.Lock()
			open = append(open, got.session)
			mu.Unlock()
		}
	})
	t.Logf("200 small ones: %v", small.n)
	if small.n["200"] != 64 || small.n["429 rate_limited"] != 136 {
		t.Fatalf("200 small ones: %v, want 64 sessions and 136 refusals", small.n)
	}
	// One that is ended makes room for one, soon.
	if got := a.send("DELETE", "/mcp", nil, "Mcp-Session-Id", open[0]); got.status != 204 {
		t.Fatalf("the end of a session: %+v", got)
	}
	eventually(t, "a session after one has ended", func() bool { return a.initialize("small").status == 200 })
	if got := a.initialize("small"); got.status != 429 {
		t.Errorf("one more than that: %+v", got)
	}
}

// Connections that say nothing, over TCP and over the socket, keep nobody out, and are
// closed within seconds.
func TestFloodOfIdleConnections(t *testing.T) {
	aboutOneProcess(t, "what its socket and its limits let in")
	for _, network := range []string{"tcp", "unix"} {
		for what, said := range map[string]string{
			"silent": "",
			"slow":   "POST /v1/ping HTTP/1.1\r\nHost: ",
			"probes": "GET /healthz HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n",
		} {
			t.Run(network+" "+what, func(t *testing.T) {
				t.Parallel()
				d := flooded(t, nil)
				_, port, _ := net.SplitHostPort(d.Addr)
				address := d.Addr
				if network == "unix" {
					address = socketOf(d)
				}
				var conns []net.Conn
				for range 300 {
					c, err := net.Dial(network, address)
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					io.WriteString(c, strings.ReplaceAll(said, "PORT", port))
					conns = append(conns, c)
				}
				began := time.Now()
				works(t, d)
				took := time.Since(began)
				open, worst := 0, 15*time.Second
				for _, c := range conns {
					c.SetReadDeadline(began.Add(worst))
					if _, err := io.Copy(io.Discard, c); err != nil && os.IsTimeout(err) {
						open++
					}
				}
				now, _ := memory(t, d)
				t.Logf("300 connections: all transports answered in %v; the last was closed after %v; %d MiB", took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), now)
				if open > 0 {
					t.Errorf("%d of 300 are open after %v", open, worst)
				}
			})
		}
	}
}

// Whoever sends wrong tokens locks nobody out.
func TestFloodOfWrongTokens(t *testing.T) {
	aboutOneProcess(t, "what its socket and its limits let in")
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			d := flooded(t, nil)
			right := overTCP(t, d)
			if network == "unix" {
				right = overSocket(t, d)
			}
			wrong := right
			var got tally
			for i := range 105 {
				wrong.token = fmt.Sprintf("wrong-token-%016d", i)
				a := wrong.send("POST", "/v1/ping", []byte(`{}`))
				if a.status == 429 && (a.retryAfter == "" || a.next == "") {
					t.Errorf("refused without Retry-After or a next step: %+v", a)
				}
				got.add(a)
			}
			t.Logf("105 wrong tokens: %v", got.n)
			if got.n["401 unauthorized"]+got.n["429 rate_limited"] != 105 || got.n["429 rate_limited"] == 0 {
				t.Errorf("wrong tokens: %v", got.n)
			}
			works(t, d)
		})
	}
}

// Large requests that wait for a session's turn, over a WebSocket and over HTTP: what is
// too much is refused, the rest is answered.
func TestFloodOfQueuedRequests(t *testing.T) {
	const n, size = 160, 3_900_000
	const fits = (64 << 20) / size // server.limits.queued_bytes_per_token
	text := strings.Repeat("x", size)
	for _, transport := range []string{"WebSocket", "HTTP", "WebSocket in pieces"} {
		t.Run(transport, func(t *testing.T) {
			let := make(chan struct{})
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/hold" {
					select {
					case <-let:
					case <-r.Context().Done():
					}
				}
				io.WriteString(w, "<!doctype html><title>x</title><input>")
			}))
			defer site.Close()
			// A client with 160 connections on a machine that is busy may be too slow to show a
			// token on each in the usual five seconds.
			d := flooded(t, map[string]string{"BROWSERD_SERVER__LIMITS__AUTH_TIMEOUT": "60s"})
			a := newAgent(t, d)
			for i := range 4 { // a session each for forty
				a.do("session_open", params{"name": fmt.Sprint("s", i), "source": "http"})
				if _, err := a.c.Send("open", params{"session": fmt.Sprint("s", i), "url": site.URL + "/hold"}); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "four sessions that are busy", func() bool {
				out, err := d.Command("status", "--json")
				return err == nil && strings.Contains(out, "s3")
			})
			before, _ := memory(t, d)
			var bodies [4][]byte // one a session
			for i := range bodies {
				bodies[i] = fmt.Appendf(nil, `{"session":"s%d","ref":"@e1","timeout_ms":60000,"text":"%s"}`, i, text)
			}
			var got tally
			done := make(chan struct{})
			switch transport {
			case "HTTP":
				h := overTCP(t, d)
				go func() {
					defer close(done)
					parallel(n, n, func(i int) {
						a := h.send("POST", "/v1/type", bodies[i%4])
						if a.code == "rate_limited" && (a.retryAfter == "" || a.next == "") {
							t.Errorf("refused without Retry-After or a next step: %+v", a)
						}
						got.add(a)
					})
				}()
			default:
				ws, _, err := websocket.DefaultDialer.Dial(d.WS(), http.Header{"Authorization": {"Bearer " + d.Token}})
				if err != nil {
					t.Fatal(err)
				}
				defer ws.Close()
				piece := 8 << 20
				if transport == "WebSocket in pieces" {
					piece = 4 << 10
				}
				go func() {
					for i := range n {
						if sendMasked(ws.NetConn(), piece, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"type","params":%s}`, i, bodies[i%4])) != nil {
							return
						}
					}
				}()
				go func() {
					defer close(done)
					seen := map[int]bool{}
					for len(seen) < n {
						_, frame, err := ws.ReadMessage()
						if err != nil {
							t.Errorf("after %d answers: %v", len(seen), err)
							return
						}
						var m struct {
							ID    *int
							Error *struct{ Data protocol.ErrorData }
						}
						if json.Unmarshal(frame, &m); m.ID == nil {
							continue // hello
						}
						if seen[*m.ID] {
							t.Errorf("two answers to %d", *m.ID)
						}
						seen[*m.ID] = true
						out := answered{status: 200}
						if m.Error != nil {
							out = answered{code: string(m.Error.Data.Code)}
							if out.code == "rate_limited" && (m.Error.Data.Next == "" || m.Error.Data.Details["retry_after_s"] == nil) {
								t.Errorf("refused without a next step: %+v", m.Error.Data)
							}
						}
						got.add(out)
					}
				}()
			}
			eventually(t, "all that is too much to be refused", func() bool { return got.refused() >= n-fits })
			works(t, d)
			held, peak := memory(t, d)
			close(let)
			<-done
			t.Logf("%d requests of 3.9 MB: %v; %d MiB before, %d while they waited, %d at most", n, got.n, before, held, peak)
			// One that is being read over a WebSocket may count beside those that wait.
			if answered := n - got.refused(); peak > 400 || answered < fits-1 || got.n["200"] != answered {
				t.Errorf("%v, and %d MiB at most; want %d or one less answered, the others refused, and 400 MiB", got.n, peak, fits)
			}
			works(t, d)
		})
	}
}

// sendMasked sends a WebSocket message in frames of so many bytes. All are masked with
// zeroes, which costs the client nothing.
func sendMasked(conn io.Writer, piece int, message []byte) error {
	w := bufio.NewWriterSize(conn, 1<<16)
	for at := 0; at < len(message); at += piece {
		part := message[at:min(at+piece, len(message))]
		first := byte(0) // continuation (RFC 6455 section 5.2)
		if at == 0 {
			first = websocket.TextMessage
		}
		if at+piece >= len(message) {
			first |= 0x80
		}
		w.Write(binary.BigEndian.AppendUint64([]byte{first, 0x80 | 127}, uint64(len(part))))
		w.Write([]byte{0, 0, 0, 0})
		w.Write(part)
	}
	return w.Flush()
}

// parallel calls do for 0 to n-1, so many at a time.
func parallel(n, atOnce int, do func(i int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		all.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// eventually waits until something holds for which there is no event.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(120 * time.Second); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited 120 s for %s", what)
		}
	}
}
