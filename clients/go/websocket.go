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
	"net/url"
	"time"
)

// maxMessage bounds what the daemon may send at once.
const maxMessage = 256 << 20

// webSocket is the client's half of RFC 6455, without extensions. One goroutine reads;
// writes are serialized by the Client.
type webSocket struct {
	conn net.Conn
	in   *bufio.Reader
}

// upgrade makes a WebSocket of a connection to a daemon, until ctx ends.
func upgrade(ctx context.Context, conn net.Conn, at *url.URL, token string) (*webSocket, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	nonce := make([]byte, 16)
	rand.Read(nonce)
	key := base64.StdEncoding.EncodeToString(nonce)
	r := &http.Request{Method: http.MethodGet, URL: at, Host: at.Host, Header: http.Header{
		"Authorization": {"Bearer " + token}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"},
		"Sec-WebSocket-Version": {"13"}, "Sec-WebSocket-Key": {key}, "Sec-WebSocket-Protocol": {"browserd.v1"},
	}}
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	w := &webSocket{conn, bufio.NewReaderSize(conn, 32<<10)}
	resp, err := http.ReadResponse(w.in, r)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	accept := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(accept[:]) {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return nil, fmt.Errorf("HTTP %d: %s", resp.StatusCode, said)
	}
	return w, nil
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
	var mask [4]byte
	rand.Read(mask[:])
	frame = append(frame, mask[:]...)
	for i, b := range payload {
		frame = append(frame, b^mask[i&3])
	}
	_, err := w.conn.Write(frame)
	return err
}

// read returns the next frame: whether it ends its message, its opcode and its payload.
func (w *webSocket) read() (last bool, opcode byte, payload []byte, err error) {
	var head [10]byte
	if _, err = io.ReadFull(w.in, head[:2]); err != nil {
		return
	}
	n, more := uint64(head[1]&0x7f), 0
	if n > 125 {
		more = 2 << (2 * (n - 126)) // 2 or 8 bytes
		if _, err = io.ReadFull(w.in, head[2:2+more]); err != nil {
			return
		}
		n = binary.BigEndian.Uint64(append(make([]byte, 8-more, 8), head[2:2+more]...))
	}
	if n > maxMessage || head[0]&0x70 != 0 || head[1]&0x80 != 0 {
		return false, 0, nil, errors.New("the daemon sent a frame that RFC 6455 does not allow")
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(w.in, payload)
	return head[0]&0x80 != 0, head[0] & 0x0f, payload, err
}
