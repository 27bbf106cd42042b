package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// pinchtab is an instance of pinchtab with one tab, reached over HTTP, at
// its server. An instance is a Chromium with a profile of its own and a process in
// front of it; its "agent sessions" are tabs of one profile, which its documents
// call no isolation.
type pinchtab struct {
	*process
	http     *http.Client
	base     string
	instance string // empty: the one that the server starts by itself
	tab      string // empty before the first page
}

// pinchtabConfig is its defaults, but for the program of the browser, what it
// would write into the user's home, the ports, and that scripts may be evaluated,
// which it forbids by default. Its guard against injected prompts, on by default, is
// off in a file that does not name it. As root it leaves out the sandbox by itself.
func pinchtabConfig(o Options, home string, port int) params {
	// Each instance takes two ports, of those that are free, and the default hundred
	// would be too few. Below the range that the system gives out by itself.
	first := 10_000 + 1000*rand.IntN(20)
	return params{
		"configVersion": "0.8.0", // without it pinchtab asks what to do
		"server":        params{"port": fmt.Sprint(port), "bind": "127.0.0.1", "token": token, "stateDir": filepath.Join(home, "state")},
		"browser":       params{"binary": o.Chromium},
		"security": params{
			"allowEvaluate":  true,
			"allowedDomains": []string{"127.0.0.1", "localhost", "::1"},
			"idpi":           params{"enabled": true, "strictMode": true, "scanContent": true, "wrapContent": true, "scanTimeoutSec": 5},
		},
		"profiles":      params{"baseDir": filepath.Join(home, "profiles")},
		"multiInstance": params{"instancePortStart": first, "instancePortEnd": first + 999},
	}
}

func startPinchtab(ctx context.Context, o Options) (Driver, error) {
	bin, err := pinchtabProgram(o)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	home, err := newHome()
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(pinchtabConfig(o, home, port))
	if err != nil {
		return nil, err
	}
	config := filepath.Join(home, "pinchtab.json")
	if err := os.WriteFile(config, b, 0o600); err != nil {
		return nil, err
	}
	// The limit of requests is not what is measured: 3,000 in ten seconds by default.
	env := environ(home, "PINCHTAB_CONFIG="+config, "PINCHTAB_TOKEN="+token, "PINCHTAB_RATE_LIMIT_MAX=1000000")
	p, err := launch(o, home, env, []string{bin, "server"}, nil)
	if err != nil {
		return nil, err
	}
	d := &pinchtab{
		process: p,
		http:    &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}, // all sessions share it
		base:    fmt.Sprintf("http://127.0.0.1:%d", port),
	}
	err = p.until(ctx, "pinchtab answers", func() bool { return d.call(ctx, http.MethodGet, "/health", nil, nil) == nil })
	if err != nil {
		p.stop(p.cmd.Process.Kill)
		return nil, err
	}
	return d, nil
}

// NewSession starts an instance and waits until the server says that it runs.
func (d *pinchtab) NewSession(ctx context.Context) (Driver, error) {
	var r struct{ ID, Status, Error string }
	if err := d.call(ctx, http.MethodPost, "/instances/start", params{"mode": "headless"}, &r); err != nil {
		return nil, err
	}
	other := &pinchtab{process: d.process, http: d.http, base: d.base, instance: r.ID}
	var failed error
	err := d.until(ctx, "the instance runs", func() bool {
		if failed = d.call(ctx, http.MethodGet, "/instances/"+r.ID, nil, &r); failed == nil && r.Status == "error" {
			failed = fmt.Errorf("pinchtab: %s", r.Error)
		}
		return failed != nil || r.Status == "running"
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		other.Close()
		return nil, err
	}
	return other, nil
}

func (d *pinchtab) Close() error {
	if d.instance != "" {
		return d.call(context.Background(), http.MethodPost, "/instances/"+d.instance+"/stop", nil, nil)
	}
	return d.stop(func() error {
		d.http.CloseIdleConnections()
		return d.cmd.Process.Signal(syscall.SIGTERM)
	})
}

func (d *pinchtab) Name() string { return "pinchtab" }
func (d *pinchtab) PIDs() []int  { return d.pids() }

// request returns the body of the answer.
func (d *pinchtab) request(ctx context.Context, method, path string, p params) ([]byte, error) {
	var body io.Reader
	if p != nil {
		b, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, fmt.Errorf("pinchtab: HTTP %d: %s", resp.StatusCode, bytes.TrimSpace(b))
	}
	return b, nil
}

func (d *pinchtab) call(ctx context.Context, method, path string, p params, result any) error {
	b, err := d.request(ctx, method, path, p)
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(b, result)
}

// inTab is the path of a command in the session's tab.
func (d *pinchtab) inTab(command string) string { return "/tabs/" + d.tab + "/" + command }

// Open opens the session's tab with its first page.
func (d *pinchtab) Open(ctx context.Context, address string) error {
	if d.tab != "" {
		return d.call(ctx, http.MethodPost, d.inTab("navigate"), params{"url": address}, nil)
	}
	path := "/navigate" // waits for the server's own instance
	if d.instance != "" {
		path = "/instances/" + d.instance + "/tabs/open"
	}
	var r struct{ TabID string }
	err := d.call(ctx, http.MethodPost, path, params{"url": address}, &r)
	if err == nil && r.TabID == "" {
		err = fmt.Errorf("pinchtab: %s answered without a tab", path)
	}
	d.tab = r.TabID
	return err
}

// Text by default is what `pinchtab snap` shows, the elements that one acts on and
// headings, one a line; the whole page is in its text format, which is a tree.
func (d *pinchtab) Text(ctx context.Context, kind Kind) (string, error) {
	query := "snapshot?filter=interactive&format=compact"
	if kind == Whole {
		query = "snapshot?format=text"
	}
	b, err := d.request(ctx, http.MethodGet, d.inTab(query), nil)
	return string(b), err
}

func (d *pinchtab) Snapshot(ctx context.Context, kind Kind) (Snapshot, error) {
	return read(ctx, d, kind, parsePinchtab)
}

func (d *pinchtab) act(ctx context.Context, kind, ref string, p params) error {
	if p == nil {
		p = params{}
	}
	p["kind"] = kind
	if ref != "" {
		p["selector"] = ref
	}
	return d.call(ctx, http.MethodPost, d.inTab("action"), p, nil)
}

func (d *pinchtab) Click(ctx context.Context, ref string) error {
	return d.act(ctx, "click", ref, nil)
}

// ClickAndSee is what `pinchtab click --snap-diff` does: a click and a snapshot with
// marks at what has changed.
func (d *pinchtab) ClickAndSee(ctx context.Context, ref string) (string, error) {
	if err := d.Click(ctx, ref); err != nil {
		return "", err
	}
	b, err := d.request(ctx, http.MethodGet, d.inTab("snapshot?filter=interactive&format=compact&diff=true"), nil)
	return string(b), err
}

func (d *pinchtab) DoubleClick(ctx context.Context, ref string) error {
	return d.act(ctx, "dblclick", ref, nil)
}

func (d *pinchtab) Type(ctx context.Context, ref, text string) error {
	return d.act(ctx, "fill", ref, params{"text": text})
}

// modifiers are the bits that it takes for keys that are held.
var modifiers = map[string]int{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}

func (d *pinchtab) Press(ctx context.Context, key string) error {
	held := 0
	for {
		name, rest, ok := strings.Cut(key, "+")
		if !ok || modifiers[name] == 0 {
			return d.act(ctx, "press", "", params{"key": key, "modifiers": held})
		}
		held, key = held|modifiers[name], rest
	}
}

func (d *pinchtab) Select(ctx context.Context, ref, label string) error {
	return d.act(ctx, "select", ref, params{"value": label})
}

func (d *pinchtab) Check(ctx context.Context, ref string, checked bool) error {
	if !checked {
		return d.act(ctx, "uncheck", ref, nil)
	}
	return d.act(ctx, "check", ref, nil)
}

func (d *pinchtab) Hover(ctx context.Context, ref string) error {
	return d.act(ctx, "hover", ref, nil)
}

// Drag is what `pinchtab drag` does.
func (d *pinchtab) Drag(ctx context.Context, from, to string) error {
	for _, step := range [][2]string{{"mouse-move", from}, {"mouse-down", ""}, {"mouse-move", to}, {"mouse-up", ""}} {
		if err := d.act(ctx, step[0], step[1], nil); err != nil {
			return err
		}
	}
	return nil
}

func (d *pinchtab) Eval(ctx context.Context, expression string) (json.RawMessage, error) {
	var r struct{ Result json.RawMessage }
	err := d.call(ctx, http.MethodPost, d.inTab("evaluate"), params{"expression": expression}, &r)
	return r.Result, err
}

func (d *pinchtab) Focus(ctx context.Context, ref string) error {
	return d.act(ctx, "focus", ref, nil)
}

func (d *pinchtab) TypeKeys(ctx context.Context, ref, text string) error {
	return d.act(ctx, "type", ref, params{"text": text})
}

func (d *pinchtab) Box(ctx context.Context, ref string) (Box, error) {
	var r struct{ Box Box }
	err := d.call(ctx, http.MethodGet, d.inTab("box?selector="+url.QueryEscape(ref)), nil, &r)
	return r.Box, err
}

func (d *pinchtab) Mouse(ctx context.Context, action string, x, y float64) error {
	return d.act(ctx, "mouse-"+action, "", params{"x": x, "y": y})
}
