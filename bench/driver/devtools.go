package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
)

// devtools is a page of chrome-devtools-mcp; every page beside the first is in a
// context of its own.
type devtools struct {
	*process
	*mcpClient
	page     int
	steps    bool   // actions answer with the page
	shown    string // the last answer that did; empty when it has been read
	contexts *atomic.Int64
	stop     func() error
}

// startDevtools starts it headless, without a profile and without its calls
// home; as root it cannot start Chromium with its sandbox.
func startDevtools(ctx context.Context, o Options) (Driver, error) {
	argv, err := o.script(devtoolsPackage, "build/src/bin/chrome-devtools-mcp.js")
	if err != nil {
		return nil, err
	}
	argv = append(argv, "--headless", "--isolated", "--executablePath", o.Chromium, "--no-usage-statistics", "--no-performance-crux")
	if os.Getuid() == 0 {
		argv = append(argv, "--chrome-arg=--no-sandbox")
	}
	p, c, stop, err := launchStdio(ctx, o, argv)
	if err != nil {
		return nil, err
	}
	return &devtools{process: p, mcpClient: c, page: 1, steps: o.Steps, contexts: new(atomic.Int64), stop: stop}, nil
}

var selectedPage = regexp.MustCompile(`(?m)^(\d+): .*isolatedContext=(\S+)$`)

func (d *devtools) NewSession(ctx context.Context) (Driver, error) {
	name := fmt.Sprintf("c%d", d.contexts.Add(1))
	text, err := d.tool(ctx, "new_page", params{"url": "about:blank", "isolatedContext": name})
	if err != nil {
		return nil, err
	}
	for _, m := range selectedPage.FindAllStringSubmatch(text, -1) {
		if m[2] != name {
			continue
		}
		page, _ := strconv.Atoi(m[1])
		other := &devtools{process: d.process, mcpClient: d.mcpClient, page: page, contexts: d.contexts}
		other.stop = func() error { return other.do(context.Background(), "close_page", params{}) }
		return other, nil
	}
	return nil, fmt.Errorf("no page of %s in %q", name, text)
}

func (d *devtools) Close() error { return d.stop() }
func (d *devtools) Name() string { return "chrome-devtools-mcp" }
func (d *devtools) PIDs() []int  { return d.pids() }

// do runs a tool for its effect. All but those for pages can answer with a snapshot.
func (d *devtools) do(ctx context.Context, tool string, p params) error {
	d.shown = ""
	if d.steps && tool != "close_page" {
		p["includeSnapshot"] = true
	}
	text, err := d.ask(ctx, tool, p)
	if err == nil && d.steps {
		d.shown = text
	}
	return err
}

// Shown is the snapshot of the last action's answer.
func (d *devtools) Shown() (Snapshot, bool) {
	_, text, there := strings.Cut(d.shown, "## Latest page snapshot\n")
	d.shown = ""
	if !there {
		return Snapshot{}, false
	}
	nodes, err := parseDevtools(text)
	return Snapshot{text, nodes}, err == nil
}

func (d *devtools) ask(ctx context.Context, tool string, p params) (string, error) {
	p["pageId"] = d.page
	return d.tool(ctx, tool, p)
}

func (d *devtools) Open(ctx context.Context, url string) error {
	text, err := d.ask(ctx, "navigate_page", params{"type": "url", "url": url})
	if err == nil && !strings.HasPrefix(text, "Successfully") {
		return fmt.Errorf("navigate_page: %s", text) // which it does not mark as an error
	}
	return err
}

func (d *devtools) Text(ctx context.Context, _ Kind) (string, error) {
	return d.ask(ctx, "take_snapshot", params{})
}

func (d *devtools) Snapshot(ctx context.Context, kind Kind) (Snapshot, error) {
	return read(ctx, d, kind, parseDevtools)
}

func (d *devtools) Click(ctx context.Context, ref string) error {
	return d.do(ctx, "click", params{"uid": ref})
}

func (d *devtools) ClickAndSee(ctx context.Context, ref string) (string, error) {
	return d.ask(ctx, "click", params{"uid": ref, "includeSnapshot": true})
}

func (d *devtools) DoubleClick(ctx context.Context, ref string) error {
	return d.do(ctx, "click", params{"uid": ref, "dblClick": true})
}

func (d *devtools) Type(ctx context.Context, ref, text string) error {
	return d.do(ctx, "fill", params{"uid": ref, "value": text})
}

func (d *devtools) Press(ctx context.Context, key string) error {
	return d.do(ctx, "press_key", params{"key": key})
}

func (d *devtools) Select(ctx context.Context, ref, label string) error {
	return d.do(ctx, "fill", params{"uid": ref, "value": label})
}

func (d *devtools) Check(ctx context.Context, ref string, checked bool) error {
	return d.do(ctx, "fill", params{"uid": ref, "value": fmt.Sprint(checked)})
}

func (d *devtools) Hover(ctx context.Context, ref string) error {
	return d.do(ctx, "hover", params{"uid": ref})
}

func (d *devtools) Drag(ctx context.Context, from, to string) error {
	return d.do(ctx, "drag", params{"from_uid": from, "to_uid": to})
}

func (d *devtools) Eval(ctx context.Context, expression string) (json.RawMessage, error) {
	text, err := d.ask(ctx, "evaluate_script", params{"function": "() => (" + expression + ")", "waitForStableDom": false})
	if err != nil {
		return nil, err
	}
	_, result, _ := strings.Cut(text, "```json\n")
	result, _, _ = strings.Cut(result, "\n```")
	return evaluated(result)
}
