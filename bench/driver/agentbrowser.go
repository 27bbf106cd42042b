package driver

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"
)

// agentBrowser is a session of agent-browser: a daemon of its own, which has a
// Chromium of its own, reached over its Unix socket, one JSON object per line.
type agentBrowser struct {
	*process
	o    Options
	conn net.Conn
	in   *bufio.Reader
}

// agentBrowserProgram is the native program; npm's script in front of it is left
// out. npm packs it without its mode where install scripts do not run.
func agentBrowserProgram(o Options) (string, error) {
	if err := installed(o.Peers, agentBrowserPackage); err != nil {
		return "", err
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	bin := filepath.Join(o.Peers, "node_modules", "agent-browser", "bin", "agent-browser-"+runtime.GOOS+"-"+arch)
	if err := os.Chmod(bin, 0o755); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return bin, nil
}

// session names one daemon.
var sessions atomic.Int64

func startAgentBrowser(ctx context.Context, o Options) (Driver, error) {
	bin, err := agentBrowserProgram(o)
	if err != nil {
		return nil, err
	}
	home, err := newHome()
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("s%d", sessions.Add(1))
	env := environ(home, "AGENT_BROWSER_DAEMON=1", "AGENT_BROWSER_SESSION="+name, "AGENT_BROWSER_EXECUTABLE_PATH="+o.Chromium)
	p, err := launch(o, home, env, []string{bin}, nil)
	if err != nil {
		return nil, err
	}
	d := &agentBrowser{process: p, o: o}
	err = p.until(ctx, "agent-browser answers", func() bool {
		conn, err := net.Dial("unix", filepath.Join(home, name+".sock"))
		d.conn = conn
		return err == nil
	})
	if err != nil {
		p.stop(p.cmd.Process.Kill)
		return nil, err
	}
	d.in = bufio.NewReaderSize(d.conn, 1<<20)
	if err := d.call(ctx, params{"action": "session_info"}, nil); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *agentBrowser) NewSession(ctx context.Context) (Driver, error) {
	return startAgentBrowser(ctx, d.o)
}

func (d *agentBrowser) Close() error {
	return d.stop(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		err := d.call(ctx, params{"action": "close"}, nil)
		d.conn.Close()
		return err
	})
}

func (d *agentBrowser) Name() string { return "agent-browser" }
func (d *agentBrowser) PIDs() []int  { return d.pids() }

// agentBrowserAnswer is what the daemon says, over the socket and with --json.
type agentBrowserAnswer struct {
	Success bool
	Error   any
	Data    json.RawMessage
}

func (a agentBrowserAnswer) decode(result any) error {
	if !a.Success {
		return fmt.Errorf("agent-browser: %v", a.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(a.Data, result)
}

func (d *agentBrowser) call(ctx context.Context, p params, result any) error {
	p["id"] = "r"
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	d.conn.SetDeadline(deadline)
	// A call that is given up breaks the connection: its answer would be taken
	// for the next one's.
	stop := context.AfterFunc(ctx, func() { d.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	began := time.Now()
	if _, err := d.conn.Write(append(b, '\n')); err != nil {
		return errors.Join(err, ctx.Err())
	}
	line, err := d.in.ReadBytes('\n')
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	waited := time.Since(began)
	var a agentBrowserAnswer
	if err := json.Unmarshal(line, &a); err != nil {
		return err
	}
	if d.o.Told != nil {
		d.o.Told(Call{fmt.Sprint(p["action"]), a.printed(), waited})
	}
	return a.decode(result)
}

// printed is what the command line prints of an answer: the value that was asked for, where
// a page is, or that it is done.
func (a agentBrowserAnswer) printed() string {
	var r struct{ Snapshot, Value, HTML, Text, Title, URL string }
	switch err := json.Unmarshal(a.Data, &r); {
	case !a.Success:
		return fmt.Sprint("✗ ", a.Error)
	case err != nil:
		return string(a.Data)
	case r.URL != "" && r.Snapshot == "":
		return "✓ " + r.Title + "\n  " + r.URL
	}
	return cmp.Or(r.Snapshot, r.Value, r.HTML, r.Text, "✓ Done")
}

func (d *agentBrowser) Open(ctx context.Context, url string) error {
	return d.call(ctx, params{"action": "navigate", "url": url}, nil)
}

func (d *agentBrowser) Text(ctx context.Context, kind Kind) (string, error) {
	p := params{"action": "snapshot"}
	if kind != Whole {
		p["interactive"] = true
	}
	var r struct{ Snapshot string }
	err := d.call(ctx, p, &r)
	return r.Snapshot, err
}

func (d *agentBrowser) Snapshot(ctx context.Context, kind Kind) (Snapshot, error) {
	return read(ctx, d, kind, parseAgentBrowser)
}

func (d *agentBrowser) Click(ctx context.Context, ref string) error {
	return d.call(ctx, params{"action": "click", "selector": ref}, nil)
}

func (d *agentBrowser) ClickAndSee(ctx context.Context, ref string) (string, error) {
	if err := d.Click(ctx, ref); err != nil {
		return "", err
	}
	return d.Text(ctx, Default)
}

func (d *agentBrowser) DoubleClick(ctx context.Context, ref string) error {
	return d.call(ctx, params{"action": "dblclick", "selector": ref}, nil)
}

func (d *agentBrowser) Type(ctx context.Context, ref, text string) error {
	return d.call(ctx, params{"action": "fill", "selector": ref, "value": text}, nil)
}

func (d *agentBrowser) Press(ctx context.Context, key string) error {
	return d.call(ctx, params{"action": "press", "key": key}, nil)
}

func (d *agentBrowser) Select(ctx context.Context, ref, label string) error {
	return d.call(ctx, params{"action": "select", "selector": ref, "values": label}, nil)
}

func (d *agentBrowser) Check(ctx context.Context, ref string, checked bool) error {
	action := "uncheck"
	if checked {
		action = "check"
	}
	return d.call(ctx, params{"action": action, "selector": ref}, nil)
}

func (d *agentBrowser) Hover(ctx context.Context, ref string) error {
	return d.call(ctx, params{"action": "hover", "selector": ref}, nil)
}

func (d *agentBrowser) Drag(ctx context.Context, from, to string) error {
	return d.call(ctx, params{"action": "drag", "source": from, "target": to}, nil)
}

func (d *agentBrowser) Eval(ctx context.Context, expression string) (json.RawMessage, error) {
	var r struct{ Result json.RawMessage }
	err := d.call(ctx, params{"action": "evaluate", "script": expression}, &r)
	return r.Result, err
}

// pidOf is the number in a .pid file, 0 without one.
func pidOf(path string) (pid int, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(b), &pid)
	return pid, err
}
