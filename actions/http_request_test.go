package actions

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/browserd/browserd/protocol"
)

func noAddresses() ([]netip.Addr, error) { return nil, nil }

// echo answers with what it was sent.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Header()["Date"] = nil
	if strings.HasPrefix(r.URL.Path, "/status/") {
		var status int
		fmt.Sscanf(r.URL.Path, "/status/%d", &status)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}
	json.NewEncoder(w).Encode(map[string]string{"method": r.Method, "type": r.Header.Get("Content-Type"), "x": r.Header.Get("X-Test"), "body": string(body)})
}

func sent(t tester, w *world, params map[string]any) HTTPRequestResult {
	t.Helper()
	r, err := do[HTTPRequestResult](t, w.runtime, "http_request", params)
	if err != nil {
		t.Errorf("%v: %v", params, err)
	}
	return r
}

func TestHTTPRequestSendsWhatItIsTold(t *testing.T) {
	w := newWorld(t)
	w.serve("api.example.com", echo)
	for _, tt := range []struct {
		params map[string]any
		want   string
	}{
		{map[string]any{}, `{"body":"","method":"GET","type":"","x":""}`},
		{map[string]any{"method": "POST", "body": "a=1", "headers": map[string]string{"content-type": "application/x-www-form-urlencoded", "x-test": "1"}},
			`{"body":"a=1","method":"POST","type":"application/x-www-form-urlencoded","x":"1"}`},
		{map[string]any{"method": "PUT", "body": map[string]any{"a": []int{1}}}, `{"body":"{\"a\":[1]}","method":"PUT","type":"application/json","x":""}`},
		{map[string]any{"method": "PATCH", "body": "text"}, `{"body":"text","method":"PATCH","type":"text/plain; charset=utf-8","x":""}`},
		{map[string]any{"method": "DELETE"}, `{"body":"","method":"DELETE","type":"","x":""}`},
		{map[string]any{"method": "HEAD"}, ``},
	} {
		tt.params["url"] = "http://api.example.com/"
		r := sent(t, w, tt.params)
		if !r.OK || r.Status != 200 || r.StatusLine != "HTTP/1.1 200 OK" || strings.TrimSpace(r.Content) != tt.want {
			t.Errorf("%v: %+v, want %s", tt.params, r, tt.want)
		}
	}
}

func TestHTTPRequestShowsEveryStatus(t *testing.T) {
	w := newWorld(t)
	w.serve("api.example.com", echo)
	for status, ok := range map[int]bool{201: true, 301: false, 307: false, 404: false, 429: false, 500: false} {
		r := sent(t, w, map[string]any{"url": fmt.Sprintf("http://api.example.com/status/%d", status)})
		want := HTTPRequestResult{OK: ok, Status: status, StatusLine: fmt.Sprintf("HTTP/1.1 %d %s", status, http.StatusText(status)), ContentType: "application/json",
			Headers: map[string]string{"Content-Length": "44", "Content-Type": "application/json", "Location": "/elsewhere"},
			Content: `{"body":"","method":"GET","type":"","x":""}` + "\n", Bytes: 44}
		if d := cmp.Diff(want, r); d != "" {
			t.Errorf("%d (-want +got):\n%s", status, d)
		}
	}
}

func TestHTTPRequestReadsBodies(t *testing.T) {
	w := newWorld(t)
	w.serve("api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			rw.Header().Set("Content-Type", "text/html; charset=gbk")
			io.WriteString(rw, "<title>T</title><script>x()</script><nav>Menu</nav><p>\xbd\xf0\xbc\xdb<!-- not this -->")
		case "/binary":
			rw.Header().Set("Content-Type", "application/octet-stream")
			rw.Write(make([]byte, 3000))
		case "/stream":
			rw.Header().Set("Content-Type", "text/plain")
			for {
				if _, err := io.WriteString(rw, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		case "/slow":
			<-r.Context().Done()
		case "/headers":
			for i := range 40 {
				rw.Header().Set(fmt.Sprintf("A-%02d", i), "v")
			}
			rw.Header().Set("Location", "/z")
		}
	})
	get := func(path string, more ...any) HTTPRequestResult {
		params := map[string]any{"url": "http://api.example.com" + path}
		for i := 0; i < len(more); i += 2 {
			params[more[i].(string)] = more[i+1]
		}
		return sent(t, w, params)
	}
	if r := get("/html"); r.Content != "T\n\nMenu\n\n金价" && r.Content != "T\n\nMenu\n金价" {
		t.Errorf("HTML: %q", r.Content)
	}
	if r := get("/binary"); r.Content != "[application/octet-stream, 3000 bytes: not text]" {
		t.Errorf("binary: %q", r.Content)
	}
	if r := get("/stream"); !r.Truncated || len(r.Content) > 1<<20 || r.Bytes != 1<<20 || !strings.Contains(r.Note, "cut at 1024 KB") {
		t.Errorf("a stream: %d bytes, %q", len(r.Content), r.Note)
	}
	if r := get("/headers"); len(r.Headers) != 20 || r.Headers["Location"] != "/z" || r.HeadersOmitted != 23 {
		t.Errorf("%d headers, %d left out", len(r.Headers), r.HeadersOmitted)
	}
	begun := time.Now()
	_, err := do[HTTPRequestResult](t, w.runtime, "http_request", map[string]any{"url": "http://api.example.com/slow", "timeout_secs": 1})
	if protocol.CodeOf(err) != protocol.Timeout || time.Since(begun) > 5*time.Second {
		t.Errorf("a slow server: %v after %s", err, time.Since(begun))
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "max_chars")
		path := rapid.SampledFrom([]string{"/html", "/binary", "/headers", "/none"}).Draw(t, "path")
		if r := sent(t, w, map[string]any{"url": "http://api.example.com" + path, "max_chars": n}); utf8.RuneCountInString(r.Content) > n {
			t.Fatalf("%s: %d characters, at most %d were asked for", path, utf8.RuneCountInString(r.Content), n)
		}
	})
}

func TestBadHeadersAreNamed(t *testing.T) {
	w := newWorld(t)
	w.serve("api.example.com", func(http.ResponseWriter, *http.Request) { t.Error("the request was sent") })
	for name, value := range map[string]string{
		"Bad Name": "x", "": "x", "Naïve": "x", "X:Y": "x", "X-Lines": "canary\r\nX-Other: 1", "X-Null": "canary\x00", "Host": "other.example.com", "connection": "close",
		"Proxy-Authorization": "Basic canary", "Transfer-Encoding": "chunked", "content-length": "5", "TE": "trailers", "Upgrade": "websocket",
	} {
		_, err := do[HTTPRequestResult](t, w.runtime, "http_request", map[string]any{"url": "http://api.example.com/", "headers": map[string]string{name: value}})
		e, ok := err.(*protocol.Error)
		if !ok || e.Code != protocol.InvalidParams || e.Details["header"] != name || !strings.Contains(e.Message, name) || strings.Contains(e.Error(), "canary") || strings.Contains(e.Message, "%!") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
