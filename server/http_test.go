package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// post sends params to a command as alice and returns status and body.
func (d *daemon) post(t testing.TB, command, params string) (int, string) {
	t.Helper()
	status, _, body := d.do(t, "POST", "/v1/"+command, params, "Content-Type", "application/json", "Authorization", "Bearer "+aliceToken)
	return status, body
}

func (d *daemon) do(t testing.TB, method, path, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+d.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Error(err)
	}
	return a.StatusCode, a.Header, strings.TrimSuffix(string(text), "\n")
}

func TestHTTP(t *testing.T) {
	d := start(t, nil)
	const js = "application/json"
	for _, test := range []struct {
		name, method, path, contentType, body string
		status                                int
		want                                  string // the body's beginning
	}{
		{"params", "POST", "/v1/ping", js, `{}`, 200, `{"pong":true}`},
		{"with charset", "POST", "/v1/ping", js + "; charset=utf-8", `{}`, 200, `{"pong":true}`},
		{"no body, no type", "POST", "/v1/ping", "", ``, 200, `{"pong":true}`},
		{"empty body", "POST", "/v1/ping", js, ``, 200, `{"pong":true}`},
		{"white space", "POST", "/v1/ping", js, " \n", 200, `{"pong":true}`},
		{"as curl declares it", "POST", "/v1/ping", "application/x-www-form-urlencoded", `{}`, 200, `{"pong":true}`},
		{"as fetch declares it", "POST", "/v1/ping", "text/plain;charset=UTF-8", `{}`, 200, `{"pong":true}`},
		{"of no declared type", "POST", "/v1/ping", "", `{}`, 200, `{"pong":true}`},
		{"a form", "POST", "/v1/ping", "application/x-www-form-urlencoded", `a=1`, 400, `{"error":{"code":"parse_error"`},
		{"multipart", "POST", "/v1/ping", "multipart/form-data; boundary=x", "--x--", 400, `{"error":{"code":"parse_error"`},
		{"not JSON", "POST", "/v1/ping", js, `{`, 400, `{"error":{"code":"parse_error"`},
		{"not UTF-8", "POST", "/v1/ping", js, "{\"a\":\"\xff\"}", 400, `{"error":{"code":"parse_error","message":"the message is not UTF-8","retryable":false,"next":"send the params as one JSON object"}}`},
		{"trailing garbage", "POST", "/v1/ping", js, `{} {}`, 400, `{"error":{"code":"parse_error"`},
		{"array", "POST", "/v1/ping", js, `[]`, 400, `{"error":{"code":"invalid_params","message":"the body []: accepts a JSON object of the command's params"`},
		{"null", "POST", "/v1/ping", js, `null`, 400, `{"error":{"code":"invalid_params"`},
		{"deep", "POST", "/v1/ping", js, strings.Repeat(`{"a":`, 100000) + "1" + strings.Repeat("}", 100000), 400, `{"error":{"code":"parse_error"`},
		{"unknown parameter", "POST", "/v1/ping", js, `{"bogus":1}`, 400, `{"error":{"code":"invalid_params"`},
		{"too large", "POST", "/v1/ping", js, `{"a":"` + strings.Repeat("a", 4<<20) + `"}`, 413, `{"error":{"code":"too_large","message":"the body has more than 4194304 bytes","retryable":false,"next":"send less","details":{"limit":4194304,"size":4194312}}}`},
		{"much too large", "POST", "/v1/ping", js, strings.Repeat("a", 30<<20), 413, `{"error":{"code":"too_large"`},
		{"unknown command", "POST", "/v1/pign", js, `{}`, 404, `{"error":{"code":"unknown_command"`},
		{"unknown session", "POST", "/v1/open", js, `{"session":"s_none","url":"https://site.test/"}`, 404, `{"error":{"code":"session_not_found"`},
		{"cancel has no meaning here", "POST", "/v1/cancel", js, `{"id":1}`, 501, `{"error":{"code":"unsupported"`},
		{"subscribe neither", "POST", "/v1/subscribe", js, `{"events":[]}`, 501, `{"error":{"code":"unsupported"`},
		{"GET of a command", "GET", "/v1/ping", "", ``, 405, `{"error":{"code":"invalid_request","message":"/v1/ping accepts POST, not GET"`},
		{"OPTIONS", "OPTIONS", "/v1/ping", "", ``, 405, `{"error":{"code":"invalid_request"`},
		{"POST to the WebSocket", "POST", "/v1/ws", js, `{}`, 405, `{"error":{"code":"invalid_request"`},
		{"GET of the WebSocket", "GET", "/v1/ws", "", ``, 400, `{"error":{"code":"invalid_request","message":"this is the WebSocket endpoint`},
		{"the live view", "GET", "/", "", ``, 200, "<!doctype html>"},
		{"POST to the live view", "POST", "/", js, `{}`, 405, `{"error":{"code":"invalid_request","message":"/ accepts GET or HEAD, not POST"`},
		{"no such path", "GET", "/view", "", ``, 404, `{"error":{"code":"unknown_command","message":"there is nothing at \"/view\""`},
		{"no command", "POST", "/v1/", js, `{}`, 404, `{"error":{"code":"unknown_command"`},
		{"below a command", "POST", "/v1/ping/x", js, `{}`, 404, `{"error":{"code":"unknown_command"`},
		{"double slash", "POST", "//v1/ping", js, `{}`, 404, `{"error":{"code":"unknown_command"`},
		{"dots", "POST", "/v1/../v1/ping", js, `{}`, 404, `{"error":{"code":"unknown_command"`},
		{"health", "GET", "/healthz", "", ``, 200, "ok"},
		{"POST to health", "POST", "/healthz", js, `{}`, 405, `{"error":{"code":"invalid_request"`},
		{"ready", "GET", "/readyz", "", ``, 200, `{"ready":true,"sources":{"chromium":{"ok":true},"http":{"ok":true},"jina":{"ok":false,"why":"no key"}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := []string{"Authorization", "Bearer " + aliceToken}
			if test.contentType != "" {
				header = append(header, "Content-Type", test.contentType)
			}
			status, h, body := d.do(t, test.method, test.path, test.body, header...)
			if status != test.status || !strings.HasPrefix(body, test.want) {
				t.Errorf("got %d %s\nwant %d %s", status, cut(body), test.status, test.want)
			}
			for name := range h {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("header %s", name)
				}
			}
			if strings.HasPrefix(test.want, "{") && (h.Get("Content-Type") != "application/json" || !json.Valid([]byte(body))) {
				t.Errorf("%s: %s", h.Get("Content-Type"), cut(body))
			}
		})
	}
}

// Every code answers with its own status, and the whole error.
func TestHTTPStatus(t *testing.T) {
	d := start(t, nil)
	d.post(t, "session_open", `{"name":"one"}`)
	for _, row := range protocol.Codes {
		status, body := d.post(t, "wait", fmt.Sprintf(`{"session":"one","text":%q}`, row.Code))
		var got errorBody
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(body, err)
		}
		if status != row.HTTP || got.Error.Code != row.Code || got.Error.Retryable != row.Retryable || got.Error.Message == "" || got.Error.Next == "" {
			t.Errorf("%s: %d %s", row.Code, status, body)
		}
	}
}

// Every request is a connection of its own: the session that a command opened
// is used again by name.
func TestHTTPSession(t *testing.T) {
	d := start(t, nil)
	auth := []string{"Content-Type", "application/json", "Authorization", "Bearer " + aliceToken}
	_, h, body := d.do(t, "POST", "/v1/open", `{"url":"https://site.test/a"}`, auth...)
	name := h.Get("Browserd-Session")
	if !strings.HasPrefix(name, "s_") || !strings.Contains(body, `"session":"`+name+`"`) {
		t.Errorf("session %q, result %s", name, body)
	}
	_, h, _ = d.do(t, "POST", "/v1/open", `{"url":"https://site.test/b"}`, auth...)
	if h.Get("Browserd-Session") == name {
		t.Error("a second request without a session got the first one's")
	}
	status, h, body := d.do(t, "POST", "/v1/open", fmt.Sprintf(`{"session":%q,"url":"https://site.test/c"}`, name), auth...)
	if status != 200 || h.Get("Browserd-Session") != name || !strings.Contains(body, `"document":2`) {
		t.Errorf("by name: %d %s", status, body)
	}
}

// A command that opened a session and failed leaves none that nobody can find: where
// nothing was opened in it it is closed, else the error says its name.
func TestHTTPSessionOfAFailure(t *testing.T) {
	d := start(t, nil)
	auth := []string{"Content-Type", "application/json", "Authorization", "Bearer " + aliceToken}
	open := func() string {
		_, body := d.post(t, "session_list", "")
		return body
	}
	status, h, body := d.do(t, "POST", "/v1/wait", `{"text":"timeout"}`, auth...)
	if status != 404 || h.Get("Browserd-Session") != "" || !strings.Contains(body, "wait needs a session, and the request names none") {
		t.Errorf("without a session: %d %v %s", status, h, body)
	}
	status, h, body = d.do(t, "POST", "/v1/open", `{"url":"https://site.test/hold","timeout_ms":50}`, auth...)
	if status != 504 || h.Get("Browserd-Session") != "" || strings.Contains(body, `"session"`) {
		t.Errorf("nothing was opened: %d %v %s", status, h, body)
	}
	if got := open(); got != `{"sessions":[]}` {
		t.Errorf("left open: %s", got)
	}
	status, h, body = d.do(t, "POST", "/v1/open", `{"url":"https://site.test/fails"}`, auth...)
	name := h.Get("Browserd-Session")
	if status != 504 || name == "" || !strings.Contains(body, `"session":"`+name+`"`) {
		t.Errorf("with a page: %d %v %s", status, h, body)
	}
	if got := open(); !strings.Contains(got, name) {
		t.Errorf("%s is gone: %s", name, got)
	}
	if status, body = d.post(t, "wait", fmt.Sprintf(`{"session":%q,"text":"timeout"}`, name)); status != 504 || strings.Contains(body, `"session"`) {
		t.Errorf("by name: %d %s", status, body)
	}
	if got := open(); !strings.Contains(got, name) {
		t.Errorf("%s is gone: %s", name, got)
	}
}

// A client that goes away cancels its command.
func TestHTTPDisconnect(t *testing.T) {
	d := start(t, nil)
	conn, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"url":"https://site.test/hold"}`
	fmt.Fprintf(conn, "POST /v1/open HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", d.addr, aliceToken, len(body), body)
	d.site.lines(t, 1)
	conn.Close()
	if got := d.site.lines(t, 2)[1]; got != "end /hold: cancelled" {
		t.Errorf("the site saw %q", got)
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) { // nobody heard its session's name
		if _, body := d.post(t, "session_list", ""); body == `{"sessions":[]}` {
			break
		} else if time.Since(began) > 10*time.Second {
			t.Fatalf("left open: %s", body)
		}
	}
}

// A client that knows no HTTP manners gets no further than the headers.
func TestRawHTTP(t *testing.T) {
	d := start(t, nil)
	auth := "Authorization: Bearer " + aliceToken + "\r\n"
	host := "Host: " + d.addr + "\r\n"
	for _, test := range []struct {
		name, send string
		status     int
	}{
		{"two hosts", "POST /v1/ping HTTP/1.1\r\n" + host + host + auth + "\r\n", 400},
		{"no host", "POST /v1/ping HTTP/1.1\r\n" + auth + "\r\n", 400},
		{"empty host", "POST /v1/ping HTTP/1.1\r\nHost:\r\n" + auth + "\r\n", 400},
		{"HTTP/1.0 without host", "POST /v1/ping HTTP/1.0\r\n" + auth + "\r\n", 400},
		{"foreign host in the request line", "POST http://evil.test/v1/ping HTTP/1.1\r\n" + host + auth + "\r\n", 403},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: evil.test\r\n\r\n", 403},
		{"CONNECT", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", 403},
		{"two tokens", "POST /v1/ping HTTP/1.1\r\n" + host + auth + auth + "\r\n", 401},
		{"headers beyond 64 KiB", "POST /v1/ping HTTP/1.1\r\n" + host + auth + "X: " + strings.Repeat("a", 80<<10) + "\r\n\r\n", 431},
		{"length and chunks that disagree", "POST /v1/ping HTTP/1.1\r\n" + host + auth + "Content-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200},
		{"JSON instead of HTTP", request(1, "ping", `{}`) + "\r\n\r\n", 400},
		{"a body that ends early", "POST /v1/ping HTTP/1.1\r\n" + host + auth + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", d.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(10 * time.Second))
			io.WriteString(conn, test.send)
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if r.StatusCode != test.status {
				t.Errorf("%d, want %d", r.StatusCode, test.status)
			}
		})
	}
}

// A client that stops in the middle of a body has its answer all the same, at once
// if nobody wants the body, and its connection ends: whoever it is, and whatever it
// asks for.
func TestStalledBody(t *testing.T) {
	d := start(t, func(c *Config) { c.Limits.BodyTimeout = 200 * time.Millisecond })
	const token, mcp = "Authorization: Bearer " + aliceToken + "\r\n", "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	for _, test := range []struct {
		name, line, header string
		want               int
		says               string
	}{
		{"a command", "POST /v1/ping", token, 400, "the body ended early"},
		{"a command, without a token", "POST /v1/ping", "", 401, "unauthorized"},
		{"a command, with a wrong token", "POST /v1/ping", "Authorization: Bearer x\r\n", 401, "unauthorized"},
		{"a command, from a page", "POST /v1/ping", "Origin: https://evil.test\r\n", 403, "policy_denied"},
		{"a command by another method", "PUT /v1/ping", token, 405, "invalid_request"},
		{"nothing", "POST /nothing", token, 404, "unknown_command"},
		{"liveness", "GET /healthz", "", 200, "ok"},
		{"readiness", "GET /readyz", "", 200, "ready"},
		{"metrics", "GET /metrics", token, 200, "browserd_"},
		{"the WebSocket", "GET /v1/ws", token, 400, "invalid_request"},
		{"MCP", "POST /mcp", token + mcp, 400, "the body ended early"},
		{"MCP, with another choice of tools", "POST /mcp?tools=none", token + mcp, 400, ""},
		{"MCP, without what it must accept", "POST /mcp", token, 400, ""},
		{"MCP, listening", "GET /mcp", token + mcp, 400, "the body ended early"},
	} {
		for _, length := range []string{"Content-Length: 10\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"} {
			t.Run(test.name+", "+length[:7], func(t *testing.T) {
				conn, err := net.Dial("tcp", d.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(5 * time.Second))
				fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\n%s%s", test.line, d.addr, test.header, length)
				in := bufio.NewReader(conn)
				r, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(r.Body)
				_, err = in.ReadByte()
				if r.StatusCode != test.want || !strings.Contains(string(body), test.says) || err != io.EOF {
					t.Errorf("%d %s, then %v; want %d with %q, then the end", r.StatusCode, cut(string(body)), err, test.want, test.says)
				}
			})
		}
	}
}

// A client that is refused while it sends its body has the answer at once, and its
// connection is not reset while it sends the rest: a client that reads only when it has sent
// everything would lose the answer.
func TestRefusedWhileSending(t *testing.T) {
	d := start(t, func(c *Config) { c.Limits.ConnectionsPerToken = 2 })
	const size = 8 << 20 // more than the buffers between client and server hold
	const alice, bob = "Authorization: Bearer " + aliceToken + "\r\n", "Authorization: Bearer " + bobToken + "\r\n"
	d.connectAs(t, bobToken)
	d.connectAs(t, bobToken)
	alices := peer{token: 1, address: remoteNet("127.0.0.1:1")}
	for _, test := range []struct {
		name, line, header string
		length             int
		quota              int64 // of bytes of requests, taken before
		want               int
	}{
		{"without a token", "POST /v1/type", "", size, 0, 401},
		{"with a wrong token", "POST /v1/type", "Authorization: Bearer x\r\n", size, 0, 401},
		{"from a page", "POST /v1/type", "Origin: https://evil.test\r\n", size, 0, 403},
		{"one connection too many", "POST /v1/type", bob, size, 0, 429},
		{"by another method", "PUT /v1/type", alice, size, 0, 405},
		{"to nowhere", "POST /nothing", alice, size, 0, 404},
		{"to what is only read", "POST /healthz", "", size, 0, 405},
		{"too large", "POST /v1/type", alice, size, 0, 413},
		{"too large, over MCP", "POST /mcp", alice, size, 0, 413},
		{"one request too many", "POST /v1/type", alice, 4 << 20, 62 << 20, 429},
		{"one request too many, over MCP", "POST /mcp", alice, 4 << 20, 62 << 20, 429},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.quota > 0 {
				if err := d.queued.take(alices, test.quota); err != nil {
					t.Fatal(err)
				}
				defer d.queued.give(alices, test.quota)
			}
			conn, err := net.Dial("tcp", d.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(30 * time.Second))
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n", test.line, d.addr, test.header, test.length)
			in := bufio.NewReader(conn)
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal("no answer before the body was sent:", err)
			}
			if body, err := io.ReadAll(r.Body); err != nil || r.StatusCode != test.want {
				t.Errorf("%d %s %v, want %d", r.StatusCode, cut(string(body)), err, test.want)
			}
			if n, err := conn.Write(bytes.Repeat([]byte("x"), test.length)); err != nil {
				t.Errorf("after the answer, %d bytes of the body were sent, then: %v", n, err)
			}
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("after the body: %v, want the end of the connection", err)
			}
		})
	}
}

// A client that asks on and on and reads no answer is cut off, whoever it is; one whose
// command takes longer than that has its answer.
func TestAnswersThatNobodyReads(t *testing.T) {
	d := start(t, func(c *Config) { c.WriteTimeout = 300 * time.Millisecond })
	const token = "Authorization: Bearer " + aliceToken + "\r\n"
	for _, request := range []string{"GET /healthz", "GET /readyz", "GET /v1/ping", "GET /metrics\n" + token, "GET /nothing\n" + token} {
		t.Run(strings.Fields(request)[1], func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", d.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			line, header, _ := strings.Cut(request, "\n")
			many := []byte(strings.Repeat(line+" HTTP/1.1\r\nHost: "+d.addr+"\r\n"+header+"\r\n", 100))
			conn.SetDeadline(time.Now().Add(time.Minute)) // on a busy machine
			for err == nil {
				_, err = conn.Write(many)
			}
			if os.IsTimeout(err) {
				t.Error("the connection is held for a client that reads nothing")
			}
		})
	}
	if status, body := d.post(t, "open", `{"url":"/hold","timeout_ms":700}`); status != 504 {
		t.Errorf("a command of 700 ms: %d %s", status, body)
	}
}

// readyz is 503 if nothing works; liveness is another matter.
func TestNotReady(t *testing.T) {
	d := start(t, nil)
	d.sources = func() []Source { return []Source{{Name: "chromium", Why: "there is no Chromium on PATH"}} }
	status, _, body := d.do(t, "GET", "/readyz", "")
	if want := `{"ready":false,"why":"no source of pages works","sources":{"chromium":{"ok":false,"why":"there is no Chromium on PATH"}}}`; status != 503 || body != want {
		t.Errorf("got %d %s, want 503 %s", status, body, want)
	}
	if status, _, body := d.do(t, "GET", "/healthz", ""); status != 200 || body != "ok" {
		t.Errorf("healthz: %d %s", status, body)
	}
	d.sources = func() []Source { return []Source{{Name: "http", OK: true}} }
	d.dispatch.drain()
	status, _, body = d.do(t, "GET", "/readyz", "")
	if want := `{"ready":false,"why":"the daemon is shutting down","sources":{"http":{"ok":true}}}`; status != 503 || body != want {
		t.Errorf("got %d %s, want 503 %s", status, body, want)
	}
}

// What cannot be written as JSON is lost, and nothing else.
func TestEncodeError(t *testing.T) {
	e := protocol.Errorf(protocol.Timeout, "slow").With("f", func() {})
	for _, shape := range []any{e.RPC(), httpError(e)} {
		got := encodeError(e, shape)
		if !json.Valid(got) || !bytes.Contains(got, []byte(`"timeout"`)) {
			t.Errorf("got %s", got)
		}
	}
}
