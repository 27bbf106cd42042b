package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// playwright is a client of @playwright/mcp.
type playwright struct {
	*process
	*mcpClient
	o    Options
	name string
	stop func() error
	url  string // of the server's HTTP address; empty over stdio
}

// playwrightArgs start it headless, without a profile, with its defaults in all
// else; as root it cannot start Chromium with its sandbox.
func playwrightArgs(o Options) ([]string, error) {
	argv, err := o.script(playwrightPackage, "cli.js")
	if err != nil {
		return nil, err
	}
	argv = append(argv, "--headless", "--isolated", "--executable-path", o.Chromium)
	if os.Getuid() == 0 {
		argv = append(argv, "--no-sandbox")
	}
	return argv, nil
}

func startPlaywright(ctx context.Context, o Options) (Driver, error) {
	argv, err := playwrightArgs(o)
	if err != nil {
		return nil, err
	}
	p, c, stop, err := launchStdio(ctx, o, argv)
	if err != nil {
		return nil, err
	}
	return &playwright{process: p, mcpClient: c, o: o, name: "playwright-mcp", stop: stop}, nil
}

// launchStdio starts an MCP server over stdio and says hello to it.
func launchStdio(ctx context.Context, o Options, argv []string) (*process, *mcpClient, func() error, error) {
	home, err := newHome()
	if err != nil {
		return nil, nil, nil, err
	}
	// Pipes of our own: Wait would close those of exec while they are read.
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := launch(o, home, environ(home), argv, func(cmd *exec.Cmd) error {
		cmd.Stdin, cmd.Stdout = inR, outW
		return nil
	})
	inR.Close()
	outW.Close()
	if err != nil {
		return nil, nil, nil, err
	}
	stop := func() error {
		err := p.stop(inW.Close) // a server over stdio ends with its input
		outR.Close()
		return err
	}
	c := newStdioClient(inW, io.Reader(outR))
	c.told = o.Told
	if err := c.initialize(ctx); err != nil {
		stop()
		return nil, nil, nil, err
	}
	return p, c, stop, nil
}

func startPlaywrightHTTP(ctx context.Context, o Options) (Driver, error) {
	argv, err := playwrightArgs(o)
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
	argv = append(argv, "--port", fmt.Sprint(port))
	p, err := launch(o, home, environ(home), argv, nil)
	if err != nil {
		return nil, err
	}
	url := fmt.Sprintf("http://localhost:%d/mcp", port)
	stop := func() error { return p.stop(func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }) }
	err = p.until(ctx, "playwright-mcp answers", func() bool {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
	if err != nil {
		stop()
		return nil, err
	}
	d := &playwright{process: p, o: o, name: "playwright-mcp (HTTP)", stop: stop, url: url}
	_, d.mcpClient = newHTTPClient(url)
	if err := d.initialize(ctx); err != nil {
		stop()
		return nil, err
	}
	return d, nil
}

func (d *playwright) NewSession(ctx context.Context) (Driver, error) {
	if d.url == "" {
		return startPlaywright(ctx, d.o)
	}
	h, c := newHTTPClient(d.url)
	other := &playwright{process: d.process, mcpClient: c, o: d.o, name: d.name, stop: h.end, url: d.url}
	return other, other.initialize(ctx)
}

func (d *playwright) Close() error { return d.stop() }
func (d *playwright) Name() string { return d.name }
func (d *playwright) PIDs() []int  { return d.pids() }

// did calls a tool for its effect.
func (c *mcpClient) did(ctx context.Context, name string, arguments params) error {
	_, err := c.tool(ctx, name, arguments)
	return err
}

func (d *playwright) Open(ctx context.Context, url string) error {
	return d.did(ctx, "browser_navigate", params{"url": url})
}

func (d *playwright) Text(ctx context.Context, _ Kind) (string, error) {
	return d.tool(ctx, "browser_snapshot", params{})
}

func (d *playwright) Snapshot(ctx context.Context, kind Kind) (Snapshot, error) {
	return read(ctx, d, kind, parsePlaywright)
}

func (d *playwright) Click(ctx context.Context, ref string) error {
	return d.did(ctx, "browser_click", params{"target": ref})
}

func (d *playwright) ClickAndSee(ctx context.Context, ref string) (string, error) {
	if err := d.Click(ctx, ref); err != nil {
		return "", err
	}
	return d.Text(ctx, Default)
}

func (d *playwright) DoubleClick(ctx context.Context, ref string) error {
	return d.did(ctx, "browser_click", params{"target": ref, "doubleClick": true})
}

func (d *playwright) Type(ctx context.Context, ref, text string) error {
	return d.did(ctx, "browser_type", params{"target": ref, "text": text})
}

func (d *playwright) Press(ctx context.Context, key string) error {
	return d.did(ctx, "browser_press_key", params{"key": key})
}

func (d *playwright) Select(ctx context.Context, ref, label string) error {
	return d.did(ctx, "browser_select_option", params{"target": ref, "values": []string{label}})
}

func (d *playwright) Check(ctx context.Context, ref string, checked bool) error {
	field := params{"target": ref, "name": "box", "type": "checkbox", "value": fmt.Sprint(checked)}
	return d.did(ctx, "browser_fill_form", params{"fields": []params{field}})
}

func (d *playwright) Hover(ctx context.Context, ref string) error {
	return d.did(ctx, "browser_hover", params{"target": ref})
}

func (d *playwright) Drag(ctx context.Context, from, to string) error {
	return d.did(ctx, "browser_drag", params{"startTarget": from, "endTarget": to})
}

func (d *playwright) Eval(ctx context.Context, expression string) (json.RawMessage, error) {
	text, err := d.tool(ctx, "browser_evaluate", params{"function": "() => (" + expression + ")"})
	if err != nil {
		return nil, err
	}
	_, result, _ := strings.Cut(text, "### Result\n")
	result, _, _ = strings.Cut(result, "\n### ")
	return evaluated(result)
}

// evaluated is a value as text: JSON, or undefined.
func evaluated(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if text == "undefined" {
		text = "null"
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("no JSON: %q", text)
	}
	return json.RawMessage(text), nil
}
