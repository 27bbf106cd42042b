package fallback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate lets everything pass, and says of every host whether it is public.
type gate struct {
	transport *http.Transport
	private   error
	asked     []string
}

func (g *gate) CheckURL(_ context.Context, url string) (string, error) {
	g.asked = append(g.asked, url)
	if strings.Contains(url, "forbidden") {
		return "", protocol.Errorf(protocol.PolicyDenied, "%s is forbidden", url)
	}
	return url, nil
}
func (g *gate) Transport() *http.Transport                 { return g.transport }
func (g *gate) Public(_ context.Context, url string) error { return g.private }

// brief is a context that ends when it has been asked so many times.
type brief struct {
	context.Context
	left int
}

func (b *brief) Err() error {
	if b.left--; b.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestADocumentIsMadeInItsTime: wherever on the way to a document the command's time
// ends, the page stays where it is and nothing goes on.
func TestADocumentIsMadeInItsTime(t *testing.T) {
	s := newSite(t)
	p := s.page(t)
	text := strings.Repeat("<input autofocus hidden>", 5000)
	for _, asks := range []int{1, 20, 3000, 8000, 13000} {
		ctx := &brief{t.Context(), asks}
		if _, err := p.load(ctx, source{text: text, charset: "utf-8"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %d: %v", asks, err)
		}
		if ctx.left < -10 {
			t.Errorf("after %d: went on for %d more", asks, -ctx.left)
		}
	}
}

const (
	shellPage = `<title>App</title><div id=root></div><script src=/app.js></script>`
	realPage  = `<title>Real</title><h1>Real</h1><p>Some words.</p><a href=/next>Next</a>`
)

// site serves pages by path, and speaks the reader's protocol under /reader/.
type site struct {
	*httptest.Server
	gate    *gate
	chain   *SourceChain
	reads   int      // by the reader
	given   []string // X-Own of the requests to the reader and to the site itself
	served  int      // of /once
	refuses int      // the status that the reader answers with; 0: it renders
}

func newSite(t *testing.T, order ...string) *site {
	t.Helper()
	s := &site{gate: &gate{transport: &http.Transport{}}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.given = append(s.given, r.URL.Path+" "+r.Header.Get("X-Own"))
		if strings.HasPrefix(r.URL.Path, "/reader/") {
			s.reads++
			if s.refuses != 0 {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(s.refuses)
				return
			}
			target := strings.TrimPrefix(r.RequestURI, "/reader/")
			json.NewEncoder(w).Encode(map[string]any{"code": 200, "data": map[string]any{"url": target, "html": "<title>Rendered</title><h1>Rendered</h1><a href=next>Next</a>"}})
			return
		}
		w.Header().Set("Content-Type", "text/html")
		var status int
		fmt.Sscanf(r.URL.Path, "/status/%d", &status)
		switch {
		case status != 0:
			w.WriteHeader(status)
			io.WriteString(w, "<title>No</title><p>Not here.")
		case r.URL.Path == "/shell":
			io.WriteString(w, shellPage)
		case r.URL.Path == "/once":
			w.Header().Set("Cache-Control", "no-store")
			s.served++
			if s.served > 1 {
				w.Header().Set("Location", "http://forbidden.example/")
				w.WriteHeader(302)
				return
			}
			io.WriteString(w, realPage)
		case r.URL.Path == "/file":
			w.Header().Set("Content-Type", "application/zip")
			io.WriteString(w, "PK")
		case r.URL.Path == "/json":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"a":"<b>"}`)
		default:
			io.WriteString(w, realPage)
		}
	}))
	t.Cleanup(func() { s.Close(); s.gate.transport.CloseIdleConnections() })
	everywhere := func(_ context.Context, url string) (string, error) { return url, nil }
	r := reader.New(reader.Config{ReaderURL: s.URL + "/reader/"}, reader.Options{
		Transport: s.gate.transport, Check: everywhere, Public: func(context.Context, string) error { return nil },
	})
	if order == nil {
		order = []string{Jina, HTTP}
	}
	s.chain = NewSourceChain(Config{Order: order}, r)
	return s
}

func (s *site) page(t *testing.T) *Page {
	t.Helper()
	p := New(Options{Gate: s.gate, Sources: s.chain})
	t.Cleanup(func() { p.Close(context.Background()) })
	return p
}

// tries opens a page and says what was tried: "http: why, jina".
func tries(p *Page) string {
	var list []string
	for _, a := range p.Attempts() {
		if a.Error != "" {
			a.Source += ": " + a.Error
		}
		list = append(list, a.Source)
	}
	return strings.Join(list, ", ")
}

// Opening takes direct HTTP, and the reader where that is refused or empty.
func TestOpeningTriesTheSources(t *testing.T) {
	for _, c := range []struct {
		name, path, source string
		order              []string
		private            bool
		refuses            int
		want, tried        string // "source title", or the error's code
	}{
		{name: "a page", path: "/", want: "http Real", tried: "http"},
		{name: "an empty shell", path: "/shell", want: "jina Rendered", tried: "http: the page is an empty shell that needs script, jina"},
		{name: "an empty shell without a reader", path: "/shell", order: []string{HTTP}, want: "http App", tried: "http"},
		{name: "an empty shell in private", path: "/shell", private: true, want: "http App", tried: "http: the page is an empty shell that needs script"},
		{name: "an empty shell that the reader cannot have", path: "/shell", refuses: 422, want: "http App"},
		{name: "refused", path: "/status/403", want: "jina Rendered", tried: "http: the site refuses: HTTP Forbidden, jina"},
		{name: "refused to the reader too", path: "/status/429", refuses: 500, want: "http No"},
		{name: "not found is an answer", path: "/status/404", want: "http No", tried: "http"},
		{name: "the reader by name", path: "/", source: Jina, want: "jina Rendered", tried: "jina"},
		{name: "http by name", path: "/shell", source: HTTP, want: "http App", tried: "http"},
		{name: "the reader by name in private", path: "/", source: Jina, private: true, want: "policy_denied"},
		{name: "a source that is switched off", path: "/", source: Jina, order: []string{HTTP}, want: "unsupported"},
		{name: "no source", path: "/", order: []string{}, want: "chromium_unavailable"},
		{name: "the policy", path: "/forbidden", want: "policy_denied"},
		{name: "a file", path: "/file", want: "navigation_failed"},
		{name: "plain text", path: "/json", want: "http "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, c.order...)
			if c.order != nil && len(c.order) == 0 {
				s.chain = NewSourceChain(Config{}, nil)
			}
			s.refuses = c.refuses
			if c.private {
				s.gate.private = errors.New("it is private")
			}
			p := s.page(t)
			source := c.source
			if source == "" {
				source = "auto"
			}
			_, err := p.OpenFrom(t.Context(), source, s.URL+c.path)
			got := string(protocol.CodeOf(err))
			if err == nil {
				got = p.State().Source + " " + p.State().Title
			}
			if got != c.want || c.tried != "" && tries(p) != c.tried {
				t.Errorf("got %q, tried %q; want %q, %q (%v)", got, tries(p), c.want, c.tried, err)
			}
			if c.private && s.reads > 0 {
				t.Error("the reader was told a private address")
			}
		})
	}
}

// A rendered page has refs, and its links lead on by the same sources.
func TestRenderedPagesAreActedOn(t *testing.T) {
	s := newSite(t)
	p, refs := s.page(t), snapshot.NewRefs()
	if _, err := p.OpenFrom(t.Context(), "auto", s.URL+"/shell"); err != nil {
		t.Fatal(err)
	}
	nodes, err := p.Find(t.Context(), refs, protocol.Query{Role: "link", Name: "Next", Limit: 1})
	if err != nil || len(nodes) != 1 {
		t.Fatal(nodes, err)
	}
	ref := snapshot.RefOf(refs.Number(nodes[0]))
	e, err := p.Act(t.Context(), refs, protocol.Act{Action: protocol.Click{Ref: ref}})
	if err != nil || e.Navigated != s.URL+"/next" || e.Hit != ref || p.State().Source != HTTP {
		t.Fatalf("%+v %v %+v", e, err, p.State())
	}
	if _, err := p.Act(t.Context(), refs, protocol.Act{Action: protocol.Click{Ref: ref}}); protocol.CodeOf(err) != protocol.StaleRef {
		t.Errorf("a ref of the page before: %v", err)
	}
	if e, err := p.History(t.Context(), -1); err != nil || e.Navigated != s.URL+"/shell" || p.State().Source != Jina {
		t.Errorf("back: %+v %v %+v", e, err, p.State())
	}
	if s.reads != 1 {
		t.Errorf("the reader was asked %d times, want once: the history keeps what it made", s.reads)
	}
}

// A reader gets none of a session's headers: it is not the origin that they are for.
func TestHeadersAreNotForReaders(t *testing.T) {
	s := newSite(t)
	p := New(Options{Gate: s.gate, Sources: s.chain, Headers: &protocol.Headers{Values: map[string]string{"X-Own": "secret"}, Origins: []string{s.URL}}})
	t.Cleanup(func() { p.Close(context.Background()) })
	for _, path := range []string{"/", "/shell"} { // the second is asked for over HTTP first, and read then
		source := map[string]string{"/": Jina, "/shell": "auto"}[path]
		if _, err := p.OpenFrom(t.Context(), source, s.URL+path); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"/reader/" + s.URL + "/ ", "/shell secret", "/reader/" + s.URL + "/shell "}
	if !slices.Equal(s.given, want) {
		t.Errorf("the headers went with %q, want %q", s.given, want)
	}
}

// A reader that asks for patience is left alone, and asked again after it.
func TestAReaderThatFailsIsLeftAlone(t *testing.T) {
	s := newSite(t)
	now := time.Now()
	s.chain.breaker.now = func() time.Time { return now }
	s.refuses = http.StatusTooManyRequests
	open := func() error {
		_, err := s.page(t).OpenFrom(t.Context(), Jina, s.URL+"/")
		return err
	}
	state := func() string { return s.chain.States()[1].Breaker }
	if err := open(); protocol.CodeOf(err) != protocol.FetchFailed {
		t.Fatal(err)
	}
	if err := open(); protocol.CodeOf(err) != protocol.FetchFailed || s.reads != 1 || state() != "open" {
		t.Fatalf("%v; the reader was asked %d times; %s", err, s.reads, state())
	}
	now = now.Add(2 * time.Minute)
	s.refuses = 0
	if state() != "half-open" {
		t.Errorf("after its time: %s", state())
	}
	if err := open(); err != nil || s.reads != 2 || state() != "closed" {
		t.Errorf("%v; the reader was asked %d times; %s", err, s.reads, state())
	}
}

func TestBreaker(t *testing.T) {
	now := time.Now()
	b := Breaker{now: func() time.Time { return now }}
	try := func(failed bool) string {
		ok, wait := b.Allow()
		if !ok {
			return "left alone for " + wait.String()
		}
		b.Done(failed, 0)
		return "asked"
	}
	var got []string
	for range 4 {
		got = append(got, try(true))
	}
	now = now.Add(firstPause)
	ok, _ := b.Allow() // one asks
	other, _ := b.Allow()
	got = append(got, fmt.Sprint(ok, other))
	b.Done(true, 0)
	got = append(got, try(true))
	now = now.Add(2 * firstPause)
	got = append(got, try(false), try(true), try(true), try(true), try(true))
	want := []string{"asked", "asked", "asked", "left alone for 30s", "true false", "left alone for 1m0s", "asked", "asked", "asked", "asked", "left alone for 30s"}
	if d := cmp.Diff(got, want); d != "" {
		t.Error(d)
	}
}

// A static session's cookies are read, set and kept as a live one's are.
func TestCookiesAndState(t *testing.T) {
	s := newSite(t, HTTP)
	p := s.page(t)
	var (
		_ session.CookieJar   = p
		_ session.StateSaver  = p
		_ session.SourceChain = p
	)
	if err := p.SetCookies(t.Context(), []protocol.Cookie{{Name: "a", Value: "1"}}); protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("a cookie of no page: %v", err)
	}
	if _, err := p.OpenFrom(t.Context(), "auto", s.URL+"/x/y"); err != nil {
		t.Fatal(err)
	}
	err := p.SetCookies(t.Context(), []protocol.Cookie{
		{Name: "a", Value: "1"}, {Name: "b", Value: "2", Domain: ".example.com", Secure: true, Expires: 4e9}, {Name: "c", Value: "3", URL: "http://other.example.com/", Path: "/x", SameSite: "Lax"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []protocol.Cookie{
		{Name: "a;b", Value: "1"}, {Name: "a", Value: "x\r\ny"}, {Name: "__Host-a", Value: "1", Domain: ".example.com", Secure: true}, {Name: "a", Value: "1", Domain: ".com"},
		{Name: "a", Value: "1", SameSite: "None"}, {Name: "a", Value: "1", URL: "ftp://x/"}, {},
	} {
		if err := p.SetCookies(t.Context(), []protocol.Cookie{bad}); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	got, err := p.Cookies(t.Context(), nil)
	want := []protocol.Cookie{
		{Name: "a", Value: "1", Domain: "127.0.0.1", Path: "/"}, {Name: "b", Value: "2", Domain: ".example.com", Path: "/", Secure: true, Expires: 4e9},
		{Name: "c", Value: "3", Domain: "other.example.com", Path: "/x", SameSite: "Lax"},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	saved, err := p.SaveState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	saved.Origins = []protocol.Origin{{Origin: "https://example.com", LocalStorage: [][2]string{{"k", "v"}}}}
	q := s.page(t)
	if err := q.LoadState(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	again, err := q.SaveState(t.Context())
	again.Saved = saved.Saved
	if d := cmp.Diff(saved, again); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	sub, err := q.Cookies(t.Context(), []string{"https://www.example.com/", "http://other.example.com/x/y"})
	if d := cmp.Diff(want[1:], sub); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if n, err := q.ClearCookies(t.Context(), []string{"https://www.example.com/"}, ""); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := q.ClearCookies(t.Context(), nil, ""); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}

// Back, forward and reload: a document that was left is shown as it was; one
// that may not be stored is asked for again, and where that fails the page, its
// refs and its place in the history stay.
func TestHistory(t *testing.T) {
	s := newSite(t, HTTP)
	p, refs := s.page(t), snapshot.NewRefs()
	open := func(path string) {
		t.Helper()
		url := s.URL + path
		if path == blank {
			url = blank
		}
		if _, err := p.OpenFrom(t.Context(), "auto", url); err != nil {
			t.Fatal(err)
		}
	}
	step := func(delta int, want string, code protocol.Code) {
		t.Helper()
		_, err := p.History(t.Context(), delta)
		if at := strings.TrimPrefix(p.State().URL, s.URL); protocol.CodeOf(err) != code || at != want {
			t.Fatalf("%+d: at %s, %v; want %s, %q", delta, at, err, want, code)
		}
	}
	step(-1, blank, protocol.NavigationFailed)
	open("/once")
	open("/a")
	open("/a#part")
	open(blank)
	step(0, blank, "")
	step(-1, "/a#part", "")
	step(-1, "/a", "")
	nodes, err := p.Find(t.Context(), refs, protocol.Query{Role: "link", Limit: 1})
	if err != nil || len(nodes) != 1 {
		t.Fatal(nodes, err)
	}
	ref := snapshot.RefOf(refs.Number(nodes[0]))
	step(-1, "/a", protocol.PolicyDenied) // /once leads elsewhere now
	step(1, "/a#part", "")
	if _, err := p.Read(t.Context(), refs, ref, "text", ""); err != nil {
		t.Errorf("the ref of a page that was not left: %v", err)
	}
	step(0, "/a#part", "")
	if _, err := p.Read(t.Context(), refs, ref, "text", ""); protocol.CodeOf(err) != protocol.StaleRef {
		t.Errorf("a ref from before a reload: %v", err)
	}
	step(1, blank, "")
	step(1, blank, protocol.NavigationFailed)
	step(-1, "/a#part", "")
	open("/b")
	step(1, "/b", protocol.NavigationFailed)
}

// A document or a form that is answered with a status of 400 or more is told as in
// Chromium, its secrets masked.
func TestAFailedDocumentIsTold(t *testing.T) {
	s := newSite(t, HTTP)
	for _, c := range []struct {
		method, path, told string
		status             int
	}{
		{"GET", "/", "", 0},
		{"GET", "/status/404?token=abc", "/status/404?token=***", 404},
		{"POST", "/status/422", "/status/422", 422},
	} {
		p := s.page(t)
		to, _ := parseAddress(s.URL+c.path, "")
		e, err := p.navigate(t.Context(), request{method: c.method, to: to}, "auto", appendEntry)
		if err != nil {
			t.Fatal(err)
		}
		var want []protocol.FailedRequest
		if c.status != 0 {
			want = []protocol.FailedRequest{{Method: c.method, URL: s.URL + c.told, Status: c.status}}
		}
		if !slices.Equal(e.RequestsFailed, want) || e.Navigated == "" || !e.Changed {
			t.Errorf("%s %s: %+v, want %v", c.method, c.path, e, want)
		}
	}
}
