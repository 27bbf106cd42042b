package driver

import (
	"context"
	"encoding/json"
	"time"

	client "github.com/browserd/browserd/clients/go"
)

// Call is one call of a tool, as its caller sees it.
type Call struct {
	Name   string        // of the tool or the command
	Answer string        // what a model reads
	Waited time.Duration // for the answer
}

// Shower is a tool whose actions answer with the page as it is then, where Options.Steps
// asks for it. Shown returns what the last answer showed, once; false where there is
// nothing new, and the page has to be asked for.
type Shower interface {
	Shown() (Snapshot, bool)
}

// caller is a connection to browserd that runs one command at a time.
type caller interface {
	Call(ctx context.Context, method string, params, result any) error
	Close() error
}

// overWebSocket tells of the calls of a client. What is read of an answer is its JSON.
type overWebSocket struct {
	*client.Client
	told func(Call)
}

func (c overWebSocket) Call(ctx context.Context, method string, p, result any) error {
	if c.told == nil {
		return c.Client.Call(ctx, method, p, result)
	}
	began := time.Now()
	var raw json.RawMessage
	err := c.Client.Call(ctx, method, p, &raw)
	answer := string(raw)
	if err != nil {
		answer = err.Error()
	}
	c.told(Call{method, answer, time.Since(began)})
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

// overMCP runs commands as tools of browserd's MCP server. A model reads the text of an
// answer; the driver reads its structured form, which says the same.
type overMCP struct {
	*mcpClient
	http *httpClient
}

func (c overMCP) Call(ctx context.Context, method string, p, result any) error {
	arguments, _ := p.(params)
	_, structured, err := c.call(ctx, method, arguments)
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(structured, result)
}

func (c overMCP) Close() error { return c.http.end() }
