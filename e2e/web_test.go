package e2e_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// web is what the web tools meet in these tests: a site, a search service and
// a model, all on loopback.
func web(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/app":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, `<!DOCTYPE html><title>App</title><div id="root"></div><script>
				document.getElementById("root").innerHTML = "<main><h1>Orders</h1><p>" + "Made by script. ".repeat(30) + "</main>"</script><script src="/none.js"></script>`)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			z := gzip.NewWriter(w)
			zeros := make([]byte, 1<<20)
			for range 1 << 10 {
				if _, err := z.Write(zeros); err != nil {
					return
				}
			}
			z.Close()
		case "/search":
			json.NewEncoder(w).Encode(map[string]any{"results": []any{map[string]string{"title": "Found", "url": "https://found.example/", "content": r.URL.Query().Get("q")}}})
		case "/v1/chat/completions":
			io.WriteString(w, `{"choices":[{"message":{"content":"forty-two"}}]}`)
		case "/long":
			io.WriteString(w, "<p>"+strings.Repeat("A long page about many things. ", 10000))
		default:
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, r.Method)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type fetched struct {
	Content, Source, Note string
	Status                int
	Extracted             bool
	Attempts              []protocol.Attempt
}

// The web tools of a daemon with Chromium: what needs script is rendered, and
// no session is opened for it.
func TestWebTools(t *testing.T) {
	t.Parallel()
	site := web(t)
	var proxied atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	t.Cleanup(proxy.Close)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_SEARCH__PROVIDERS": "searxng", "BROWSERD_SEARCH__SEARXNG_URL": site,
		"BROWSERD_EXTRACT__BASE_URL": site + "/v1", "BROWSERD_EXTRACT__MODEL": "small", "BROWSERD_EXTRACT__API_KEY": "canary-key",
		"BROWSERD_FALLBACK__JINA_READER_URL": site + "/reader/",
		"HTTP_PROXY":                         proxy.URL, "http_proxy": proxy.URL, "ALL_PROXY": proxy.URL, "NO_PROXY": "",
	}})
	a := newAgent(t, d)
	ask := func(command string, p params, into any) {
		t.Helper()
		if err := a.c.Call(t.Context(), command, p, into); err != nil {
			t.Fatalf("%s %v: %v", command, p, err)
		}
	}
	var page fetched
	ask("web_fetch", params{"url": site + "/app"}, &page)
	if !strings.Contains(page.Content, "Made by script.") || page.Source != "chromium" || len(page.Attempts) != 2 || page.Attempts[0].Error != "the page is empty without its script" {
		t.Errorf("a page made by script: %+v", page)
	}
	page = fetched{}
	ask("web_fetch", params{"url": site + "/app", "source": "http"}, &page)
	if page.Content != "" || page.Source != "http" {
		t.Errorf("the same over HTTP: %+v", page)
	}
	ask("web_fetch", params{"url": site + "/long", "extract": "the answer"}, &page)
	if page.Content != "forty-two" || !page.Extracted {
		t.Errorf("a long page: %+v", page)
	}
	var found struct {
		Provider string
		Results  []struct{ Title, URL, Snippet string }
	}
	ask("web_search", params{"query": "a & b"}, &found)
	if found.Provider != "searxng" || len(found.Results) != 1 || found.Results[0].Snippet != "a & b" {
		t.Errorf("a search: %+v", found)
	}
	var answer struct {
		OK      bool
		Status  int
		Content string
	}
	ask("http_request", params{"url": site + "/tea", "method": "DELETE"}, &answer)
	if answer.OK || answer.Status != http.StatusTeapot || answer.Content != "DELETE" {
		t.Errorf("a request: %+v", answer)
	}
	var list struct{ Sessions []any }
	ask("session_list", params{}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("the web tools opened sessions: %v", list.Sessions)
	}
	if n := proxied.Load(); n != 0 {
		t.Errorf("the environment's proxy was asked %d times", n)
	}
	if strings.Contains(d.Log(), "canary-key") {
		t.Error("the key of the model is in the log")
	}
}

// Threat gzip-bomb, on the daemon itself: a gigabyte of zeros in a megabyte
// does not grow it by 50 MB.
func TestABombDoesNotGrowTheDaemon(t *testing.T) {
	t.Parallel()
	site := web(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	a := newAgent(t, d)
	var page fetched
	small := params{"url": site + "/tea", "source": "http"}
	if err := a.c.Call(t.Context(), "web_fetch", small, &page); err != nil {
		t.Fatal(err)
	}
	before := peak(t, d.PID)
	for _, command := range []string{"web_fetch", "http_request"} {
		p := params{"url": site + "/bomb", "max_chars": 100}
		if err := a.c.Call(t.Context(), command, p, &page); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		if !strings.Contains(page.Note, "is cut at") {
			t.Errorf("%s: %q", command, page.Note)
		}
	}
	if grown := peak(t, d.PID) - before; grown > 50<<10 {
		t.Errorf("the daemon's peak grew by %d KB", grown)
	}
}

var peakRE = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// peak is the most memory that a process has had, in KB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := peakRE.FindSubmatch(raw)
	if m == nil {
		untested.Missing(t, "the kernel does not say VmHWM")
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}
