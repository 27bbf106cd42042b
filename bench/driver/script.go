package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
)

// Scripts is a client of an MCP server that runs scripts.
type Scripts struct {
	client *mcpClient
	pids   func() []int
	close  func() error

	open, run string                   // the tools that open a page and run a script
	address   func(url string) params  // the arguments of open
	code      func(code string) params // the arguments of run
}

// StartScripts starts browserd with its tools for scripts, or playwright-mcp. A script is the
// body of a function with Playwright's page.
func StartScripts(ctx context.Context, o Options, name string) (*Scripts, error) {
	if name == "playwright-mcp" {
		d, err := startPlaywright(ctx, o)
		if err != nil {
			return nil, err
		}
		p := d.(*playwright)
		return &Scripts{p.mcpClient, p.PIDs, p.Close, "browser_navigate", "browser_run_code_unsafe",
			func(url string) params { return params{"url": url} },
			func(code string) params { return params{"code": "async (page) => {\n" + code + "\n}"} }}, nil
	}
	p, addr, err := serveBrowserd(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	h, c := newHTTPClient("http://" + addr + "/mcp?tools=code")
	h.header = http.Header{"Authorization": {"Bearer " + token}}
	c.told = o.Told
	stop := func() error { return p.stop(func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }) }
	if err := c.initialize(ctx); err != nil {
		stop()
		return nil, err
	}
	return &Scripts{c, p.pids, stop, "run", "run",
		func(url string) params { return params{"code": fmt.Sprintf("await page.goto(%q)", url)} },
		func(code string) params { return params{"code": code} }}, nil
}

// Open opens a page and returns what the server shows of it.
func (s *Scripts) Open(ctx context.Context, url string) (string, error) {
	return s.client.tool(ctx, s.open, s.address(url))
}

// Run runs a script and returns the server's answer.
func (s *Scripts) Run(ctx context.Context, code string) (string, error) {
	return s.client.tool(ctx, s.run, s.code(code))
}

// Introduction is what a model is told before the first call: the list of the tools, as far as
// it is for the model, and the server's instructions.
func (s *Scripts) Introduction(ctx context.Context) (string, error) {
	return s.client.introduction(ctx)
}

func (s *Scripts) Close() error { return s.close() }
func (s *Scripts) PIDs() []int  { return s.pids() }

func (c *mcpClient) introduction(ctx context.Context) (string, error) {
	raw, err := c.tools(ctx)
	if err != nil {
		return "", err
	}
	var list struct {
		Tools json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", err
	}
	return string(list.Tools) + "\n" + c.instructions, nil
}

// Introduction is what a model is told before its first call with the tool's defaults: over
// MCP the list of the tools and the server's instructions; of agent-browser the guide that its
// command line prints for agents, which is shorter.
func Introduction(ctx context.Context, o Options, name string) (string, error) {
	switch {
	case strings.HasPrefix(name, "browserd"):
		p, addr, err := serveBrowserd(ctx, o, nil)
		if err != nil {
			return "", err
		}
		defer p.stop(p.cmd.Process.Kill)
		h, c := newHTTPClient("http://" + addr + "/mcp")
		h.header = http.Header{"Authorization": {"Bearer " + token}}
		if err := c.initialize(ctx); err != nil {
			return "", err
		}
		return c.introduction(ctx)
	case name == "agent-browser":
		bin, err := agentBrowserProgram(o)
		if err != nil {
			return "", err
		}
		home, err := newHome()
		if err != nil {
			return "", err
		}
		return program{path: bin, home: home, env: environ(home), used: new(atomic.Int64)}.run(ctx, "skills", "get", "core")
	}
	d, err := startPlaywright(ctx, o)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return d.(*playwright).introduction(ctx)
}
