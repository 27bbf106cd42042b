package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/browserd/browserd/protocol"
)

// client sends commands to a daemon through its HTTP door and stays in one
// session: the one that its first command opened. It is for one goroutine.
type client struct {
	base    string // http://host:port
	token   string
	session string
}

// call sends one command and returns its result object. An error that the
// daemon answered is a *protocol.Error.
func (c *client) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := c.body(params)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := direct.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer to %s: %w", method, err)
	}
	if s := resp.Header.Get("Browserd-Session"); s != "" {
		c.session = s
	}
	if resp.StatusCode == http.StatusOK {
		return answer, nil
	}
	var refused struct {
		Error protocol.ErrorData `json:"error"`
	}
	if err := json.Unmarshal(answer, &refused); err != nil || refused.Error.Code == "" {
		return nil, fmt.Errorf("%s: HTTP %d, and no browserd's answer", method, resp.StatusCode)
	}
	e := refused.Error
	return nil, &protocol.Error{Code: e.Code, Message: e.Message, Next: e.Next, Details: e.Details}
}

// body is params as a JSON object, with the session in it once there is one.
func (c *client) body(params any) ([]byte, error) {
	if params == nil {
		params = struct{}{}
	}
	data, err := json.Marshal(params)
	if err != nil || c.session == "" {
		return data, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	if _, named := members["session"]; !named {
		members["session"], _ = json.Marshal(c.session)
	}
	return json.Marshal(members)
}
