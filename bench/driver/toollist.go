package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// ToolList is what a tool tells an MCP client that it can do, with its defaults:
// the answer to tools/list. set is browserd's --tools; empty: its default.
func (t Tool) ToolList(ctx context.Context, o Options, set string) (json.RawMessage, error) {
	if o.Peers == "" {
		dir, err := PeersDir()
		if err != nil {
			return nil, err
		}
		o.Peers = dir
	}
	switch t.Package {
	case agentBrowserPackage:
		bin, err := agentBrowserProgram(o)
		if err != nil {
			return nil, err
		}
		return stdioTools(ctx, o, []string{bin, "mcp"})
	case pinchtabPackage:
		bin, err := pinchtabProgram(o)
		if err != nil {
			return nil, err
		}
		return stdioTools(ctx, o, []string{bin, "mcp"})
	case "":
		p, addr, err := serveBrowserd(ctx, o, nil)
		if err != nil {
			return nil, err
		}
		defer p.stop(p.cmd.Process.Kill)
		url := "http://" + addr + "/mcp"
		if set != "" {
			url += "?tools=" + set
		}
		h, c := newHTTPClient(url)
		h.header = http.Header{"Authorization": {"Bearer " + token}}
		if err := c.initialize(ctx); err != nil {
			return nil, err
		}
		return c.tools(ctx)
	}
	d, err := t.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	lister, ok := d.(interface {
		tools(context.Context) (json.RawMessage, error)
	})
	if !ok {
		return nil, fmt.Errorf("%s speaks no MCP", t.Name)
	}
	return lister.tools(ctx)
}

func stdioTools(ctx context.Context, o Options, argv []string) (json.RawMessage, error) {
	_, c, stop, err := launchStdio(ctx, o, argv)
	if err != nil {
		return nil, err
	}
	list, err := c.tools(ctx)
	return list, errors.Join(err, stop())
}
