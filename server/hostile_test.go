package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// Ten thousand guesses: the first ten are answered 401, the rest are told to
// wait, none of them gets as far as a command, and who comes from elsewhere
// with the right token is let in meanwhile.
func TestTenThousandGuesses(t *testing.T) {
	// All come on one connection, which none of them makes known.
	d := start(t, func(c *Config) { c.Limits.AuthTimeout = time.Minute })
	before := heap()
	conn, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const guesses = 10000
	go func() {
		w := bufio.NewWriter(conn)
		for i := range guesses {
			fmt.Fprintf(w, "POST /v1/session_open HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer alice-%016x\r\nContent-Length: 0\r\n\r\n", d.addr, i)
		}
		w.Flush()
	}()
	r, got := bufio.NewReader(conn), map[int]int{}
	conn.SetReadDeadline(time.Now().Add(60 * time.Second))
	for i := range guesses {
		a, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("guess %d: %v", i, err)
		}
		io.Copy(io.Discard, a.Body)
		a.Body.Close()
		got[a.StatusCode]++
	}
	// A minute may end while they are sent, and then as many more are looked at.
	if got[401] < maxGuesses || got[401] > 2*maxGuesses || got[429] != guesses-got[401] {
		t.Errorf("answered %v", got)
	}
	if n := d.runtime.Sessions.Count(); n != 0 || d.dispatch.admittedCount() != 0 {
		t.Errorf("%d sessions were opened, and %d commands begun", n, d.dispatch.admittedCount())
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("%d bytes more are held", grown)
	}
	if status, _ := d.post(t, "ping", `{}`); status != http.StatusOK {
		t.Errorf("the right token from where the guesses came: %d", status)
	}
	elsewhere := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}}
	req, _ := http.NewRequest("POST", "http://"+d.addr+"/v1/ping", nil)
	req.Header.Set("Authorization", "Bearer "+aliceToken)
	a, err := elsewhere.Do(req)
	if err != nil {
		untested.Missing(t, "there is no second loopback address here: %v", err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusOK {
		t.Errorf("the right token from elsewhere: %d", a.StatusCode)
	}
}

// What a page's form or script can send to a port that it should leave alone
// runs no command, whatever it looks like.
func TestPagesCannotSpeakToTheDaemon(t *testing.T) {
	d := start(t, nil)
	command := request(1, "session_open", `{}`)
	for name, send := range map[string]string{
		"a form to the WebSocket endpoint": "POST /v1/ws HTTP/1.1\r\nHost: H\r\nOrigin: https://evil.test\r\nContent-Type: text/plain\r\nContent-Length: L\r\n\r\n",
		"a form to the root":               "POST / HTTP/1.1\r\nHost: H\r\nOrigin: null\r\nContent-Type: text/plain\r\nContent-Length: L\r\n\r\n",
		"a form to a command":              "POST /v1/session_open HTTP/1.1\r\nHost: H\r\nOrigin: https://evil.test\r\nContent-Type: text/plain\r\nContent-Length: L\r\n\r\n",
		"a form without an origin":         "POST /v1/session_open HTTP/1.1\r\nHost: H\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: L\r\n\r\n",
		"a link":                           "GET /v1/session_open HTTP/1.1\r\nHost: H\r\nSec-Fetch-Mode: no-cors\r\n\r\n",
		"a preflight":                      "OPTIONS /v1/session_open HTTP/1.1\r\nHost: H\r\nOrigin: https://evil.test\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n\r\n",
		"an upgrade with JSON behind it":   "GET /v1/ws HTTP/1.1\r\nHost: H\r\nOrigin: https://evil.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
		"headers of its own, then JSON":    "POST /v1/ws HTTP/1.1\r\nHost: H\r\n\r\n",
		// With the token, which a page might have learnt.
		"a script's command, with the token": "POST /v1/session_open HTTP/1.1\r\nHost: H\r\nOrigin: https://evil.test\r\nAuthorization: Bearer T\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"a link, with the token":             "GET /v1/session_open HTTP/1.1\r\nHost: H\r\nSec-Fetch-Mode: no-cors\r\nAuthorization: Bearer T\r\n\r\n",
		"a preflight, with the token":        "OPTIONS /v1/session_open HTTP/1.1\r\nHost: H\r\nOrigin: https://evil.test\r\nAccess-Control-Request-Method: POST\r\nAuthorization: Bearer T\r\n\r\n",
		"an upgrade, with the token":         "GET /v1/ws HTTP/1.1\r\nHost: H\r\nOrigin: https://evil.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer T\r\n\r\n",
		"an upgrade of an opaque origin":     "GET /v1/ws HTTP/1.1\r\nHost: H\r\nOrigin: null\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer T\r\n\r\n",
		"another protocol's greeting":        "EHLO evil.test\r\n",
		"a request that is only a method":    "POST\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", d.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			send := strings.NewReplacer("Host: H", "Host: "+d.addr, "Bearer T", "Bearer "+aliceToken, "Length: L", fmt.Sprint("Length: ", len(command))).Replace(send)
			io.WriteString(conn, send+command+"\n"+command+"\n\r\n")
			a, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, a.Body)
			a.Body.Close()
			if a.StatusCode < 400 || a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("answered %s %v", a.Status, a.Header)
			}
		})
	}
	if n := d.runtime.Sessions.Count(); n != 0 || d.dispatch.admittedCount() != 0 {
		t.Errorf("%d sessions were opened, and %d commands begun", n, d.dispatch.admittedCount())
	}
}

// Five hundred clients that send a byte now and then: most are closed for those that
// come after them, the others when their time is over, and a client with a token
// gets in meanwhile.
func TestSlowHeaders(t *testing.T) {
	site := newSite()
	cfg := testConfig()
	cfg.Limits.AuthTimeout = 500 * time.Millisecond
	s, err := New(cfg, testTokens, testRuntime(site, io.Discard), testSources)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	defer func() { stop(); <-served }()

	before := runtime.NumGoroutine()
	ended := make(chan error, 500)
	for range 500 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			answer := make(chan struct{})
			go func() {
				defer close(answer)
				conn.SetReadDeadline(time.Now().Add(20 * time.Second))
				_, err := io.Copy(io.Discard, conn)
				ended <- err
			}()
			for _, b := range []byte("GET /healthz HTTP/1.1\r\nHost: " + strings.Repeat("a", 1000)) {
				if _, err := conn.Write([]byte{b}); err != nil {
					break
				}
				select {
				case <-answer:
					return
				case <-time.After(50 * time.Millisecond): // a slow client's own pace
				}
			}
			<-answer
		}()
	}
	for range 500 {
		if err := <-ended; os.IsTimeout(err) {
			t.Fatal("a connection that sends a byte now and then is still open")
		}
	}
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+l.Addr().String()+"/v1/ws", http.Header{"Authorization": {"Bearer " + aliceToken}})
	if err != nil {
		t.Fatalf("after they are closed: %v", err)
	}
	ws.Close()
	limit := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before+20 {
		if time.Now().After(limit) {
			t.Fatalf("%d goroutines are left of %d connections", runtime.NumGoroutine()-before, 500)
		}
		time.Sleep(10 * time.Millisecond) // there is no event for a goroutine's end
	}
}

// Two hundred sessions at once: as many as may be are opened, the rest answer
// session_limit.
func TestSessionFlood(t *testing.T) {
	d := start(t, func(c *Config) { c.MaxPending = 256 }) // 100 for the daemon, and for each agent
	c := d.connect(t)
	for i := range 200 {
		c.send(request(i, "session_open", `{}`))
	}
	got := map[protocol.Code]int{}
	for range 200 {
		m := c.answer()
		got[m.code()]++
		if m.code() == protocol.SessionLimit && (m.Error.Data.Details["limit"] != 100. || m.Error.Data.Details["open"] != 100.) {
			t.Fatalf("the limit says %v", m.Error.Data.Details)
		}
	}
	if got[""] != 100 || got[protocol.SessionLimit] != 100 || d.runtime.Sessions.Count() != 100 {
		t.Errorf("answered %v with %d sessions open", got, d.runtime.Sessions.Count())
	}
}

// A client that has begun a request and is too slow is answered 408, so that it knows to send
// the request again; one that has sent nothing is closed without a word.
func TestLateRequestsAreAnswered(t *testing.T) {
	const half, token = "POST /v1/ping HTTP/1.1\r\nHost: HOST\r\n", "Authorization: Bearer " + aliceToken + "\r\n"
	dir := t.TempDir()
	certFile, keyFile := writePair(t, dir, "browserd.example")
	for _, secured := range []bool{false, true} {
		d := start(t, func(c *Config) {
			c.Limits.AuthTimeout = 2 * time.Second // a request and its answer have to fit in
			if secured {
				c.TLSCert, c.TLSKey = certFile, keyFile
			}
		})
		for _, test := range []struct {
			name, first, then string // first is a whole request, answered before then is sent
			status            int    // of what is answered to then; 0: nothing
			kept              bool   // on a connection that had an answer: over TLS it may be closed without a word
		}{
			{"nothing", "", "", 0, false},
			{"half a request line", "", "POST /v1", 408, false},
			{"half the headers, with the token", "", half + token, 408, false},
			{"half a request after one without a token", half + "Content-Length: 0\r\n\r\n", half, 408, true},
			{"nothing after a request without a token", half + "Content-Length: 0\r\n\r\n", "", 0, false},
			{"half a request after one with the token", half + token + "Content-Length: 0\r\n\r\n", half, 408, true},
		} {
			if secured && (test.kept || test.name == "nothing") {
				continue // over TLS the handshake has begun something
			}
			t.Run(fmt.Sprint(test.name, ", TLS ", secured), func(t *testing.T) {
				t.Parallel()
				conn, err := net.Dial("tcp", d.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(20 * time.Second))
				if secured {
					conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // whom it convinces is not the point
				}
				in := bufio.NewReader(conn)
				if test.first != "" {
					io.WriteString(conn, strings.ReplaceAll(test.first, "HOST", d.addr))
					a, err := http.ReadResponse(in, nil)
					if err != nil {
						t.Fatal(err)
					}
					io.Copy(io.Discard, a.Body)
				}
				io.WriteString(conn, strings.ReplaceAll(test.then, "HOST", d.addr))
				if test.status == 0 {
					if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
						t.Errorf("answered %q, %v", rest, err)
					}
					return
				}
				a, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(a.Body)
				_, end := in.ReadByte()
				if a.StatusCode != test.status || !a.Close || !strings.Contains(string(body), `"code":"timeout"`) || end == nil {
					t.Errorf("%s close=%t %s, then %v", a.Status, a.Close, body, end)
				}
			})
		}
	}
}
