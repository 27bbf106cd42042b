package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// transport is how a player speaks with the daemon.
type transport interface {
	// call sends a command and waits for its answer. An error that the daemon
	// answered is a *protocol.Error.
	call(ctx context.Context, method string, params map[string]any, result any) error
	close()
}

// webSocket is one WebSocket connection.
type webSocket struct{ c *client.Client }

func dialSocket(ctx context.Context, d *testdaemon.Daemon) (transport, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, d.WS(), d.Token)
	if err != nil {
		return nil, err
	}
	return webSocket{c}, nil
}

func (s webSocket) call(ctx context.Context, method string, params map[string]any, result any) error {
	return s.c.Call(ctx, method, params, result)
}

func (s webSocket) close() { s.c.Close() }

// overHTTP sends each command as a request of its own.
type overHTTP struct {
	url, token string
	http       *http.Client
}

func newHTTPTransport(d *testdaemon.Daemon) transport {
	return overHTTP{d.URL() + "/v1/", d.Token, &http.Client{Transport: &http.Transport{}}}
}

func (h overHTTP) call(ctx context.Context, method string, params map[string]any, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	resp, err := h.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var refused struct{ Error protocol.ErrorData }
		if err := json.Unmarshal(answer, &refused); err != nil || refused.Error.Code == "" {
			return fmt.Errorf("%s: HTTP %d: %.200s", method, resp.StatusCode, answer)
		}
		e := refused.Error
		return &protocol.Error{Code: e.Code, Message: e.Message, Next: e.Next, Details: e.Details}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer, result)
}

func (h overHTTP) close() { h.http.CloseIdleConnections() }
