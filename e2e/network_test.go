//go:build linux

package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// badServer answers every request on loopback with say, below HTTP, and holds
// its connections until the test ends.
func badServer(t *testing.T, say func(conn net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			work.Go(func() { say(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		work.Wait()
	})
	return l.Addr().String()
}

// blackHole is an address whose connections are never made: its queue is full.
func blackHole(t *testing.T) (address string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for range 8 {
		conn, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("the queue does not fill")
	return ""
}

// Servers that never answer, drip, break off or talk nonsense: every command
// answers in its time with a code that says what kind of failure it was, and
// no connection is left.
func TestBadServers(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	w := newPageServer(t)
	w.serve("/next", page("next", "<h1>Next</h1>"), "")
	// said answers a request that has been read with the text and keeps the connection.
	said := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			http.ReadRequest(bufio.NewReader(conn))
			fmt.Fprint(conn, text)
		}
	}
	then := func(f, g func(net.Conn)) func(net.Conn) { return func(c net.Conn) { f(c); g(c) } }
	reset := func(c net.Conn) { c.(*net.TCPConn).SetLinger(0); c.Close() }
	hangUp := func(c net.Conn) { c.Close() }
	drip := func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Long: " + strings.Repeat("x", 1000)) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}
	bomb := packed(t, 0, 200)
	var some strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&some, "X-%d: %s\r\n", i, strings.Repeat("x", 1000))
	}
	headers := some.String() // made once: whoever reads them takes some hundred megabytes
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	timeout := []protocol.Code{protocol.Timeout}
	failed := []protocol.Code{protocol.NavigationFailed, protocol.FetchFailed}
	either := append(slices.Clone(failed), protocol.Timeout)
	whatever := append(slices.Clone(either), "", protocol.TooLarge, protocol.PageCrashed) // "": shown as far as it came
	shown := []protocol.Code{""}
	for _, tt := range []struct {
		name   string
		scheme string
		server func(net.Conn) // nil: a black hole
		live   []protocol.Code
		direct []protocol.Code
	}{
		{"a black hole", "http", nil, either, either},
		{"accepts and says nothing", "http", func(net.Conn) {}, timeout, either},
		{"drips a byte a second", "http", drip, timeout, either},
		{"speaks before it is asked", "http", func(c net.Conn) { fmt.Fprint(c, head+"Content-Length: 8\r\n\r\n<h1>Half") }, whatever, whatever},
		{"hangs up", "http", hangUp, failed, failed},
		{"resets", "http", then(said(""), reset), failed, failed},
		{"resets in the middle", "http", then(said(head+"Content-Length: 1000\r\n\r\n<h1>Half"), reset), shown, whatever},
		{"half a chunked body", "http", then(said(head+"Transfer-Encoding: chunked\r\n\r\n40\r\n<h1>Half"), hangUp), whatever, whatever},
		{"half a chunked body, and waits", "http", said(head + "Transfer-Encoding: chunked\r\n\r\n40\r\n<h1>Half"), whatever, whatever},
		{"a chunk of no size", "http", then(said(head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n<h1>Half"), hangUp), whatever, whatever},
		{"no HTTP", "http", then(said("SSH-2.0-OpenSSH_9.6\r\n"), hangUp), whatever, failed},
		{"a status line of garbage", "http", then(said("HTTP/9.9 banana\r\n\r\n"), hangUp), whatever, failed},
		{"a length that is too long", "http", then(said(head+"Content-Length: 100000\r\n\r\n<h1>Half</h1>"), hangUp), shown, whatever},
		{"a length that is too short", "http", then(said(head+"Content-Length: 4\r\n\r\n<h1>Half</h1>"), hangUp), whatever, whatever},
		{"two lengths", "http", then(said(head+"Content-Length: 4\r\nContent-Length: 5\r\n\r\n<h1>H"), hangUp), whatever, whatever},
		{"headers without end", "http", func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, headers); err != nil {
					return
				}
			}
		}, failed, failed},
		{"a gzip bomb", "http", then(said(head+"Content-Encoding: gzip\r\nConnection: close\r\n\r\n"+bomb), hangUp), whatever, whatever},
		{"gzip that is none", "http", then(said(head+"Content-Encoding: gzip\r\nContent-Length: 6\r\n\r\nbanana"), hangUp), whatever, whatever},
		{"no TLS", "https", then(said("HTTP/1.1 400 Bad Request\r\n\r\n"), hangUp), either, either},
		{"TLS that never comes", "https", func(net.Conn) {}, either, either},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			address := ""
			if tt.server == nil {
				address = blackHole(t)
			} else {
				address = badServer(t, tt.server)
			}
			r := rowTest{&agent{t: t, c: newAgent(t, d).c}, w, "network"}
			url := tt.scheme + "://" + address + "/"
			for _, c := range []struct {
				method string
				params params
				want   []protocol.Code
			}{
				{"open", params{"url": url, "source": "chromium"}, tt.live},
				{"http_request", params{"url": url}, tt.direct},
				{"web_fetch", params{"url": url, "source": "http"}, tt.direct},
			} {
				c.params["timeout_ms"] = 2000
				began := time.Now()
				_, err := r.try(c.method, c.params)
				took := time.Since(began)
				if took > 4*time.Second {
					t.Errorf("%s took %v", c.method, took)
				}
				code := protocol.Code("")
				if err != nil {
					code = protocol.CodeOf(err)
				}
				if !slices.Contains(c.want, code) {
					t.Errorf("%s: %v, want one of %v", c.method, err, c.want)
				}
				if err != nil && strings.Contains(err.Error(), "%!") {
					t.Errorf("%s: %v, which is no sentence", c.method, err)
				}
			}
			r.works()
			r.do("session_close", nil)
		})
	}
	t.Cleanup(func() {
		if strings.Contains(d.Log(), "Half") {
			t.Error("the log quotes what a server sent")
		}
	})
}

// A page whose server breaks off in the middle never says that it is loaded, not to
// itself either. Nothing more of it will come, and nobody waits for it.
func TestAPageThatBreaksOffIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	// It breaks off when what has come is read: of a document that ends with its first
	// bytes Chromium itself shows nothing now and then (6 of 100).
	read := make(chan struct{}, 9)
	w.mux.HandleFunc("/picture", func(http.ResponseWriter, *http.Request) { read <- struct{}{} })
	w.mux.HandleFunc("/half", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Header().Set("Content-Length", "1000")
		rw.Header().Set("Cache-Control", "no-store")
		fmt.Fprintf(rw, "<title>Half</title><h1>Half</h1><img src=/picture?%d>", time.Now().UnixNano())
		http.NewResponseController(rw).Flush()
		select {
		case <-read:
		case <-r.Context().Done():
		}
	})
	w.serve("/", page("start", `<a href="/half">Half</a>`), "")
	a := newAgent(t, d)
	for _, until := range []string{"auto", "domcontentloaded", "load", "networkidle"} {
		r := a.do("open", params{"url": w.URL + "/half", "wait_until": until, "timeout_ms": 6000})
		if !strings.Contains(r.Snapshot.Text, "Half") || len(r.Effect.RequestsFailed) == 0 {
			t.Errorf("%s: effect %+v\n%s", until, r.Effect, r.Snapshot.Text)
		}
	}
	a.open(w.URL + "/")
	p := click(a.snapshot().ref(t, "link", "Half"), nil)
	p["timeout_ms"] = 6000
	if r := a.do("click", p); r.Page.URL != w.URL+"/half" {
		t.Errorf("the click led to %s", r.Page.URL)
	}
	a.do("wait", params{"state": "load", "timeout_ms": 6000})
}

// The network goes away and comes back: the page that is open stays, a page
// that does not load says why, and the next one loads.
func TestTheNetworkIsCut(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: steadily()})
	w := newPageServer(t)
	w.serve("/next", page("next", "<h1>Next</h1>"), "")
	r := rowTest{newAgent(t, d), w, "network"}
	r.works()
	before := vitalsOf(t, d)
	address := w.Listener.Addr().String()
	w.CloseClientConnections()
	w.Listener.Close()
	for _, method := range []string{"open", "http_request"} {
		_, err := r.try(method, params{"url": w.URL + "/next", "timeout_ms": 5000})
		if code := protocol.CodeOf(err); code != protocol.NavigationFailed && code != protocol.FetchFailed {
			t.Errorf("%s: %v", method, err)
		}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		untested.Skip(t, "what comes back at its port is not tried: another program took the port: %v", err)
	}
	back := &http.Server{Handler: w.mux}
	go back.Serve(l)
	defer back.Close()
	r.works()
	if got := r.do("http_request", params{"url": w.URL + "/next"}); !strings.Contains(got.Content, "Next") {
		t.Errorf("http_request: %q", got.Content)
	}
	asBefore(t, d, before)
}
