package e2e_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// After a visit /metrics tells what was done, how it ended and what Chromium
// takes, to who has a token, and nothing of what was visited.
func TestMetrics(t *testing.T) {
	aboutOneProcess(t, "its metrics")
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_LEDGER__CREDITS": "true", "BROWSERD_LEDGER__INITIAL": "1"}})
	c := d.Dial(t)
	if err := c.Call(t.Context(), "open", map[string]any{"url": demoServer(t) + "items?canary"}, nil); err != nil {
		t.Fatal(err)
	}
	// A page's own request for what is forbidden.
	if err := c.Call(t.Context(), "open", map[string]any{"url": "about:blank"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), "eval", map[string]any{"expression": `fetch("http://10.11.12.13/canary", {mode: "no-cors"}).catch(() => 0)`}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), "click", map[string]any{"ref": "@e999"}, nil); err == nil {
		t.Fatal("clicked a ref that was never given out")
	}
	// One fetch is paid for, one is refused before it is sent, one has no credits left.
	for _, url := range []string{"http://10.11.12.13/canary", demoServer(t), demoServer(t)} {
		c.Call(t.Context(), "web_fetch", map[string]any{"url": url, "source": "http"}, nil)
	}
	get := func(token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	status, text := get(d.Token)
	if status != http.StatusOK {
		t.Fatalf("HTTP %d\n%s", status, text)
	}
	for _, want := range []string{
		`browserd_commands_total{code="ok",command="open",source="chromium"} 2`,
		`browserd_commands_total{code="unknown_ref",command="click",source=""} 1`,
		`browserd_command_seconds_count{command="open"} 2`,
		`browserd_sessions 1`,
		`browserd_websockets 1`,
		`browserd_commands_queued 0`,
		`browserd_chromium_launches_total 1`,
		`browserd_egress_refused_total{reason="ip_private"} 1`,
		`browserd_ledger_dropped_total 0`,
		`browserd_ledger_calls_total{command="web_fetch",end="charged"} 1`,
		`browserd_ledger_calls_total{command="web_fetch",end="refunded"} 1`,
		`browserd_ledger_credits_total{command="web_fetch"} 1`,
		`browserd_ledger_refused_total{code="credits_exhausted"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	for _, more := range []string{`browserd_chromium_processes ([2-9]|[1-9][0-9])`, `browserd_chromium_resident_bytes [1-9]`, `process_resident_memory_bytes [1-9]`, `browserd_egress_bytes_total [1-9]`, `browserd_egress_requests_total [1-9]`} {
		if !regexp.MustCompile(more).MatchString(text) {
			t.Errorf("no %s", more)
		}
	}
	if strings.Contains(text, "canary") || strings.Contains(text, "10.11.12.13") || strings.Contains(text, d.Token) {
		t.Error("the metrics tell what was visited, or the token")
	}
	if status, _ := get("wrong-token-0123456789"); status != http.StatusUnauthorized {
		t.Errorf("without a token: HTTP %d", status)
	}
}

// metricsOf reads the daemon's metrics, of which the func gives the one with a name.
func metricsOf(t *testing.T, d *testdaemon.Daemon) func(name string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true // a connection that is kept would be counted
	req.Header.Set("Authorization", "Bearer "+d.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) int {
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
				f, err := strconv.ParseFloat(v, 64)
				if err != nil {
					t.Fatal(err)
				}
				return int(f)
			}
		}
		t.Fatalf("no metric %s", name)
		return 0
	}
}

// What KEDA scales on: a session that was refused since the daemon is full is wanted.
func TestDemand(t *testing.T) {
	aboutOneProcess(t, "its metrics")
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_SESSION__MAX": "2"}})
	a := newAgent(t, d)
	a.do("session_open", params{"name": "one", "source": "http"})
	a.do("session_open", params{"name": "two", "source": "http"})
	for range 3 {
		a.refused("session_open", params{"name": "three", "source": "http"}, protocol.SessionLimit)
	}
	a.refused("session_open", params{"source": "http"}, protocol.SessionLimit)
	got := metricsOf(t, d)
	for name, want := range map[string]int{"browserd_sessions": 2, "browserd_sessions_wanted": 4, "browserd_sessions_capacity": 2, "browserd_sessions_refused_total": 4} {
		if n := got(name); n != want {
			t.Errorf("%s is %d, want %d", name, n, want)
		}
	}
}
