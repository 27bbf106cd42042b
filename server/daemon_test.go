package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	aliceToken = "alice-0123456789abcdef"
	bobToken   = "bob-0123456789abcdef"
)

// site stands in for a browser, whose pages cannot be made to hang on demand
// and whose rest is another: opening a URL under /hold waits until it is let
// go or cancelled, under /flood?n=N tells N events, under /large?n=N ten of
// N bytes, under /broken fails without a code, under /panic panics. A title in the
// query is the page's. Waiting for a text fails with the code of that name.
type site struct {
	mu      sync.Mutex
	gate    map[string]chan struct{}
	log     []string
	changed chan struct{} // closed and renewed with every line of log
}

func newSite() *site { return &site{gate: map[string]chan struct{}{}, changed: make(chan struct{})} }

func (s *site) NewPage(_ context.Context, _ session.Options, emit func(string, map[string]any)) (session.Page, error) {
	return &sitePage{site: s, emit: emit, done: make(chan struct{})}, nil
}

func (s *site) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
	close(s.changed)
	s.changed = make(chan struct{})
}

// lines waits until the site has seen n things and returns them.
func (s *site) lines(t testing.TB, n int) []string {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		s.mu.Lock()
		log, changed := append([]string{}, s.log...), s.changed
		s.mu.Unlock()
		if len(log) >= n {
			return log
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("the site saw %q, want %d lines", log, n)
		}
	}
}

// held is the channel that lets the page at path go.
func (s *site) held(path string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate[path] == nil {
		s.gate[path] = make(chan struct{})
	}
	return s.gate[path]
}

func (s *site) letGo(path string) { close(s.held(path)) }

// sitePage has only what these tests use; the rest is a nil Page's.
type sitePage struct {
	session.Page
	site *site
	emit func(string, map[string]any)
	done chan struct{}
	once sync.Once

	mu    sync.Mutex
	state protocol.Page
}

func (p *sitePage) State() protocol.Page {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *sitePage) Done() <-chan struct{} { return p.done }

func (p *sitePage) Restore() protocol.Restore { return protocol.Restore{} }

func (p *sitePage) Close(context.Context) error { p.once.Do(func() { close(p.done) }); return nil }

func (p *sitePage) Capture(context.Context, snapshot.Options, *snapshot.Refs) (snapshot.Capture, error) {
	return snapshot.Capture{URL: p.State().URL, Title: "A page"}, nil
}

func (p *sitePage) Wait(_ context.Context, _ *snapshot.Refs, w protocol.Wait, _ func(string) error, _ func(context.Context, func()) error) (map[string]any, error) {
	return nil, protocol.Errorf(protocol.Code(w.Text), "asked for")
}

func (p *sitePage) Open(ctx context.Context, address, _ string) (protocol.Effect, error) {
	u, err := url.Parse(address)
	if err != nil {
		return protocol.Effect{}, err
	}
	p.site.note("open %s", u.Path)
	n, _ := strconv.Atoi(u.Query().Get("n"))
	switch {
	case strings.HasPrefix(u.Path, "/hold"):
		select {
		case <-p.site.held(u.Path):
		case <-ctx.Done():
			p.site.note("end %s: %v", u.Path, protocol.CodeOf(context.Cause(ctx)))
			return protocol.Effect{}, ctx.Err()
		}
	case u.Path == "/flood":
		for i := range n {
			p.emit(protocol.EventConsoleError, map[string]any{"text": fmt.Sprint(i)})
		}
	case u.Path == "/large":
		for range 10 {
			p.emit(protocol.EventConsoleError, map[string]any{"text": strings.Repeat("x", n)})
		}
	case u.Path == "/broken":
		return protocol.Effect{}, fmt.Errorf("a canary that belongs in the log")
	case u.Path == "/panic":
		panic("a canary that belongs nowhere")
	}
	p.mu.Lock()
	p.state = protocol.Page{Tab: "t1", URL: address, Title: u.Query().Get("title"), Status: 200, Source: "chromium", Ready: "complete", Document: p.state.Document + 1}
	p.mu.Unlock()
	p.emit(protocol.EventNavigated, map[string]any{"url": address})
	p.site.note("end %s", u.Path)
	if u.Path == "/fails" {
		return protocol.Effect{}, protocol.Errorf(protocol.Timeout, "the page is there, and not quiet")
	}
	return protocol.Effect{Navigated: address}, nil
}

// daemon is a server on a real socket.
type daemon struct {
	*Server
	site *site
	addr string
	stop context.CancelFunc
	done chan error // what Serve returned
}

func testConfig() Config {
	return Config{
		Listen: "127.0.0.1:0", AllowedOrigins: []string{"https://app.example"}, AllowedHosts: []string{"browserd.example"},
		MaxConnections: 64, MaxPending: 32, ReadLimit: 4 << 20, SendBuffer: 8 << 20,
		WriteTimeout: 10 * time.Second, PingInterval: 30 * time.Second, ShutdownTimeout: 5 * time.Second,
		Limits: LimitsConfig{
			Unauthenticated: 32, AuthTimeout: 5 * time.Second, BodyTimeout: 30 * time.Second, ConnectionsPerToken: 64, ConnectionsPerAddress: 64,
			QueuedBytes: 128 << 20, QueuedBytesPerToken: 64 << 20, QueuedBytesPerAddress: 96 << 20,
			SendBytesPerToken: 64 << 20, RequestsPerToken: 2048, MCPSessions: 16, MCPSessionsPerToken: 8, MCPSessionsPerAddress: 12, ClientInfo: 16 << 10,
		},
	}
}

var testTokens = []Token{{Agent: "alice", Token: aliceToken}, {Agent: "bob", Token: bobToken, Role: RoleOperator}}

func testRuntime(site *site, log io.Writer) *command.Runtime {
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	sessions := session.NewManager(session.Config{
		IdleTimeout: time.Minute, Max: 100, MaxPerAgent: 100, Queue: 64, DialogTimeout: time.Second, MaxTabs: 4,
	}, site, logger)
	return &command.Runtime{
		Commands: actions.All,
		Sessions: sessions, Version: "test", Log: logger,
		CheckURL: func(_ context.Context, _ policy.GateOptions, u string) (string, error) { return u, nil },
	}
}

func testSources() []Source {
	return []Source{{Name: "chromium", OK: true}, {Name: "jina", Why: "no key"}, {Name: "http", OK: true}}
}

// start serves until the test ends. change may be nil.
func start(t testing.TB, change func(*Config)) *daemon {
	return startLogging(t, change, io.Discard)
}

func startLogging(t testing.TB, change func(*Config), log io.Writer) *daemon {
	return startWith(t, change, log, testTokens, func(*command.Runtime) {})
}

// startWith serves with other tokens, and with what furnish changed.
func startWith(t testing.TB, change func(*Config), log io.Writer, tokens []Token, furnish func(*command.Runtime)) *daemon {
	t.Helper()
	cfg := testConfig()
	if change != nil {
		change(&cfg)
	}
	site := newSite()
	runtime := testRuntime(site, log)
	furnish(runtime)
	s, err := New(cfg, tokens, runtime, testSources)
	if err != nil {
		t.Fatal(err)
	}
	runtime.View = s.ViewLink
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &daemon{Server: s, site: site, addr: l.Addr().String(), stop: stop, done: make(chan error, 1)}
	go func() { d.done <- s.Serve(ctx, l); close(d.done) }()
	t.Cleanup(func() {
		stop()
		select {
		case <-d.done:
		case <-time.After(20 * time.Second):
			t.Error("Serve did not return")
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return d
}

func (d *daemon) port() string { _, p, _ := net.SplitHostPort(d.addr); return p }

// client is a WebSocket client.
type client struct {
	t  testing.TB
	ws *websocket.Conn
}

// connect dials as alice, and takes the hello.
func (d *daemon) connect(t testing.TB) *client { return d.connectAs(t, aliceToken) }

func (d *daemon) connectAs(t testing.TB, token string) *client {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+d.addr+"/v1/ws", http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t, ws}
	t.Cleanup(func() { ws.Close() })
	if hello := c.read(); !strings.Contains(hello, `"hello"`) {
		t.Fatalf("the first frame is %s, want the event hello", hello)
	}
	return c
}

func (c *client) send(frames ...string) {
	c.t.Helper()
	for _, f := range frames {
		if err := c.ws.WriteMessage(websocket.TextMessage, []byte(f)); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *client) read() string {
	c.t.Helper()
	c.ws.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, frame, err := c.ws.ReadMessage()
	if err != nil {
		c.t.Fatalf("reading: %v", err)
	}
	return string(frame)
}

// message is a frame from the daemon, as far as tests look into it.
type message struct {
	ID     any
	Result map[string]any
	Error  *protocol.RPCError
	Params map[string]any
}

func (m message) code() protocol.Code {
	if m.Error == nil {
		return ""
	}
	return m.Error.Data.Code
}

func (c *client) message() message {
	c.t.Helper()
	var m message
	frame := c.read()
	if err := json.Unmarshal([]byte(frame), &m); err != nil {
		c.t.Fatalf("%s: %v", frame, err)
	}
	return m
}

// answer reads on to the next answer, over events.
func (c *client) answer() message {
	c.t.Helper()
	for {
		if m := c.message(); m.Params == nil {
			return m
		}
	}
}

// call sends a request and reads on to its answer.
func (c *client) call(id int, method, params string) message {
	c.t.Helper()
	c.send(request(id, method, params))
	for {
		if m := c.answer(); m.ID == float64(id) {
			return m
		}
	}
}

func request(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// open is a request to open a path of the site in a session.
func open(id int, session, path string) string {
	return request(id, "open", fmt.Sprintf(`{"session":%q,"url":"https://site.test%s"}`, session, path))
}

// closed reads on to the end of the connection and returns its close code, 0
// where it ended without.
func (c *client) closed() int {
	c.t.Helper()
	c.ws.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		_, _, err := c.ws.ReadMessage()
		if err == nil {
			continue
		}
		if e, ok := err.(*websocket.CloseError); ok && e.Code != websocket.CloseAbnormalClosure {
			return e.Code
		}
		if os.IsTimeout(err) {
			c.t.Fatal("the connection is still open")
		}
		return 0
	}
}
