package driver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// mcpVersion is the protocol's that is offered; the server answers with its own.
const mcpVersion = "2025-06-18"

// mcpClient is one client of an MCP server. It speaks as little as it can, so
// that what is timed is the server: a call is one line, or one POST, and its answer.
type mcpClient struct {
	send func(ctx context.Context, m rpcMessage) (rpcMessage, error)
	told func(Call) // nil: nobody is told of the calls

	instructions string // of the server, for the model

	mu   sync.Mutex
	next int
}

type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      any             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// initialize is what a client says first.
func (c *mcpClient) initialize(ctx context.Context) error {
	raw, err := c.request(ctx, "initialize", params{
		"protocolVersion": mcpVersion, "capabilities": params{}, "clientInfo": params{"name": "bench", "version": "1"},
	})
	if err != nil {
		return err
	}
	var r struct{ Instructions string }
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	c.instructions = r.Instructions
	_, err = c.send(ctx, rpcMessage{JSONRPC: "2.0", Method: "notifications/initialized"})
	return err
}

func (c *mcpClient) request(ctx context.Context, method string, p any) (json.RawMessage, error) {
	c.mu.Lock()
	c.next++
	id := c.next
	c.mu.Unlock()
	answer, err := c.send(ctx, rpcMessage{JSONRPC: "2.0", ID: id, Method: method, Params: p})
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, fmt.Errorf("%s: %s", method, answer.Error.Message)
	}
	return answer.Result, nil
}

// tool calls a tool and returns the texts of its answer.
func (c *mcpClient) tool(ctx context.Context, name string, arguments params) (string, error) {
	text, _, err := c.call(ctx, name, arguments)
	return text, err
}

// call is tool, and returns the answer's structured content with its texts.
func (c *mcpClient) call(ctx context.Context, name string, arguments params) (text string, structured json.RawMessage, err error) {
	if arguments == nil {
		arguments = params{}
	}
	began := time.Now()
	raw, err := c.request(ctx, "tools/call", params{"name": name, "arguments": arguments})
	waited := time.Since(began)
	if err != nil {
		return "", nil, err
	}
	var r struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", nil, err
	}
	var b strings.Builder
	for _, part := range r.Content {
		b.WriteString(part.Text)
	}
	if c.told != nil {
		c.told(Call{name, b.String(), waited})
	}
	if r.IsError {
		return "", nil, fmt.Errorf("%s: %s", name, b.String())
	}
	return b.String(), r.StructuredContent, nil
}

// tools is the answer to tools/list as it stands.
func (c *mcpClient) tools(ctx context.Context) (json.RawMessage, error) {
	return c.request(ctx, "tools/list", params{})
}

// stdioClient speaks over a process's standard input and output, one message
// per line. Its reader ends with the output.
type stdioClient struct {
	mu      sync.Mutex
	in      io.Writer
	waiting map[int]chan rpcMessage
	ended   chan struct{}
}

func newStdioClient(in io.Writer, out io.Reader) *mcpClient {
	s := &stdioClient{in: in, waiting: map[int]chan rpcMessage{}, ended: make(chan struct{})}
	go s.read(out)
	return &mcpClient{send: s.send}
}

func (s *stdioClient) read(out io.Reader) {
	defer close(s.ended)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m rpcMessage
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Method != "" {
			if m.ID != nil { // a client that can nothing says so
				s.write(rpcMessage{JSONRPC: "2.0", ID: m.ID, Error: &rpcError{-32601, "not supported"}})
			}
			continue
		}
		id, _ := m.ID.(float64)
		s.mu.Lock()
		answer := s.waiting[int(id)]
		delete(s.waiting, int(id))
		s.mu.Unlock()
		if answer != nil {
			answer <- m
		}
	}
}

func (s *stdioClient) write(m rpcMessage) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.in.Write(append(b, '\n'))
	return err
}

func (s *stdioClient) send(ctx context.Context, m rpcMessage) (rpcMessage, error) {
	if m.ID == nil {
		return rpcMessage{}, s.write(m)
	}
	answer := make(chan rpcMessage, 1) // the reader does not wait for who gave up
	s.mu.Lock()
	s.waiting[m.ID.(int)] = answer
	s.mu.Unlock()
	if err := s.write(m); err != nil {
		return rpcMessage{}, err
	}
	select {
	case got := <-answer:
		return got, nil
	case <-s.ended:
		return rpcMessage{}, errors.New("the server has ended")
	case <-ctx.Done():
		return rpcMessage{}, ctx.Err()
	}
}

// httpClient speaks streamable HTTP: one POST per message, whose answer is JSON
// or a stream of events that holds it.
type httpClient struct {
	url     string
	http    *http.Client
	header  http.Header // beside what the protocol asks for
	session string
}

func newHTTPClient(url string) (*httpClient, *mcpClient) {
	h := &httpClient{url: url, http: &http.Client{Transport: &http.Transport{}}}
	return h, &mcpClient{send: h.send}
}

func (h *httpClient) request(ctx context.Context, method string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, h.header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if h.session != "" {
		req.Header.Set("Mcp-Session-Id", h.session)
		req.Header.Set("Mcp-Protocol-Version", mcpVersion)
	}
	return h.http.Do(req)
}

func (h *httpClient) send(ctx context.Context, m rpcMessage) (rpcMessage, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return rpcMessage{}, err
	}
	resp, err := h.request(ctx, http.MethodPost, body)
	if err != nil {
		return rpcMessage{}, err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		h.session = id
	}
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return rpcMessage{}, fmt.Errorf("HTTP %d: %s", resp.StatusCode, text)
	}
	if m.ID == nil {
		return rpcMessage{}, nil
	}
	var got rpcMessage
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return got, json.NewDecoder(resp.Body).Decode(&got)
	}
	for events := bufio.NewReaderSize(resp.Body, 1<<20); ; {
		line, err := events.ReadBytes('\n')
		if err != nil {
			return got, fmt.Errorf("the stream ended without an answer: %w", err)
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok || json.Unmarshal(data, &got) != nil || got.Method != "" {
			got = rpcMessage{}
			continue
		}
		io.Copy(io.Discard, resp.Body) // so that the connection is used again
		return got, nil
	}
}

// end ends the client's session on the server.
func (h *httpClient) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	resp, err := h.request(ctx, http.MethodDelete, nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	h.http.CloseIdleConnections()
	return nil
}
