package browser

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"

	"github.com/chromedp/chromedp"
	"github.com/gorilla/websocket"
)

// dialPipe connects to the websocket of a Chromium that runs elsewhere, and makes of it
// the pipe that a launched one has: a message is read as it comes, and what is too much
// of it is cut, whatever a page says. chromedp's own connection reads each whole, and
// ends with one that is larger than its limit.
func dialPipe(ctx context.Context, address string) (chromedp.Transport, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if password, ok := u.User.Password(); u.User.Username() != "" || ok {
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	u.User = nil
	// No proxy: it is the operator's own machine.
	ws, _, err := (&websocket.Dialer{ReadBufferSize: 64 << 10}).DialContext(ctx, u.String(), header)
	if err != nil {
		return nil, err
	}
	return chromedp.NewPipeConn(&bounded{ReadCloser: &received{ws: ws}}, sent{ws}), nil
}

// received is what comes by a websocket, a zero byte behind each message.
type received struct {
	ws      *websocket.Conn
	message io.Reader // nil: the next one is waited for
}

func (r *received) Read(p []byte) (int, error) {
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
	if n == 0 { // a message's end comes again
		r.message, p[0], n = nil, 0, 1
	}
	return n, nil
}

func (r *received) Close() error { return r.ws.Close() }

// sent takes whole messages, each with the zero byte behind it.
type sent struct{ ws *websocket.Conn }

func (s sent) Write(p []byte) (int, error) {
	if err := s.ws.WriteMessage(websocket.TextMessage, p[:len(p)-1]); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s sent) Close() error { return nil } // received does
