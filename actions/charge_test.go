package actions

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fallback/reader"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/web/search"
)

// withCredits gives the world's agent 20 credits.
func (w *world) withCredits() {
	cfg := ledger.Config{Credits: true, Initial: 20, Costs: ledger.Costs{WebSearch: 2, WebFetch: 1, HTTPRequest: 1, Render: 3}, Audit: true, Keep: time.Hour}
	l, err := ledger.Open(w.t.Context(), cfg, w.t.TempDir(), nil, w.runtime.Log)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close(context.Background()) })
	w.runtime.Ledger = l
}

// What was refused, or failed before anything was sent, costs nothing; what was
// sent and failed costs what it costs.
func TestOnlyWorkIsCharged(t *testing.T) {
	w := newWorld(t)
	w.withCredits()
	asked := 0
	w.serve("search.example.com", func(rw http.ResponseWriter, _ *http.Request) {
		asked++
		rw.Header().Set("Retry-After", "60")
		rw.WriteHeader(http.StatusTooManyRequests)
	})
	w.serve("site.example.com", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, `<title>App</title><div id=root></div><script src=/app.js></script>`)
	})
	w.runtime.Web.Search = search.New(search.Config{Providers: []string{"searxng"}, SearxngURL: "http://search.example.com/"}, reader.Config{},
		search.Options{Transport: w.runtime.Web.Transport, Check: w.gate.CheckURL})
	w.runtime.Web.Render = func(context.Context, policy.GateOptions, string) (command.Rendered, error) {
		return command.Rendered{HTML: "<p>made", URL: "http://site.example.com/", Status: 200}, nil
	}
	unanswered := func() {
		answers, err := policy.ReadAnswers("", nil)
		if err != nil {
			t.Fatal(err)
		}
		w.runtime.Rules = command.Rules{Autonomy: policy.Supervised, Confirm: []string{"web_fetch"}, Timeout: time.Minute, Confirmations: policy.NewConfirmations(answers, true)}
	}
	for _, step := range []struct {
		what    string
		command string
		params  map[string]any
		code    protocol.Code
		cost    int
		before  func()
	}{
		{"a page", "web_fetch", map[string]any{"url": "http://site.example.com/", "source": "http"}, "", 1, nil},
		{"a page that Chromium renders", "web_fetch", map[string]any{"url": "http://site.example.com/"}, "", 4, nil},
		{"a search that a provider refuses", "web_search", map[string]any{"query": "gold"}, protocol.FetchFailed, 2, nil},
		{"a search for which nobody is asked", "web_search", map[string]any{"query": "gold"}, protocol.FetchFailed, 0, nil},
		{"an address of nobody's", "http_request", map[string]any{"url": "http://10.0.0.1/"}, protocol.PolicyDenied, 0, nil},
		{"a header that is none", "http_request", map[string]any{"url": "http://site.example.com/", "headers": map[string]string{"a b": "c"}}, protocol.InvalidParams, 0, nil},
		{"a reader that there is not", "web_fetch", map[string]any{"url": "http://site.example.com/", "source": "jina"}, protocol.Unsupported, 0, nil},
		{"a confirmation that does not come in time", "web_fetch", map[string]any{"url": "http://site.example.com/", "timeout_ms": 50}, protocol.ConfirmationDenied, 0, unanswered},
	} {
		if step.before != nil {
			step.before()
		}
		had, err := w.runtime.Ledger.Balance(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		_, err = do[any](t, w.runtime, step.command, step.params)
		if protocol.CodeOf(err) != step.code && (err != nil || step.code != "") {
			t.Errorf("%s: %v, want %q", step.what, err, step.code)
		}
		has, err := w.runtime.Ledger.Balance(t.Context(), "test")
		if err != nil || had-has != step.cost {
			t.Errorf("%s cost %d, want %d (%v)", step.what, had-has, step.cost, err)
		}
	}
	if asked != 1 {
		t.Errorf("the provider was asked %d times, and had asked to be left alone", asked)
	}
}

// A reader that fallback.order leaves out is told nothing, by no name.
func TestAReaderThatIsSwitchedOffIsNotAsked(t *testing.T) {
	w := newWorld(t)
	w.reader(func(http.ResponseWriter, *http.Request) { t.Error("the reader was told an address") })
	w.serve("site.example.com", func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "text") })
	w.runtime.Web.Order = []string{"http"}
	for _, format := range []string{"text", "html", "raw"} {
		_, err := do[WebFetchResult](t, w.runtime, "web_fetch", map[string]any{"url": "http://site.example.com/", "source": "jina", "format": format})
		if protocol.CodeOf(err) != protocol.Unsupported {
			t.Errorf("format %s: %v, want unsupported", format, err)
		}
	}
}
