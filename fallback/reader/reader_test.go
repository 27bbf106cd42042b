package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// jina speaks the reader's protocol as it is documented: GET /URL or POST / with
// the URL in a JSON body, formats and limits by headers, JSON answers.
type jina struct {
	t      *testing.T
	key    string // "": no key is needed
	status int    // 0: it succeeds
	header http.Header
	seen   []string
}

func (j *jina) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := strings.TrimPrefix(r.RequestURI, "/")
	if r.Method == http.MethodPost {
		var body struct{ URL string }
		raw, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(raw, &body); err != nil {
			j.t.Error(err)
		}
		target = body.URL
	}
	j.seen = append(j.seen, r.Method+" "+target+" "+r.Header.Get("X-Return-Format"))
	say := func(status int, name, message string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]any{"data": nil, "code": status, "name": name, "status": status*100 + 1, "message": message, "readableMessage": name + ": " + message})
	}
	switch {
	case r.Header.Get("Accept") != "application/json" || r.Header.Get("X-Timeout") == "":
		j.t.Errorf("headers: %v", r.Header)
	case j.key != "" && r.Header.Get("Authorization") != "Bearer "+j.key:
		say(401, "AuthenticationFailedError", "Invalid API key")
		return
	case j.status != 0:
		for k, v := range j.header {
			w.Header()[k] = v
		}
		say(j.status, "SomeError", "because")
		return
	}
	data := map[string]any{"title": "A page", "url": strings.Replace(target, "/old", "/new", 1), "usage": map[string]int{"tokens": 12}}
	if strings.Contains(target, "missing") {
		data["warning"] = "Target URL returned error 404: Not Found"
	}
	content := "<html><body><h1>Made by script"
	switch r.Header.Get("X-Return-Format") {
	case "html":
		data["html"] = content
	case "text":
		data["text"] = "Made by script"
	default:
		data["content"] = "# Made by script"
	}
	json.NewEncoder(w).Encode(map[string]any{"code": 200, "status": 20000, "data": data})
}

func serve(t *testing.T, h http.Handler, key string) *Reader {
	s := httptest.NewServer(h)
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(func() { tr.CloseIdleConnections(); s.Close() })
	return New(Config{ReaderURL: s.URL, APIKey: key}, Options{
		Transport: tr,
		Check:     func(_ context.Context, u string) (string, error) { return u, nil },
		Public: func(_ context.Context, u string) error {
			if strings.Contains(u, "intranet") {
				return protocol.Errorf(protocol.PolicyDenied, "private").With("reason", "name_internal")
			}
			return nil
		},
	})
}

func TestAPageIsReadInEachFormat(t *testing.T) {
	for _, key := range []string{"", "jina_key"} {
		j := &jina{t: t, key: key}
		r := serve(t, j, key)
		for format, want := range map[Format]string{HTML: "<html><body><h1>Made by script", Markdown: "# Made by script", Text: "Made by script"} {
			got, err := r.Read(t.Context(), "https://example.com/old?a=1&b=ü", format)
			page := Page{URL: "https://example.com/new?a=1&b=%C3%BC", Title: "A page", Content: want, Status: 200, Tokens: 12}
			if d := cmp.Diff(page, got); d != "" || err != nil {
				t.Errorf("%s, key %q: %v (-want +got):\n%s", format, key, err, d)
			}
		}
		html, url, err := r.Rendered(t.Context(), "https://example.com/#/route")
		if err != nil || html == "" || url != "https://example.com/#/route" {
			t.Errorf("a fragment: %q at %q, %v", html, url, err)
		}
		if last := j.seen[len(j.seen)-1]; last != "POST https://example.com/#/route html" {
			t.Errorf("a fragment was asked for as %s", last)
		}
		if p, err := r.Read(t.Context(), "https://example.com/missing", Text); err != nil || p.Status != 404 || p.Warning == "" {
			t.Errorf("a missing page: %+v, %v", p, err)
		}
	}
}

func TestErrorsAreToldApart(t *testing.T) {
	for _, tt := range []struct {
		status int
		header http.Header
		code   protocol.Code
		detail string
		want   any
	}{
		{401, nil, protocol.NavigationFailed, "reason", "reader_key"},
		{402, nil, protocol.NavigationFailed, "reason", "reader_balance"},
		{409, nil, protocol.TooLarge, "message", "SomeError: because"},
		{422, nil, protocol.NavigationFailed, "reason", "reader_refused"},
		{429, http.Header{"Retry-After": {"7"}}, protocol.RateLimited, "retry_after_s", 7},
		{429, nil, protocol.RateLimited, "retry_after_s", 60},
		{503, nil, protocol.NavigationFailed, "reason", "reader_failed"},
	} {
		r := serve(t, &jina{t: t, status: tt.status, header: tt.header}, "")
		_, err := r.Read(t.Context(), "https://example.com/", HTML)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Details[tt.detail] != tt.want {
			t.Errorf("%d: %+v, want %s with %s %v", tt.status, err, tt.code, tt.detail, tt.want)
		}
	}
	r := serve(t, &jina{t: t, key: "right"}, "wrong-canary")
	_, err := r.Read(t.Context(), "https://example.com/", HTML)
	if err == nil || strings.Contains(fmt.Sprintf("%+v", err), "canary") {
		t.Errorf("a wrong key: %v", err)
	}
	for name, body := range map[string]string{"no JSON": "<html>", "no data": `{"code":200}`, "nothing": `{"code":200,"data":{}}`, "other": `{"data":[]}`} {
		r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }), "")
		_, err := r.Read(t.Context(), "https://example.com/", HTML)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Details["reason"] != "reader_answer" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is private or lets its holder in is never said to the reader.
func TestSecretsAreNotTold(t *testing.T) {
	j := &jina{t: t}
	r := serve(t, j, "")
	for _, url := range []string{
		"https://user:pass@example.com/", "https://user@example.com/", "http://intranet/", "ftp://example.com/", "https://example.com/?access_token=x",
		"https://example.com/?a=1&X-Amz-Signature=abc", "https://example.com/?to%6ben=x", "https://example.com/#access_token=x", "https://example.com/cb#/?id_token=x", "https://example.com/?API-Key=1",
	} {
		_, _, err := r.Rendered(t.Context(), url)
		if protocol.CodeOf(err) != protocol.PolicyDenied {
			t.Errorf("%s: %v", url, err)
		}
	}
	if len(j.seen) != 0 {
		t.Errorf("the reader was asked %v", j.seen)
	}
	if _, _, err := r.Rendered(t.Context(), "https://example.com/?token="); err != nil {
		t.Errorf("an empty parameter is no credential: %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for v, want := range map[string]int{"5": 5, "0": 1, "-1": 60, "soon": 60, "": 60, "86400": 3600, "Sat, 21 Nov 2026 12:00:30 GMT": 31, "Sat, 21 Nov 2026 11:00:00 GMT": 60} {
		if got := RetryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: %d, want %d", v, got, want)
		}
	}
}

func TestNoReader(t *testing.T) {
	if New(Config{}, Options{}) != nil {
		t.Error("there is a reader without a URL")
	}
	for url, ok := range map[string]bool{"": true, "https://r.example/": true, "r.example": false, "ftp://r.example": false} {
		if err := (Config{ReaderURL: url}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		}
	}
}
