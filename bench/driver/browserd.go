package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/snapshot/pagetext"
)

// token is of a daemon that lives as long as a run, on loopback.
const token = "bench-token-0123456789abcdef"

// browserd is a session of the daemon, over WebSocket or MCP.
type browserd struct {
	*process
	o     Options
	name  string
	addr  string
	dial  func(ctx context.Context, o Options, addr string) (caller, error)
	conn  caller
	first bool

	// Where answers show the page (Options.Steps):
	page   pagetext.PageText
	header string // of the last snapshot
	fresh  bool   // Shown has not returned the page yet
}

// Browserd is the path of the daemon's program: BROWSERD_BIN, or cmd/browserd built
// into dir.
func Browserd(ctx context.Context, dir string) (string, error) {
	if bin := os.Getenv("BROWSERD_BIN"); bin != "" {
		return bin, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	bin, err := filepath.Abs(filepath.Join(dir, "browserd"))
	if err != nil {
		return "", err
	}
	// Built in its own module: go.sum of the benchmarks lacks what only the daemon needs.
	const module = "github.com/browserd/browserd"
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("where %s is: %w", module, err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, module+"/cmd/browserd")
	cmd.Dir = strings.TrimSpace(string(root))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building browserd: %w: %s", err, out)
	}
	return bin, nil
}

// serveBrowserd starts a daemon that lets its clients in. first, if there is one, is
// such a client, tried until it is let in: nothing is asked before it.
func serveBrowserd(ctx context.Context, o Options, first func(addr string) error) (*process, string, error) {
	bin := o.Browserd
	if bin == "" {
		var err error
		if bin, err = Browserd(ctx, o.Peers); err != nil {
			return nil, "", err
		}
	}
	home, err := newHome()
	if err != nil {
		return nil, "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	addr := l.Addr().String()
	l.Close()
	env := environ(home,
		"BROWSERD_TOKEN="+token,
		"BROWSERD_SERVER__LISTEN="+addr,
		"BROWSERD_BROWSER__PATH="+o.Chromium,
		"BROWSERD_POLICY__ALLOW_HOSTS=127.0.0.1,localhost",
		"BROWSERD_FALLBACK__ORDER=http",
		"BROWSERD_RECORDING__BYTES=1000000000", "BROWSERD_RECORDING__BYTES_PER_AGENT=2000000000",
		"BROWSERD_SESSION__MAX=200", "BROWSERD_SESSION__MAX_PER_AGENT=200",
	)
	p, err := launch(o, home, env, []string{bin, "serve"}, nil)
	if err != nil {
		return nil, "", err
	}
	if first == nil {
		first = func(addr string) error {
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				conn.Close()
			}
			return err
		}
	}
	err = p.until(ctx, "browserd answers", func() bool { return first(addr) == nil })
	if err != nil {
		p.stop(p.cmd.Process.Kill)
		return nil, "", err
	}
	return p, addr, nil
}

func startBrowserd(ctx context.Context, o Options) (Driver, error) {
	return start(ctx, o, "browserd", func(ctx context.Context, o Options, addr string) (caller, error) {
		c, err := client.Dial(ctx, "ws://"+addr+"/v1/ws", token)
		return overWebSocket{c, o.Told}, err
	})
}

func startBrowserdMCP(ctx context.Context, o Options) (Driver, error) {
	return start(ctx, o, "browserd (MCP)", func(ctx context.Context, o Options, addr string) (caller, error) {
		h, c := newHTTPClient("http://" + addr + "/mcp?tools=all&structured=true")
		h.header = http.Header{"Authorization": {"Bearer " + token}}
		c.told = o.Told
		return overMCP{c, h}, c.initialize(ctx)
	})
}

func start(ctx context.Context, o Options, name string, dial func(context.Context, Options, string) (caller, error)) (Driver, error) {
	d := &browserd{o: o, name: name, dial: dial, first: true}
	p, _, err := serveBrowserd(ctx, o, func(addr string) (err error) {
		d.addr = addr
		d.conn, err = dial(ctx, o, addr)
		return err
	})
	if err != nil {
		return nil, err
	}
	d.process = p
	if o.record == "" {
		return d, nil
	}
	return d, d.conn.Call(ctx, "session_open", d.options(), nil)
}

// options are those of a session.
func (d *browserd) options() params {
	p := params{}
	if d.o.record != "" {
		p[d.o.record] = true
	}
	return p
}

func (d *browserd) NewSession(ctx context.Context) (Driver, error) {
	other := &browserd{process: d.process, o: d.o, name: d.name, addr: d.addr, dial: d.dial}
	var err error
	if other.conn, err = d.dial(ctx, d.o, d.addr); err != nil {
		return nil, err
	}
	return other, other.conn.Call(ctx, "session_open", d.options(), nil)
}

func (d *browserd) Close() error {
	if d.first {
		d.conn.Close()
		return d.stop(func() error { return d.cmd.Process.Signal(syscall.SIGTERM) })
	}
	err := d.conn.Call(context.Background(), "session_close", nil, nil)
	d.conn.Close()
	return err
}

func (d *browserd) Name() string { return d.name }
func (d *browserd) PIDs() []int  { return d.pids() }

// params are a command's; acting ones that are asked for nothing say so.
type params = map[string]any

func (d *browserd) do(ctx context.Context, method string, p params) error {
	if !d.o.Steps {
		p["snapshot"] = "none"
	}
	return d.call(ctx, method, p, nil)
}

// call runs a command. Where answers show the page, it keeps what this one shows.
func (d *browserd) call(ctx context.Context, method string, p params, result any) error {
	if !d.o.Steps {
		return d.conn.Call(ctx, method, p, result)
	}
	var raw json.RawMessage
	err := d.conn.Call(ctx, method, p, &raw)
	if err != nil {
		d.fresh = false
		return err
	}
	var shown pagetext.Result
	if err := json.Unmarshal(raw, &shown); err != nil {
		return err
	}
	if err := d.page.Apply(shown); err != nil {
		return err
	}
	if shown.Snapshot != nil {
		d.header, _, _ = strings.Cut(shown.Snapshot.Text, "\n")
	}
	d.fresh = d.fresh || shown.Snapshot != nil || shown.Delta != nil
	if result == nil {
		return nil
	}
	return json.Unmarshal(raw, result)
}

// Shown is the default snapshot of open with every delta since.
func (d *browserd) Shown() (Snapshot, bool) {
	if !d.fresh {
		return Snapshot{}, false
	}
	s, err := d.held()
	return s, err == nil
}

// held is the page as the answers so far show it.
func (d *browserd) held() (Snapshot, error) {
	d.fresh = false
	text := d.page.Text()
	nodes, err := parseBrowserd(d.header + "\n" + text)
	return Snapshot{text, nodes}, err
}

func (d *browserd) Open(ctx context.Context, url string) error {
	return d.do(ctx, "open", params{"url": url})
}

func (d *browserd) Text(ctx context.Context, kind Kind) (string, error) {
	var r struct{ Snapshot snapshot.Snapshot }
	err := d.conn.Call(ctx, "snapshot", browserdBudgets(kind), &r)
	return r.Snapshot.Text, err
}

func (d *browserd) Snapshot(ctx context.Context, kind Kind) (Snapshot, error) {
	if !d.o.Steps || kind != Default {
		return read(ctx, d, kind, parseBrowserd)
	}
	if err := d.call(ctx, "snapshot", params{"delta": true}, nil); err != nil {
		return Snapshot{}, err
	}
	return d.held()
}

// browserdBudgets are the parameters of a snapshot, unbounded but for the default.
func browserdBudgets(kind Kind) params {
	if kind == Default {
		return params{}
	}
	p := params{"interactive_only": kind != Whole, "max_chars": 4_000_000, "max_nodes": 100_000, "max_depth": 60}
	if kind == Plain {
		p["attrs"] = []string{}
	}
	return p
}

func (d *browserd) Click(ctx context.Context, ref string) error {
	return d.do(ctx, "click", params{"ref": ref})
}

func (d *browserd) ClickAndSee(ctx context.Context, ref string) (string, error) {
	var r struct {
		Delta    snapshot.Delta
		Snapshot snapshot.Snapshot
	}
	err := d.conn.Call(ctx, "click", params{"ref": ref}, &r)
	return r.Delta.Text + r.Snapshot.Text, err
}

func (d *browserd) DoubleClick(ctx context.Context, ref string) error {
	return d.do(ctx, "click", params{"ref": ref, "count": 2})
}

func (d *browserd) Type(ctx context.Context, ref, text string) error {
	return d.do(ctx, "type", params{"ref": ref, "text": text, "clear": true})
}

func (d *browserd) Press(ctx context.Context, key string) error {
	return d.do(ctx, "press", params{"key": key})
}

func (d *browserd) Select(ctx context.Context, ref, label string) error {
	return d.do(ctx, "select", params{"ref": ref, "values": []string{label}})
}

func (d *browserd) Check(ctx context.Context, ref string, checked bool) error {
	return d.do(ctx, "check", params{"ref": ref, "checked": checked})
}

func (d *browserd) Hover(ctx context.Context, ref string) error {
	return d.do(ctx, "hover", params{"ref": ref})
}

func (d *browserd) Drag(ctx context.Context, from, to string) error {
	return d.do(ctx, "drag", params{"ref": from, "to": to})
}

func (d *browserd) Eval(ctx context.Context, expression string) (json.RawMessage, error) {
	var r struct{ Value json.RawMessage }
	err := d.call(ctx, "eval", params{"expression": expression}, &r)
	return r.Value, err
}
