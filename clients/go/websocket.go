package browserd

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// maxMessage bounds what the daemon may send at once.
const maxMessage = 256 << 20

// webSocket is the client's half of RFC 6455, without extensions. One goroutine reads.
type webSocket struct {
	io.ReadWriteCloser
	in      *bufio.Reader
	writing sync.Mutex
}

// upgrade connects to a daemon, at an http or https URL.
func upgrade(ctx context.Context, over http.RoundTripper, url, token string) (*webSocket, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, 16)
	rand.Read(nonce)
	key := base64.StdEncoding.EncodeToString(nonce)
	r.Header = http.Header{
		"Authorization": {"Bearer " + token}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"},
		"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {key}, "Sec-Websocket-Protocol": {"browserd.v1"},
	}
	resp, err := over.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	accept := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, upgraded := resp.Body.(io.ReadWriteCloser)
	if !upgraded || resp.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(accept[:]) {
		var said []byte
		if !upgraded { // else it is the connection, which nobody ends
			said, _ = io.ReadAll(io.LimitReader(resp.Body, 1000))
		}
		resp.Body.Close()
		return nil, fmt.Errorf("HTTP %d: %s", resp.StatusCode, said)
	}
	return &webSocket{ReadWriteCloser: conn, in: bufio.NewReaderSize(conn, 32<<10)}, nil
}

// write sends one frame, masked as a client's must be.
func (w *webSocket) write(opcode byte, payload []byte) error {
	frame := append(make([]byte, 0, len(payload)+14), 0x80|opcode)
	switch n := len(payload); {
	case n < 126:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	mask := len(frame)
	frame = append(frame, 0, 0, 0, 0)
	rand.Read(frame[mask:])
	for i, b := range payload {
		frame = append(frame, b^frame[mask+i&3])
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := w.Write(frame)
	return err
}

// message returns the next message, and answers pings until it comes.
func (w *webSocket) message() ([]byte, error) {
	var text []byte
	for {
		var head [10]byte
		_, err := io.ReadFull(w.in, head[:2])
		n, more := uint64(head[1]&0x7f), 0
		if n > 125 {
			more = 2 << (2 * (n - 126)) // 2 or 8 bytes
			_, err = io.ReadFull(w.in, head[2:2+more])
			n = binary.BigEndian.Uint64(append(make([]byte, 8-more, 8), head[2:2+more]...))
		}
		if err == nil && (n > maxMessage || head[0]&0x70 != 0 || head[1]&0x80 != 0) {
			err = errors.New("the daemon sent a frame that RFC 6455 does not allow")
		}
		if err != nil {
			return nil, err
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(w.in, payload); err != nil {
			return nil, err
		}
		switch opcode := head[0] & 0x0f; {
		case opcode == 8:
			return nil, fmt.Errorf("%w %s", net.ErrClosed, payload[min(2, n):])
		case opcode == 9:
			w.write(10, payload)
		case opcode < 3:
			text = append(text, payload...)
			if head[0]&0x80 != 0 {
				return text, nil
			}
		}
	}
}
