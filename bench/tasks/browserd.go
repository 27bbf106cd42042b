package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/browserd/browserd/internal/client"
)

type browserdTool struct {
	cmd   *exec.Cmd
	home  string
	c     *client.Client
	steps int
}

func startBrowserd() (*browserdTool, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close()
	home, err := os.MkdirTemp("", "bt-")
	if err != nil {
		return nil, err
	}
	os.Chmod(home, 0o755)
	os.MkdirAll(filepath.Join(home, "tmp"), 0o777)
	os.Chmod(filepath.Join(home, "tmp"), 0o1777)
	cmd := exec.Command(os.Getenv("BROWSERD_BIN"), "serve")
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home+"/tmp", "BROWSERD_TOKEN=test-token-0123456789abcdef", "BROWSERD_SERVER__LISTEN="+addr, "BROWSERD_POLICY__ALLOW_HOSTS=127.0.0.1", "BROWSERD_FALLBACK__ORDER=http", "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME="+home+"/config", "XDG_CACHE_HOME="+home+"/cache", "XDG_RUNTIME_DIR="+home+"/run")
	lg, _ := os.Create(home + "/log")
	cmd.Stdout, cmd.Stderr = lg, lg
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &browserdTool{cmd: cmd, home: home}
	for i := 0; i < 1000; i++ {
		if r, err := http.Get("http://" + addr + "/healthz"); err == nil {
			r.Body.Close()
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.c, err = client.Dial(context.Background(), "ws://"+addr+"/v1/ws", "test-token-0123456789abcdef")
	if err != nil {
		b, _ := os.ReadFile(home + "/log")
		fmt.Println(string(b))
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *browserdTool) Close() error {
	if t.c != nil {
		t.c.Close()
	}
	t.cmd.Process.Signal(os.Interrupt)
	t.cmd.Wait()
	return os.RemoveAll(t.home)
}

func (t *browserdTool) call(ctx context.Context, method string, params map[string]any, result any) error {
	t.steps++
	return t.c.Call(ctx, method, params, result)
}

func (t *browserdTool) Open(ctx context.Context, url string) error {
	return t.call(ctx, "open", map[string]any{"url": url, "snapshot": "none"}, nil)
}

func (t *browserdTool) Raw(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	var raw json.RawMessage
	err := t.call(ctx, method, params, &raw)
	return raw, err
}

func (t *browserdTool) SnapText(ctx context.Context) (string, error) {
	var r struct{ Snapshot struct{ Text string } }
	err := t.call(ctx, "snapshot", map[string]any{}, &r)
	return r.Snapshot.Text, err
}

var _ = fmt.Sprint

type bnode struct {
	Ref, Role, Name, Value string
	Depth                  int
	States                 []string
	Attrs                  map[string]any
}

func nodesOf(in []bnode) []Node {
	var out []Node
	for _, b := range in {
		n := Node{Ref: b.Ref, Role: b.Role, Name: b.Name, Value: b.Value, Depth: b.Depth, States: b.States, Attrs: map[string]string{}}
		for k, v := range b.Attrs {
			n.Attrs[k] = fmt.Sprint(v)
		}
		out = append(out, n)
	}
	return out
}

func (t *browserdTool) snap(ctx context.Context, params map[string]any) ([]Node, error) {
	var r struct{ Snapshot struct{ Nodes []bnode } }
	params["format"] = "json"
	err := t.call(ctx, "snapshot", params, &r)
	return nodesOf(r.Snapshot.Nodes), err
}

func (t *browserdTool) Snapshot(ctx context.Context) ([]Node, error) {
	return t.snap(ctx, map[string]any{})
}
func (t *browserdTool) Whole(ctx context.Context) ([]Node, error) {
	return t.snap(ctx, map[string]any{"interactive_only": false})
}
func (t *browserdTool) act(ctx context.Context, m string, kv ...any) error {
	params := map[string]any{"snapshot": "none"}
	for i := 0; i < len(kv); i += 2 {
		params[kv[i].(string)] = kv[i+1]
	}
	return t.call(ctx, m, params, nil)
}
func (t *browserdTool) Click(ctx context.Context, ref string) error {
	return t.act(ctx, "click", "ref", ref)
}
func (t *browserdTool) DoubleClick(ctx context.Context, ref string) error {
	return t.act(ctx, "click", "ref", ref, "count", 2)
}
func (t *browserdTool) TripleClick(ctx context.Context, ref string) error {
	return t.act(ctx, "click", "ref", ref, "count", 3)
}
func (t *browserdTool) Type(ctx context.Context, ref, text string) error {
	return t.act(ctx, "type", "ref", ref, "text", text, "clear", true)
}
func (t *browserdTool) TypeKeys(ctx context.Context, ref, text string) error {
	return t.act(ctx, "type", "ref", ref, "text", text, "mode", "keys")
}
func (t *browserdTool) Press(ctx context.Context, key string) error {
	return t.act(ctx, "press", "key", key)
}
func (t *browserdTool) Select(ctx context.Context, ref string, labels ...string) error {
	return t.act(ctx, "select", "ref", ref, "values", labels)
}
func (t *browserdTool) Hover(ctx context.Context, ref string) error {
	return t.act(ctx, "hover", "ref", ref)
}
func (t *browserdTool) Focus(ctx context.Context, ref string) error {
	return t.act(ctx, "focus", "ref", ref)
}
func (t *browserdTool) Drag(ctx context.Context, from, to string) error {
	return t.act(ctx, "drag", "ref", from, "to", to)
}
func (t *browserdTool) ScrollToEnd(ctx context.Context, ref string) error {
	return t.act(ctx, "scroll", "ref", ref, "to", "bottom")
}
func (t *browserdTool) Read(ctx context.Context, ref, kind string) (string, error) {
	var r struct{ Content string }
	params := map[string]any{"kind": kind, "max_chars": 100000}
	if ref != "" {
		params["ref"] = ref
	}
	err := t.call(ctx, "read", params, &r)
	return r.Content, err
}
func (t *browserdTool) Find(ctx context.Context, text string) ([]Node, error) {
	var r struct{ Nodes []bnode }
	err := t.call(ctx, "find", map[string]any{"text": text}, &r)
	return nodesOf(r.Nodes), err
}
func (t *browserdTool) Box(ctx context.Context, ref string) (x, y, w, h float64, err error) {
	s, err := t.Read(ctx, ref, "box")
	if err == nil {
		var b struct{ X, Y, Width, Height float64 }
		err = json.Unmarshal([]byte(s), &b)
		x, y, w, h = b.X, b.Y, b.Width, b.Height
	}
	return
}
func (t *browserdTool) Mouse(ctx context.Context, action string, x, y float64) error {
	return t.act(ctx, "mouse", "action", action, "x", x, "y", y)
}
