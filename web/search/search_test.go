package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a local search service: it holds requests to its documentation
// and answers as it says.
type service struct {
	t       *testing.T
	expect  func(r *http.Request, body map[string]any) string // what is wrong, "" for nothing
	status  int
	header  http.Header
	answer  string
	queries int
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.queries++
	body := map[string]any{}
	if raw, _ := io.ReadAll(r.Body); len(raw) > 0 {
		if err := json.Unmarshal(raw, &body); err != nil {
			s.t.Error(err)
		}
	}
	if wrong := s.expect(r, body); wrong != "" {
		s.t.Errorf("%s %s: %s", r.Method, r.URL, wrong)
	}
	for k, v := range s.header {
		w.Header()[k] = v
	}
	w.WriteHeader(s.status)
	io.WriteString(w, s.answer)
}

func start(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func options(t *testing.T) Options {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return Options{tr, func(_ context.Context, u string) (string, error) { return u, nil }}
}

func configured(name, at string) (Config, reader.Config) {
	c := Config{Providers: []string{name}, BraveURL: at, SerperURL: at, TavilyURL: at}
	j := reader.Config{SearchURL: at}
	switch name {
	case "jina":
		j.APIKey = "key-canary"
	case "brave":
		c.BraveAPIKey = "key-canary"
	case "serper":
		c.SerperAPIKey = "key-canary"
	case "tavily":
		c.TavilyAPIKey = "key-canary"
	case "searxng":
		c.SearxngURL = at
	case "duckduckgo":
		c.DuckDuckGoURL = at
	}
	return c, j
}

const query = `go "error handling" & more`

// documented holds a request to what each service documents.
var documented = map[string]func(r *http.Request, body map[string]any) string{
	"jina": func(r *http.Request, _ map[string]any) string {
		return differ(r.Method, "GET", r.URL.Query().Get("q"), query, r.Header.Get("Authorization"), "Bearer key-canary", r.Header.Get("X-Respond-With"), "no-content", r.Header.Get("Accept"), "application/json")
	},
	"brave": func(r *http.Request, _ map[string]any) string {
		return differ(r.Method, "GET", r.URL.Query().Get("q"), query, r.URL.Query().Get("count"), "3", r.Header.Get("X-Subscription-Token"), "key-canary", r.Header.Get("Accept"), "application/json")
	},
	"serper": func(r *http.Request, body map[string]any) string {
		return differ(r.Method, "POST", body["q"], query, body["num"], 3.0, r.Header.Get("X-API-KEY"), "key-canary", r.Header.Get("Content-Type"), "application/json")
	},
	"tavily": func(r *http.Request, body map[string]any) string {
		return differ(r.Method, "POST", body["query"], query, body["max_results"], 3.0, r.Header.Get("Authorization"), "Bearer key-canary")
	},
	"searxng": func(r *http.Request, _ map[string]any) string {
		return differ(r.Method, "GET", r.URL.Path, "/search", r.URL.Query().Get("q"), query, r.URL.Query().Get("format"), "json")
	},
	"duckduckgo": func(r *http.Request, _ map[string]any) string {
		return differ(r.Method, "GET", r.URL.Query().Get("q"), query)
	},
}

func differ(pairs ...any) string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] != pairs[i+1] {
			return fmt.Sprintf("%q, want %q", pairs[i], pairs[i+1])
		}
	}
	return ""
}

func TestEachProviderSpeaksItsProtocol(t *testing.T) {
	page, err := os.ReadFile("testdata/duckduckgo.html")
	if err != nil {
		t.Fatal(err)
	}
	want := []Result{
		{"Errors & values", "https://go.dev/blog/errors-are-values", "A common point of discussion among Go programmers is how to handle errors."},
		{"Effective Go", "https://go.dev/doc/effective_go?a=1&b=2#errors", ""},
	}
	for name, answer := range map[string]string{
		"jina": `{"code":200,"status":20000,"data":[{"title":"Errors &amp; values","url":"https://go.dev/blog/errors-are-values","description":"A common point of discussion among Go programmers is how to handle errors."},
			{"title":"Effective Go","url":"https://go.dev/doc/effective_go?a=1&b=2#errors","description":""}],"meta":{"usage":{"tokens":10000}}}`,
		"brave": `{"type":"search","web":{"type":"search","results":[{"title":"Errors &amp; values","url":"https://go.dev/blog/errors-are-values","description":"A common point of discussion among <strong>Go</strong> programmers is how to handle errors."},
			{"title":"Twice","url":"https://go.dev/blog/errors-are-values"},{"title":"No page","url":"javascript:alert(1)"},{"title":"Effective Go","url":"https://go.dev/doc/effective_go?a=1&b=2#errors"}]}}`,
		"serper": `{"searchParameters":{"q":"x"},"organic":[{"title":"Errors & values","link":"https://go.dev/blog/errors-are-values","snippet":"A common point of discussion among Go programmers is how to\n handle errors.","position":1},
			{"title":"Effective Go","link":"https://go.dev/doc/effective_go?a=1&b=2#errors"}],"credits":1}`,
		"tavily": `{"query":"x","results":[{"title":"Errors & values","url":"https://go.dev/blog/errors-are-values","content":"A common point of discussion among Go programmers is how to handle errors.","score":0.9},
			{"title":"Effective Go","url":"https://go.dev/doc/effective_go?a=1&b=2#errors","content":""}],"response_time":"1.2"}`,
		"searxng": `{"query":"x","results":[{"title":"Errors & values","url":"https://go.dev/blog/errors-are-values","content":"A common point of discussion among Go programmers is how to handle errors.","engine":"x"},
			{"title":"Effective Go","url":"https://go.dev/doc/effective_go?a=1&b=2#errors","content":""}]}`,
		"duckduckgo": string(page),
	} {
		at := start(t, &service{t: t, expect: documented[name], status: 200, answer: answer})
		c, j := configured(name, at)
		got, by, err := New(c, j, options(t)).Search(t.Context(), query, 3)
		if d := cmp.Diff(want, got); d != "" || by != name || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
		if name != "duckduckgo" && name != "searxng" {
			continue // those that are told how many
		}
		if got, _, err := New(c, j, options(t)).Search(t.Context(), query, 1); len(got) != 1 || err != nil {
			t.Errorf("%s, at most one: %v, %v", name, got, err)
		}
	}
}

func TestNothingFoundIsNoError(t *testing.T) {
	for name, s := range map[string]service{
		"jina":       {status: 422, answer: `{"data":null,"code":422,"name":"AssertionFailureError","message":"No search results available for query x"}`},
		"brave":      {status: 200, answer: `{"type":"search"}`},
		"serper":     {status: 200, answer: `{"organic":[]}`},
		"tavily":     {status: 200, answer: `{"results":[]}`},
		"searxng":    {status: 200, answer: `{"results":[]}`},
		"duckduckgo": {status: 200, answer: `<div id=links><div class="no-results">No  results.</div></div>`},
	} {
		s.t, s.expect = t, func(*http.Request, map[string]any) string { return "" }
		c, j := configured(name, start(t, &s))
		got, by, err := New(c, j, options(t)).Search(t.Context(), query, 3)
		if err != nil || by != name || got == nil || len(got) != 0 {
			t.Errorf("%s: %v by %s, %v", name, got, by, err)
		}
	}
}

func TestErrorsAndLimitsAreToldApart(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		status       int
		header       http.Header
		want         string
		rests        bool
	}{
		{"jina", `{"code":401}`, 401, nil, "jina does not know the key", false},
		{"jina", `{"code":402}`, 402, nil, "the key of jina has nothing left", false},
		{"jina", ``, 429, http.Header{"Retry-After": {"9"}}, "jina takes no more queries for 9 s", true},
		{"brave", `{"type":"ErrorResponse","error":{"code":"SUBSCRIPTION_TOKEN_INVALID","status":422}}`, 422, nil, "brave does not know the key", false},
		{"brave", `{"error":{"code":"RATE_LIMITED"}}`, 429, nil, "brave takes no more queries for 60 s", true},
		{"serper", `{"message":"Unauthorized.","statusCode":403}`, 403, nil, "serper does not know the key", false},
		{"serper", `{"message":"Not enough credits","statusCode":400}`, 400, nil, "the key of serper has nothing left", false},
		{"tavily", `{"detail":{"error":"Unauthorized: missing or invalid API key."}}`, 401, nil, "tavily does not know the key", false},
		{"tavily", `{"detail":{"error":"This request exceeds your plan's set usage limit."}}`, 432, nil, "the key of tavily has nothing left", false},
		{"tavily", ``, 433, nil, "the key of tavily has nothing left", false},
		{"searxng", `Forbidden`, 403, nil, "the SearXNG instance does not allow format json: add it to search.formats in its settings", false},
		{"searxng", `<html>`, 200, nil, "searxng's answer is not the JSON that it documents", false},
		{"duckduckgo", `<form id="challenge-form" action="//duckduckgo.com/anomaly.js">`, 202, nil, "duckduckgo takes us for a robot and blocks", true},
		{"duckduckgo", `<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>`, 200, nil, "duckduckgo takes us for a robot and blocks", true},
		{"duckduckgo", ``, 403, nil, "duckduckgo takes us for a robot and blocks", true},
		{"duckduckgo", `<h1>Something else`, 200, nil, "duckduckgo's page is not one of results", false},
		{"duckduckgo", ``, 500, nil, "duckduckgo answers 500 Internal Server Error", false},
		{"serper", ``, 302, http.Header{"Location": {"/elsewhere"}}, "serper answers 302 Found", false},
	} {
		s := &service{t: t, status: tt.status, header: tt.header, answer: tt.answer, expect: func(*http.Request, map[string]any) string { return "" }}
		c, j := configured(tt.name, start(t, s))
		search := New(c, j, options(t))
		for i := range 2 {
			_, _, err := search.Search(t.Context(), query, 3)
			var e *protocol.Error
			if !errors.As(err, &e) || e.Code != protocol.FetchFailed {
				t.Fatalf("%s %d: %v", tt.name, tt.status, err)
			}
			attempts := e.Details["attempts"].([]protocol.Attempt)
			if i == 0 && (len(attempts) != 1 || attempts[0].Source != tt.name || attempts[0].Error != tt.want) {
				t.Errorf("%s %d: %+v, want %s", tt.name, tt.status, attempts, tt.want)
			}
			if !strings.Contains(e.Next, "search.brave_api_key") || strings.Contains(fmt.Sprintf("%+v", e), "canary") {
				t.Errorf("%s %d: %+v", tt.name, tt.status, e)
			}
		}
		if want := map[bool]int{true: 1, false: 2}[tt.rests]; s.queries != want {
			t.Errorf("%s %d: asked %d times, want %d", tt.name, tt.status, s.queries, want)
		}
	}
}

func TestProvidersAreTriedInOrder(t *testing.T) {
	any := func(*http.Request, map[string]any) string { return "" }
	bad := start(t, &service{t: t, status: 500, expect: any})
	good := start(t, &service{t: t, status: 200, answer: `{"organic":[{"title":"T","link":"https://a.example/"}]}`, expect: any})
	c := Config{Providers: []string{"jina", "tavily", "brave", "serper"}, BraveAPIKey: "k", BraveURL: bad, SerperAPIKey: "k", SerperURL: good}
	s := New(c, reader.Config{SearchURL: bad}, options(t))
	var set []string // those with their key
	for _, p := range s.providers {
		set = append(set, p.Name())
	}
	if d := cmp.Diff([]string{"brave", "serper"}, set); d != "" {
		t.Error(d)
	}
	if _, by, err := s.Search(t.Context(), "x", 5); by != "serper" || err != nil {
		t.Errorf("answered by %q, %v", by, err)
	}
	_, _, err := New(Config{Providers: names}, reader.Config{}, options(t)).Search(t.Context(), "x", 5)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Message != "no search provider is set up" || e.Next != setUp {
		t.Errorf("without any: %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, _, err := s.Search(ctx, "x", 5); err != gone {
		t.Errorf("cancelled: %v", err)
	}
}

// A provider that does not answer leaves time for the next, however little there is.
func TestAHungProviderLeavesTimeForTheNext(t *testing.T) {
	hung := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	slow := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(300 * time.Millisecond)
		io.WriteString(w, `{"results":[{"title":"Found","url":"https://example.com/","content":"here"}]}`)
	}))
	s := New(Config{Providers: []string{"brave", "searxng"}, BraveURL: hung, BraveAPIKey: "key", SearxngURL: slow}, reader.Config{}, options(t))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	results, from, err := s.Search(ctx, "gold", 5)
	if err != nil || from != "searxng" || len(results) != 1 {
		t.Errorf("%v from %q, %v", results, from, err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, c := range map[string]Config{
		"": {Providers: names},
		`search.providers: "bing": accepts jina, brave, serper, tavily, searxng, duckduckgo`: {Providers: []string{"bing"}},
		`search.providers: "jina": stands there twice`:                                       {Providers: []string{"jina", "jina"}},
		`search.searxng_url: "localhost:8888": accepts an http or https URL`:                 {SearxngURL: "localhost:8888"},
	} {
		got := ""
		if err := c.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzDuckDuckGo(f *testing.F) {
	page, _ := os.ReadFile("testdata/duckduckgo.html")
	f.Add(page)
	f.Add([]byte(`<div class=result><a class=result__a href="//duckduckgo.com/l/?uddg=%zz"><div class=result>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		list, _ := parseDuckDuckGo(body)
		for _, r := range clean(list, 10) {
			u, err := url.Parse(r.URL)
			if err != nil || u.Host == "" || len([]rune(r.Title)) > maxTitle || len([]rune(r.Snippet)) > maxSnippet {
				t.Errorf("%q gives %+v", body, r)
			}
		}
	})
}
