package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// raw answers every request on loopback with what answer writes.
func raw(t *testing.T, answer func(io.Writer)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					answer(conn)
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return "http://" + l.Addr().String()
}

func TestFailuresAreNamed(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	for url, reason := range map[string]string{
		closed.URL:                         "connection_refused",
		secure.URL:                         "certificate",
		"https" + plain[len("http"):]:      "tls",
		raw(t, func(io.Writer) {}):         "empty_response",
		raw(t, write("SSH-2.0-x\r\n\r\n")): "malformed_response",
		raw(t, write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")): "malformed_response",
		raw(t, write("HTTP/1.1 302 Found\r\nLocation: http://[::1/\r\n\r\n")):                          "bad_redirect",
		raw(t, write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain")):   "content_coding",
	} {
		_, err := client(t).Do(t.Context(), Request{URL: url + "/?key=canary"})
		wantReason(t, err, protocol.NavigationFailed, reason)
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("the query is in the message: %v", err)
		}
	}
}

func write(s string) func(io.Writer) { return func(w io.Writer) { io.WriteString(w, s) } }

func TestASilentServerIsATimeout(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := client(t).Do(t.Context(), Request{URL: at, Timeout: 50 * time.Millisecond})
	wantReason(t, err, protocol.Timeout, "timeout")

	gone := errors.New("the client is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(gone) })
	if _, err := client(t).Do(ctx, Request{URL: at}); err != gone {
		t.Errorf("got %v, want the cause of the caller's context", err)
	}
}

// Threat env-proxy: what the environment says of proxies leads nowhere.
func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	used := false
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { used = true })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy)
	}
	t.Setenv("NO_PROXY", "")
	at := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "itself") })
	r, err := client(t).Do(t.Context(), Request{URL: at})
	if err != nil || string(r.Body) != "itself" || used {
		t.Errorf("got %+v, %v; the proxy was used: %v", r, err, used)
	}
}

func TestOnlyHTTPIsFetched(t *testing.T) {
	for _, url := range []string{"ftp://example.com/", "file:///etc/passwd", "about:blank", "//example.com", "http://"} {
		if _, err := client(t).Do(t.Context(), Request{URL: url}); protocol.CodeOf(err) != protocol.Unsupported {
			t.Errorf("%s: %v", url, err)
		}
	}
	_, err := client(t).Do(t.Context(), Request{URL: "http://127.0.0.1:1/", Method: "BAD METHOD"})
	if protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("a method with a blank: %v", err)
	}
}
