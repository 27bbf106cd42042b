package cdp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/gorilla/websocket"
)

// ErrRefused is in the chain of Dial's error where the other end answered that it does not want to.
var ErrRefused = errors.New("the WebSocket was refused")

// Dial connects to the WebSocket of a Chromium that runs elsewhere. It presents the
// WebSocket to chromedp as the pipe that a launched Chromium has: a message is read as
// it comes, and one that is too large is truncated. chromedp's own WebSocket connection
// reads each message whole, and ends with one that is larger than its limit.
func Dial(ctx context.Context, address string) (Transport, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if password, ok := u.User.Password(); u.User.Username() != "" || ok {
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	u.User = nil
	// No proxy: the endpoint is the operator's own machine.
	ws, _, err := (&websocket.Dialer{ReadBufferSize: 64 << 10}).DialContext(ctx, u.String(), header)
	if errors.Is(err, websocket.ErrBadHandshake) {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return nil, err
	}
	return Pipe(&webSocketReader{ws: ws}, webSocketWriter{ws}), nil
}

// webSocketReader reads the messages of a WebSocket, with a zero byte after each.
type webSocketReader struct {
	ws      *websocket.Conn
	message io.Reader // the one that is being read; nil between two messages
}

func (r *webSocketReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if r.message == nil {
		_, message, err := r.ws.NextReader()
		if err != nil {
			return 0, err
		}
		r.message = message
	}
	n, err := r.message.Read(p)
	if err != io.EOF {
		return n, err
	}
	if n == 0 { // with n > 0, the next Read gets io.EOF again
		r.message, p[0], n = nil, 0, 1
	}
	return n, nil
}

func (r *webSocketReader) Close() error { return r.ws.Close() }

// webSocketWriter sends whole messages, each of which comes with a zero byte after it.
type webSocketWriter struct{ ws *websocket.Conn }

func (w webSocketWriter) Write(p []byte) (int, error) {
	if err := w.ws.WriteMessage(websocket.TextMessage, p[:len(p)-1]); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w webSocketWriter) Close() error { return nil } // webSocketReader closes it
