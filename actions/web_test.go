package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/text/encoding/simplifiedchinese"
	"pgregory.net/rapid"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/web/extract"
	"github.com/browserd/browserd/web/search"
)

// tester is what both a test and a property check with.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a public internet on loopback: names that a DNS server of the test
// resolves to public addresses, and servers to which the policy's dialer is led
// there. Everything between, checks included, is real.
type world struct {
	t       *testing.T
	dns     *fakedns.Server
	hosts   map[string]string // public address → address on loopback
	gate    *policy.Gate
	runtime *command.Runtime
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dns: fakedns.Start(t), hosts: map[string]string{}}
	rules, err := policy.New(policy.Config{
		Resolver:   w.dns.Addr.String(),
		Interfaces: noAddresses,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			to, ok := w.hosts[address]
			if !ok {
				return nil, fmt.Errorf("nothing is at %s", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, to)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.gate, err = rules.Gate(policy.GateOptions{}); err != nil {
		t.Fatal(err)
	}
	transport := w.gate.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	w.runtime = &command.Runtime{Commands: All,
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		CheckURL: rules.CheckURLWithin,
		Web: &command.Web{
			Config: command.Config{StripThresholdKB: 200}, Transport: transport,
			HasChromium: func() bool { return true }, Order: []string{"jina", "http"},
			Search: search.New(search.Config{}, reader.Config{}, search.Options{Transport: transport, Check: w.gate.CheckURL}),
		},
	}
	return w
}

// serve puts a server at a public name, port 80.
func (w *world) serve(name string, h http.HandlerFunc) {
	s := httptest.NewServer(h)
	w.t.Cleanup(s.Close)
	address := fmt.Sprintf("93.184.216.%d", 10+len(w.hosts))
	w.dns.Set(name, fakedns.Answer{A: []string{address}})
	w.hosts[address+":80"] = s.Listener.Addr().String()
}

func (w *world) reader(h http.HandlerFunc) {
	w.serve("reader.example.com", h)
	w.runtime.Web.Reader = reader.New(reader.Config{ReaderURL: "http://reader.example.com/"},
		reader.Options{Transport: w.runtime.Web.Transport, Check: w.gate.CheckURL, Public: w.gate.Public})
	w.runtime.Web.Rest = &fallback.Breaker{}
}

// model answers what extract asks.
func (w *world) model(answer string) {
	name := fmt.Sprintf("model%d.example.com", len(w.hosts))
	w.serve(name, func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, answer) })
	w.runtime.Web.Extract = extract.New(extract.Config{BaseURL: "http://" + name + "/v1", Model: "small"},
		extract.Options{Transport: w.runtime.Web.Transport, Check: w.gate.CheckURL})
}

// do sends a command through the one way in that all transports use.
func do[R any](t tester, h *command.Runtime, method string, params map[string]any) (R, error) {
	t.Helper()
	var zero R
	raw, _ := json.Marshal(params)
	job, err := h.Prepare(&command.Caller{Agent: "test"}, nil, method, raw)
	if err != nil {
		return zero, err
	}
	result, err := job.Run(context.Background())
	if err != nil {
		return zero, err
	}
	return result.(R), nil
}

func fetched(t tester, w *world, params map[string]any) WebFetchResult {
	t.Helper()
	r, err := do[WebFetchResult](t, w.runtime, "web_fetch", params)
	if err != nil {
		t.Errorf("%v: %v", params, err)
	}
	return r
}

// site is a small website with a page of each kind.
func site(w http.ResponseWriter, r *http.Request) {
	send := func(kind, body string) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}
	switch r.URL.Path {
	case "/page":
		send("text/html", `<title>Gold</title><nav><a href=/home>Home</a></nav><main><h2>Prices</h2><p>Gold is at <b>2,614</b>. <a href="/silver">Silver</a></main>`)
	case "/gbk":
		body, _ := simplifiedchinese.GBK.NewEncoder().String("<title>金价</title><p>今天的黄金价格比昨天上涨了百分之二，投资者认为这与国际市场的变化有关。")
		send("text/html", body)
	case "/json":
		send("application/json", `{"gold": 2614}`)
	case "/feed":
		send("application/rss+xml", `<rss><title>News</title></rss>`)
	case "/picture":
		send("image/png", "\x89PNG\r\n\x1a\n\x00\x00")
	case "/app":
		send("text/html", `<title>App</title><div id=root></div><script src=/app.js></script>`)
	case "/refused":
		w.WriteHeader(403)
		send("text/html", "<p>Go away")
	case "/gone":
		w.WriteHeader(404)
		send("text/html", "<p>There is no such page")
	case "/moved":
		http.Redirect(w, r, "/page", http.StatusMovedPermanently)
	case "/inward":
		http.Redirect(w, r, "http://10.0.0.1/secret", http.StatusFound)
	case "/long":
		send("text/html", "<title>Long</title><p>"+strings.Repeat("Ünd so weiter, 世界. ", 4000))
	default:
		http.NotFound(w, r)
	}
}

func TestWebFetchInEachFormat(t *testing.T) {
	w := newWorld(t)
	w.serve("site.example.com", site)
	for _, tt := range []struct{ path, format, content, title string }{
		{"/page", "text", "Prices\n\nGold is at 2,614. Silver", "Gold"},
		{"/page", "markdown", "## Prices\n\nGold is at **2,614**. [Silver](http://site.example.com/silver)", "Gold"},
		{"/page", "html", `<title>Gold</title><nav><a href=/home>Home</a></nav><main><h2>Prices</h2><p>Gold is at <b>2,614</b>. <a href="/silver">Silver</a></main>`, "Gold"},
		{"/page", "json", `{"links":[{"text":"Silver","url":"http://site.example.com/silver"}],"text":"Prices\n\nGold is at 2,614. Silver","title":"Gold","url":"http://site.example.com/page"}`, "Gold"},
		{"/gbk", "text", "今天的黄金价格比昨天上涨了百分之二，投资者认为这与国际市场的变化有关。", "金价"},
		{"/gbk", "raw", "<title>金价</title><p>今天的黄金价格比昨天上涨了百分之二，投资者认为这与国际市场的变化有关。", ""},
		{"/json", "text", `{"gold": 2614}`, ""},
		{"/json", "json", `{"gold": 2614}`, ""},
		{"/feed", "markdown", `<rss><title>News</title></rss>`, ""},
		{"/picture", "text", "[image/png, 10 bytes: not text]", ""},
	} {
		r := fetched(t, w, map[string]any{"url": "http://site.example.com" + tt.path, "format": tt.format})
		want := WebFetchResult{URL: "http://site.example.com" + tt.path, Title: tt.title, Content: tt.content, Status: 200, Source: "http", Attempts: []protocol.Attempt{{Source: "http"}}}
		if d := cmp.Diff(want, r, cmpopts.IgnoreFields(WebFetchResult{}, "ContentType"), cmpopts.IgnoreFields(protocol.Attempt{}, "MS")); d != "" {
			t.Errorf("%s as %s (-want +got):\n%s", tt.path, tt.format, d)
		}
	}
	if r := fetched(t, w, map[string]any{"url": "http://site.example.com/moved"}); r.URL != "http://site.example.com/page" || r.Status != 200 {
		t.Errorf("moved: %+v", r)
	}
	if r := fetched(t, w, map[string]any{"url": "http://site.example.com/gone"}); r.Content != "There is no such page" || r.Status != 404 {
		t.Errorf("gone: %+v", r)
	}
}

// A chain of redirects is asked about at every hop, and a name at the address
// that it leads to.
func TestWebToolsStayOutside(t *testing.T) {
	w := newWorld(t)
	w.serve("site.example.com", site)
	w.dns.Set("inside.example.com", fakedns.Answer{A: []string{"10.0.0.1"}})
	for _, url := range []string{"http://site.example.com/inward", "http://10.0.0.1/", "http://inside.example.com/", "http://169.254.169.254/latest", "file:///etc/passwd"} {
		_, err := do[WebFetchResult](t, w.runtime, "web_fetch", map[string]any{"url": url})
		if protocol.CodeOf(err) != protocol.PolicyDenied {
			t.Errorf("web_fetch of %s: %v", url, err)
		}
		if url == "http://site.example.com/inward" {
			continue // http_request shows the redirect and goes no further
		}
		if _, err := do[HTTPRequestResult](t, w.runtime, "http_request", map[string]any{"url": url}); protocol.CodeOf(err) != protocol.PolicyDenied {
			t.Errorf("http_request to %s: %v", url, err)
		}
	}
}

// web_fetch negotiates in the same way at each hop: behind a redirect to another origin, as from http to https or to www,
// a site gets the daemon's Accept and Accept-Language too. What an agent gave http_request goes to the first origin alone.
func TestWebFetchNegotiatesAtEachHop(t *testing.T) {
	w := newWorld(t)
	var got []string
	record := func(r *http.Request) {
		got = append(got, strings.Join([]string{r.Host, r.Header.Get("Accept"), r.Header.Get("Accept-Language"), r.Header.Get("X-Own")}, " | "))
	}
	w.serve("example.com", func(rw http.ResponseWriter, r *http.Request) {
		record(r)
		http.Redirect(rw, r, "http://www.example.com/", http.StatusMovedPermanently)
	})
	w.serve("www.example.com", func(rw http.ResponseWriter, r *http.Request) {
		record(r)
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, "<p>Hello to all who read this")
	})
	fetched(t, w, map[string]any{"url": "http://example.com/", "source": "http"})
	const negotiated = " | text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8 | en-US,en;q=0.9 | "
	if d := cmp.Diff([]string{"example.com" + negotiated, "www.example.com" + negotiated}, got); d != "" {
		t.Errorf("web_fetch (-want +got):\n%s", d)
	}
	got = nil
	if _, err := do[HTTPRequestResult](t, w.runtime, "http_request", map[string]any{"url": "http://example.com/", "follow": 2,
		"headers": map[string]string{"Accept": "a/b", "Accept-Language": "de", "X-Own": "canary"}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"example.com | a/b | de | canary", "www.example.com | */* |  | "}, got); d != "" {
		t.Errorf("http_request (-want +got):\n%s", d)
	}
}

// What is empty without its script is rendered: by Chromium if there is one,
// otherwise by the reader; and a site that refuses is asked in another way.
func TestWebFetchAsksTheNextSource(t *testing.T) {
	w := newWorld(t)
	w.serve("site.example.com", site)
	web := w.runtime.Web
	web.Order = []string{"http", "jina"}
	w.reader(func(rw http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.RequestURI, "busy") {
			rw.Header().Set("Retry-After", "30")
			rw.WriteHeader(429)
			return
		}
		json.NewEncoder(rw).Encode(map[string]any{"code": 200, "data": map[string]any{"title": "Read", "url": "http://site.example.com/app", "text": "Read elsewhere", "content": "# Read elsewhere", "html": "<title>Read</title><p>Read elsewhere"}})
	})
	web.Render = func(_ context.Context, _ policy.GateOptions, url string) (command.Rendered, error) {
		return command.Rendered{HTML: "<title>Rendered</title><p>Made by script", URL: url, Status: 200}, nil
	}
	fails := func(context.Context, policy.GateOptions, string) (command.Rendered, error) {
		return command.Rendered{}, protocol.Errorf(protocol.ChromiumUnavailable, "Chromium does not start")
	}
	empty := protocol.Attempt{Source: "http", Error: "the page is empty without its script"}
	for _, tt := range []struct {
		name, path, format, source string
		render                     func(context.Context, policy.GateOptions, string) (command.Rendered, error)
		content                    string
		attempts                   []protocol.Attempt
	}{
		{"a shell", "/app", "text", "auto", web.Render, "Made by script", []protocol.Attempt{empty, {Source: "chromium"}}},
		{"a refusal", "/refused", "text", "auto", web.Render, "Made by script", []protocol.Attempt{{Source: "http", Error: "the site answers 403 Forbidden"}, {Source: "chromium"}}},
		{"a shell, Chromium fails", "/app", "markdown", "auto", fails, "# Read elsewhere", []protocol.Attempt{empty, {Source: "chromium", Error: "Chromium does not start"}, {Source: "jina"}}},
		{"a shell, no Chromium", "/app", "html", "auto", nil, "<title>Read</title><p>Read elsewhere", []protocol.Attempt{empty, {Source: "jina"}}},
		{"a page", "/page", "text", "auto", web.Render, "Prices\n\nGold is at 2,614. Silver", []protocol.Attempt{{Source: "http"}}},
		{"by name", "/page", "text", "chromium", web.Render, "Made by script", []protocol.Attempt{{Source: "chromium"}}},
		{"the reader by name", "/page", "text", "jina", web.Render, "Read elsewhere", []protocol.Attempt{{Source: "jina"}}},
		{"a shell, asked for as it is", "/app", "text", "http", web.Render, "", []protocol.Attempt{{Source: "http"}}},
		{"raw", "/app", "raw", "auto", web.Render, `<title>App</title><div id=root></div><script src=/app.js></script>`, []protocol.Attempt{{Source: "http"}}},
	} {
		web.Render = tt.render
		r := fetched(t, w, map[string]any{"url": "http://site.example.com" + tt.path, "format": tt.format, "source": tt.source})
		if d := cmp.Diff(tt.attempts, r.Attempts, cmpopts.IgnoreFields(protocol.Attempt{}, "MS")); d != "" || r.Content != tt.content || r.Source != tt.attempts[len(tt.attempts)-1].Source {
			t.Errorf("%s: %q from %s (-want +got):\n%s", tt.name, r.Content, r.Source, d)
		}
	}

	// Without a Chromium the order is the operator's; what all sources say is told.
	web.Render, web.Order = nil, []string{"jina", "http"}
	if r := fetched(t, w, map[string]any{"url": "http://site.example.com/page"}); r.Source != "jina" {
		t.Errorf("read from %s, want jina first", r.Source)
	}
	_, err := do[WebFetchResult](t, w.runtime, "web_fetch", map[string]any{"url": "http://busy.example.com/"})
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.FetchFailed || len(e.Details["attempts"].([]protocol.Attempt)) != 2 || !strings.Contains(e.Message, "busy.example.com") {
		t.Errorf("every source failed: %+v", err)
	}
	_, err = do[WebFetchResult](t, w.runtime, "web_fetch", map[string]any{"url": "http://site.example.com/page", "source": "chromium"})
	if protocol.CodeOf(err) != protocol.ChromiumUnavailable {
		t.Errorf("Chromium by name: %v", err)
	}
}

// Nothing is longer than max_chars, whatever is asked for, and reading on by
// next_offset gives every character once.
func TestWebFetchIsNeverLongerThanAsked(t *testing.T) {
	w := newWorld(t)
	w.serve("site.example.com", site)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "max_chars")
		params := map[string]any{
			"url":       "http://site.example.com" + rapid.SampledFrom([]string{"/page", "/gbk", "/json", "/feed", "/picture", "/app", "/gone"}).Draw(t, "path"),
			"format":    rapid.SampledFrom([]string{"text", "markdown", "html", "json", "raw"}).Draw(t, "format"),
			"max_chars": n, "source": "http",
		}
		whole := fetched(t, w, map[string]any{"url": params["url"], "format": params["format"], "source": "http", "max_chars": 100000}).Content
		var read strings.Builder
		for {
			r := fetched(t, w, params)
			if utf8.RuneCountInString(r.Content) > n || r.Truncated != (r.NextOffset != 0) {
				t.Fatalf("%v: %d characters, truncated %v, next %d", params, utf8.RuneCountInString(r.Content), r.Truncated, r.NextOffset)
			}
			read.WriteString(r.Content)
			if r.NextOffset == 0 {
				break
			}
			params["offset"] = r.NextOffset
		}
		if read.String() != whole {
			t.Fatalf("%v: read %q in parts, %q at once", params, read.String(), whole)
		}
	})
}

// A page above the threshold is answered about by a model, or cut with what to
// do; either way the rest can be read.
func TestLongPagesAreMadeToFit(t *testing.T) {
	w := newWorld(t)
	w.runtime.Web.Config.StripThresholdKB = 40
	w.serve("site.example.com", site)
	long := map[string]any{"url": "http://site.example.com/long", "max_chars": 1000000}
	whole := utf8.RuneCountInString(strings.TrimSpace(strings.Repeat("Ünd so weiter, 世界. ", 4000)))
	r := fetched(t, w, long)
	if len(r.Content) > 40<<10 || len(r.Content) < 39<<10 || !r.Truncated || !strings.Contains(r.Note, "say in extract") {
		t.Errorf("cut: %d bytes, truncated %v, note %q", len(r.Content), r.Truncated, r.Note)
	}
	seen := utf8.RuneCountInString(r.Content)
	for r.NextOffset != 0 {
		long["offset"] = r.NextOffset
		r = fetched(t, w, long)
		seen += utf8.RuneCountInString(r.Content)
	}
	if seen != whole {
		t.Errorf("read %d of %d characters in parts", seen, whole)
	}
	delete(long, "offset")
	long["extract"] = "what follows"
	if r = fetched(t, w, long); !r.Truncated || !strings.Contains(r.Note, "extract.base_url") {
		t.Errorf("no endpoint: %q", r.Note)
	}
	w.model(`{"choices":[{"message":{"content":"the world"}}]}`)
	if r = fetched(t, w, long); r.Content != "the world" || !r.Extracted || r.Truncated || r.NextOffset != 0 {
		t.Errorf("extracted: %+v", r)
	}
	long["max_chars"] = 3
	if r = fetched(t, w, long); r.Content != "the" || !r.Truncated {
		t.Errorf("extracted, three characters: %+v", r)
	}
	if r = fetched(t, w, map[string]any{"url": "http://site.example.com/page", "extract": "the price"}); r.Extracted {
		t.Errorf("a short page was given to the model: %+v", r)
	}
	w.model(`nonsense`)
	long["max_chars"] = 1000000
	if r = fetched(t, w, long); !r.Truncated || !strings.Contains(r.Note, "does not answer as its API documents") {
		t.Errorf("a failing model: %q", r.Note)
	}
	w.runtime.Web.Config.StripThresholdKB = 0
	delete(long, "extract")
	if r = fetched(t, w, long); utf8.RuneCountInString(r.Content) != whole || r.Truncated {
		t.Errorf("threshold 0: %d characters", utf8.RuneCountInString(r.Content))
	}
}

func TestWebSearch(t *testing.T) {
	w := newWorld(t)
	w.serve("brave.example.com", func(rw http.ResponseWriter, r *http.Request) {
		io.WriteString(rw, `{"web":{"results":[{"title":"One","url":"https://one.example.com/","description":"First"},{"title":"Two","url":"https://two.example.com/","description":"Second"}]}}`)
	})
	_, err := do[WebSearchResult](t, w.runtime, "web_search", map[string]any{"query": "x"})
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.FetchFailed || e.Details["attempts"] != nil || !strings.Contains(e.Next, "search.brave_api_key") {
		t.Errorf("no provider: %+v", err)
	}
	o := search.Options{Transport: w.runtime.Web.Transport, Check: w.gate.CheckURL}
	w.runtime.Web.Search = search.New(search.Config{Providers: []string{"brave"}, BraveAPIKey: "k", BraveURL: "http://brave.example.com/search"}, reader.Config{}, o)
	r, err := do[WebSearchResult](t, w.runtime, "web_search", map[string]any{"query": "x", "max_results": 1})
	want := WebSearchResult{[]search.Result{{Title: "One", URL: "https://one.example.com/", Snippet: "First"}}, "brave"}
	if d := cmp.Diff(want, r); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for _, query := range []string{" ", strings.Repeat("x", maxQuery+1)} {
		if _, err := do[WebSearchResult](t, w.runtime, "web_search", map[string]any{"query": query}); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("a query of %d characters: %v", len(query), err)
		}
	}
}

// What a session narrowed itself to holds for the web tools that name it, and
// for those of the connection whose own it is: in the address, in a redirect,
// in the browser that renders, and in what the reader was led to.
func TestASessionsDomainsHoldForTheWebTools(t *testing.T) {
	w := newWorld(t)
	w.serve("inside.example.com", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(rw, r, "http://outside.example.org/", http.StatusFound)
			return
		}
		io.WriteString(rw, "inside")
	})
	w.serve("outside.example.org", func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "outside") })
	w.reader(func(rw http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(rw).Encode(map[string]any{"code": 200, "data": map[string]any{"url": "http://outside.example.org/", "text": "outside", "content": "outside"}})
	})
	var rendered []string
	w.runtime.Web.Render = func(_ context.Context, within policy.GateOptions, _ string) (command.Rendered, error) {
		rendered = within.AllowedDomains
		return command.Rendered{HTML: "<p>Made by script", URL: "http://inside.example.com/", Status: 200}, nil
	}
	w.runtime.Sessions = session.NewManager(session.Config{IdleTimeout: time.Hour, Max: 9, MaxPerAgent: 9, Queue: 9}, nil, w.runtime.Log)
	t.Cleanup(func() { w.runtime.Sessions.Shutdown(context.Background()) })
	for name, domains := range map[string][]string{"narrow": {"inside.example.com"}, "wide": nil} {
		if _, err := w.runtime.Sessions.Open("test", session.Options{Name: name, AllowedDomains: domains}); err != nil {
			t.Fatal(err)
		}
	}
	own := &command.Caller{Agent: "test"}
	if job, err := w.runtime.Prepare(own, nil, "ping", []byte(`{"session":"narrow"}`)); err != nil {
		t.Fatal(err)
	} else {
		job.Drop()
	}
	for _, tt := range []struct {
		caller                        *command.Caller
		command, session, url, source string
		want                          string
	}{
		{nil, "web_fetch", "wide", "outside.example.org/", "http", "ok"},
		{nil, "web_fetch", "", "outside.example.org/", "http", "ok"},
		{nil, "web_fetch", "narrow", "inside.example.com/", "http", "ok"},
		{nil, "web_fetch", "narrow", "outside.example.org/", "http", "not_allowlisted"},
		{nil, "web_fetch", "narrow", "inside.example.com/away", "http", "not_allowlisted"},
		{nil, "web_fetch", "narrow", "inside.example.com/", "chromium", "ok"},
		{nil, "web_fetch", "narrow", "inside.example.com/", "jina", "not_allowlisted"},
		{nil, "web_fetch", "gone", "inside.example.com/", "http", "session_not_found"},
		{own, "web_fetch", "", "outside.example.org/", "http", "not_allowlisted"},
		{own, "web_fetch", "wide", "outside.example.org/", "http", "ok"},
		{nil, "http_request", "narrow", "inside.example.com/", "", "ok"},
		{nil, "http_request", "narrow", "outside.example.org/", "", "not_allowlisted"},
		{nil, "http_request", "gone", "outside.example.org/", "", "session_not_found"},
		{own, "http_request", "", "outside.example.org/", "", "not_allowlisted"},
	} {
		params := map[string]any{"url": "http://" + tt.url}
		if tt.session != "" {
			params["session"] = tt.session
		}
		if tt.source != "" {
			params["source"] = tt.source
		}
		caller := tt.caller
		if caller == nil {
			caller = &command.Caller{Agent: "test"}
		}
		raw, _ := json.Marshal(params)
		job, err := w.runtime.Prepare(caller, nil, tt.command, raw)
		if err == nil {
			_, err = job.Run(t.Context())
		}
		if got := reasonOf(err); got != tt.want {
			t.Errorf("%s %v of a connection with %q: %s, want %s", tt.command, params, caller.Session(), got, tt.want)
		}
	}
	if d := cmp.Diff([]string{"inside.example.com"}, rendered); d != "" {
		t.Errorf("rendered within: -want +got\n%s", d)
	}
}
