package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
)

// client sends commands to a daemon over HTTP and stays in one
// session: the last one that a command opened or named. Any goroutine may use it.
type client struct {
	endpoint
	token string
	// shared: several agents may use the client. A session that a command names with the
	// parameter session does not become its own.
	shared bool

	mu      sync.Mutex
	session string
}

// own returns the session that commands without one are for; "" for none yet.
func (c *client) own() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// use makes a session the client's own.
func (c *client) use(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

// gone says of a command's error that the client's own session is no more: closed,
// or expired. The client has none then, and the command, sent again, opens another,
// as over every transport.
func (c *client) gone(own string, err error) bool {
	var said *protocol.Error
	if !errors.As(err, &said) || said.Code != protocol.SessionNotFound || said.Details["session"] != own {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == own {
		c.session = ""
	}
	return true
}

// call sends one command, in the client's own session once there is one, and returns its
// result object. An error that the daemon answered is a *protocol.Error.
func (c *client) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	return c.callIn(ctx, c.own(), method, params)
}

// callIn is call in the session own; "": in none.
func (c *client) callIn(ctx context.Context, own, method string, params any) (json.RawMessage, error) {
	body, err := bodyIn(own, method, params)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer to %s: %w", method, err)
	}
	if s := resp.Header.Get("Browserd-Session"); s != "" && !(c.shared && namesSession(params)) {
		c.use(s)
	}
	if resp.StatusCode == http.StatusOK {
		return bytes.TrimSuffix(answer, []byte("\n")), nil
	}
	return nil, refusedBy(method, resp.StatusCode, answer)
}

// refusedBy is the error that an answer of another status than 200 says.
func refusedBy(what string, status int, answer []byte) error {
	var refused struct {
		Error protocol.ErrorData `json:"error"`
	}
	if err := json.Unmarshal(answer, &refused); err != nil || refused.Error.Code == "" {
		return fmt.Errorf("%s: HTTP %d, and no browserd's answer", what, status)
	}
	e := refused.Error
	return &protocol.Error{Code: e.Code, Message: e.Message, Next: e.Next, Details: e.Details}
}

// read returns what lies at a path; the caller closes it. Its errors are those of call.
func (c *client) read(ctx context.Context, path string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http().Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return nil, refusedBy(path, resp.StatusCode, answer)
}

// bodyIn is params as a JSON object, with the session in it if there is one.
// session_open names a session only where its caller does.
func bodyIn(own, method string, params any) ([]byte, error) {
	if params == nil {
		params = struct{}{}
	}
	data, err := json.Marshal(params)
	if err != nil || own == "" || opensSession(method) {
		return data, err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return data, nil // no object: the daemon says so
	}
	session, err := json.Marshal(own)
	switch named, there := members["session"]; {
	case !there && len(members) > 0:
		// Put behind what is there: a member that stands twice is for the daemon to refuse.
		return slices.Concat(bytes.TrimSuffix(data, []byte("}")), []byte(`,"session":`), session, []byte("}")), err
	case there && string(named) != "null" && string(named) != `""`:
		return data, nil
	}
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	members["session"] = session
	return json.Marshal(members)
}

// namesSession reports whether a command's params name a session.
func namesSession(params any) bool {
	data, err := json.Marshal(params)
	var named struct {
		Session string `json:"session"`
	}
	return err == nil && json.Unmarshal(data, &named) == nil && named.Session != ""
}

// opensSession reports whether the command opens the session that it is for.
func opensSession(name string) bool {
	cmd, known := actions.All.Lookup(name)
	return known && cmd.Is(command.OpensSession)
}
