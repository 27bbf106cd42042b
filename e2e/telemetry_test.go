package e2e_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
)

// collector is a receiver of OTLP over HTTP, which keeps what it was sent.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	busy   int // requests to which it answers 503 yet
	bytes  []byte
	spans  []span
	failed string
}

// span is a span, and the node that made it.
type span struct {
	*tracepb.Span
	node string
}

func newCollector(t *testing.T, busy int) *collector {
	t.Helper()
	c := &collector{busy: busy}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy--; c.busy >= 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	fail := func(what string) {
		c.failed = what
		w.WriteHeader(http.StatusBadRequest)
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Authorization") != "Bearer of the collector" {
		fail(r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + r.Header.Get("Authorization"))
		return
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		fail(err.Error())
		return
	}
	b, err := io.ReadAll(z)
	if err != nil {
		fail(err.Error())
		return
	}
	var data tracepb.TracesData
	if err := proto.Unmarshal(b, &data); err != nil {
		fail(err.Error())
		return
	}
	c.bytes = append(c.bytes, b...)
	for _, of := range data.ResourceSpans {
		node := ""
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.instance.id" {
				node = a.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, span{s, node})
			}
		}
	}
}

// of returns the spans of a trace when one of that name has come that parent begins, with how
// each was reached from parent: the names on the way.
func (c *collector) of(t *testing.T, trace, parent, name string) map[string]span {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		paths := map[string]span{}
		below(c.spans, trace, parent, "", paths)
		failed := c.failed
		c.mu.Unlock()
		if failed != "" {
			t.Fatalf("the collector was sent: %s", failed)
		}
		if _, ok := paths[name]; ok {
			return paths
		}
		if time.Now().After(deadline) {
			t.Fatalf("no span %s of the trace %s came: %v", name, trace, keysOf(paths))
		}
	}
}

func below(all []span, trace, parent, path string, paths map[string]span) {
	for _, s := range all {
		if hex.EncodeToString(s.TraceId) == trace && hex.EncodeToString(s.ParentSpanId) == parent {
			at := strings.TrimPrefix(path+" > "+s.Name, " > ")
			paths[at] = s
			below(all, trace, hex.EncodeToString(s.SpanId), at, paths)
		}
	}
}

func keysOf(m map[string]span) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// attribute returns an attribute as text.
func (s span) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// environment are the settings by which a daemon sends its traces to c.
func (c *collector) environment() map[string]string {
	return map[string]string{
		"BROWSERD_TELEMETRY__OTLP_ENDPOINT": c.URL + "/v1/traces", "BROWSERD_TELEMETRY__OTLP_HEADERS": "authorization=Bearer of the collector",
		"BROWSERD_LOG__LEVEL": "debug", "BROWSERD_LOG__FORMAT": "json",
	}
}

// The spans of the test's clients.
const (
	httpTrace, httpSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	wsTrace, wsSpan     = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	mcpTrace, mcpSpan   = "11112222333344445555666677778888", "aaaabbbbccccdddd"
)

func traceparent(trace, span string) string { return "00-" + trace + "-" + span + "-01" }

// traced sends one command over HTTP with a traceparent, and returns the answer's body.
func traced(t *testing.T, d *testdaemon.Daemon, parent, command string, p params) []byte {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/"+command, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.Token)
	req.Header.Set("Traceparent", parent)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// A command is a span of the trace that its client sent, over each transport, with its wait, its
// work and the calls of the DevTools protocol below it. No span says what was opened, typed or
// shown. A collector that is busy is asked again.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := newCollector(t, 1)
	env := c.environment()
	env["BROWSERD_FLEET__NAME"] = "alone"
	d := testdaemon.Start(t, testdaemon.Options{Env: env, Alone: true})
	w := newPageServer(t)
	w.serve("/canary", page("Canary", `<h1>Canary</h1><input aria-label=Canary><button>Canary</button>`), "")

	if answer := traced(t, d, traceparent(httpTrace, httpSpan), "open", params{"url": w.URL + "/canary"}); bytes.Contains(answer, []byte(`"error"`)) {
		t.Fatalf("%s", answer)
	}
	spans := c.of(t, httpTrace, httpSpan, "open > run open > Page.navigate")
	open := spans["open"]
	if open.Kind != tracepb.Span_SPAN_KIND_SERVER || open.attribute("browserd.source") != "chromium" || open.attribute("browserd.agent") != "default" || open.node != "alone" || open.attribute("browserd.session") == "" {
		t.Errorf("the command's span: %v", open)
	}
	if _, ok := spans["open > queue"]; !ok {
		t.Errorf("no wait for the session's turn: %v", keysOf(spans))
	}
	if log := d.Log(); !strings.Contains(log, `"trace":"`+httpTrace+`"`) || !strings.Contains(log, `"request":"`+open.attribute("browserd.request")+`"`) {
		t.Errorf("the log has no line of the trace %s and the request %s:\n%s", httpTrace, open.attribute("browserd.request"), log)
	}

	ws, _, err := websocket.DefaultDialer.DialContext(t.Context(), d.WS(), http.Header{"Authorization": {"Bearer " + d.Token}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for id, m := range []params{
		{"method": "open", "params": params{"url": w.URL + "/canary"}},
		{"method": "type", "params": params{"ref": "role=textbox", "text": "canary"}, "traceparent": traceparent(wsTrace, wsSpan)},
		{"method": "click", "params": params{"ref": "@e999", "timeout_ms": 5000}, "traceparent": traceparent(wsTrace, wsSpan)},
		{"method": "canary", "traceparent": traceparent(wsTrace, wsSpan)},
		{"method": "session_list", "traceparent": []int{1}},
		{"method": "session_list", "traceparent": "00-canary"},
	} {
		m["jsonrpc"], m["id"] = "2.0", id
		if err := ws.WriteJSON(m); err != nil {
			t.Fatal(err)
		}
		var answer struct {
			ID    *int
			Error map[string]any
		}
		for answer.ID == nil || *answer.ID != id { // events come between
			if err := ws.ReadJSON(&answer); err != nil {
				t.Fatal(err)
			}
		}
		if refused := answer.Error != nil; refused != (id == 2 || id == 3) {
			t.Errorf("%v: %v", m, answer.Error)
		}
	}
	spans = c.of(t, wsTrace, wsSpan, "unknown")
	for name, code := range map[string]string{"type": "", "click": "unknown_ref", "unknown": "unknown_command"} {
		if s, ok := spans[name]; !ok || s.attribute("error.type") != code || (s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR) != (code != "") {
			t.Errorf("%s: %v, want the error %q", name, s, code)
		}
	}
	if _, ok := spans["type > run type > Input.dispatchKeyEvent"]; !ok {
		t.Errorf("no call of the DevTools protocol for what was typed: %v", keysOf(spans))
	}

	session := connect(t, &mcp.StreamableClientTransport{Endpoint: d.URL() + "/mcp", HTTPClient: &http.Client{Transport: bearer(d.Token)}}, nil)
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "open", Arguments: params{"url": w.URL + "/canary"}, Meta: mcp.Meta{"traceparent": traceparent(mcpTrace, mcpSpan)}})
	if err != nil || result.IsError {
		t.Fatalf("%v %v", err, result)
	}
	c.of(t, mcpTrace, mcpSpan, "open > run open > Page.navigate")

	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Contains(bytes.ToLower(c.bytes), []byte("canary")) || bytes.Contains(c.bytes, []byte(w.URL)) || bytes.Contains(c.bytes, []byte(d.Token)) {
		t.Error("the traces tell what was opened or typed")
	}
}

// A command whose session another node has is one trace: the node that the client reached, the
// way to the other, and what that did.
func TestTracesOfAFleet(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	c := newCollector(t, 0)
	d, e := startNode(t, pg, "one", c.environment()), startNode(t, pg, "two", c.environment())
	newAgent(t, d).do("session_open", params{"name": "work"})
	if answer := traced(t, e, traceparent(httpTrace, httpSpan), "eval", params{"session": "work", "expression": "1"}); bytes.Contains(answer, []byte(`"error"`)) {
		t.Fatalf("%s", answer)
	}
	spans := c.of(t, httpTrace, httpSpan, "eval > forward > eval > run eval")
	for path, node := range map[string]string{"eval": "two", "eval > forward": "two", "eval > forward > eval": "one", "eval > forward > eval > run eval": "one"} {
		if spans[path].Span == nil || spans[path].node != node {
			t.Errorf("%s: %v, want one of node %s", path, spans[path], node)
		}
	}
	for _, node := range []*testdaemon.Daemon{d, e} {
		if !strings.Contains(node.Log(), `"trace":"`+httpTrace+`"`) {
			t.Errorf("a node's log does not have the trace:\n%s", node.Log())
		}
	}
}
