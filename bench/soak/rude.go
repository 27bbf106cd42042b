package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/protocol"
)

// rude is a client that keeps to nothing. What it sends is answered with a
// code of the protocol, or its connection is closed.
type rude struct {
	*game
	rand *rand.Rand
}

func (r *rude) play(ctx context.Context) {
	for r.enter(ctx) {
		at := r.rand.IntN(len(rudenesses))
		r.tally.count("rude: " + rudenesses[at].name)
		rudenesses[at].do(r, ctx)
		r.leave()
		pause(ctx, time.Duration(100+r.rand.IntN(400))*time.Millisecond)
	}
}

var rudenesses = []struct {
	name string
	do   func(r *rude, ctx context.Context)
}{
	{"vanishes in the middle of a command", (*rude).vanish},
	{"sends garbage", (*rude).garbage},
	{"sends half a frame", func(r *rude, _ context.Context) { r.cutOff("\x81\xfe\x7f\xff\x00\x00\x00\x00{\"jsonrpc\":") }},
	{"sends a frame that is too large", func(r *rude, _ context.Context) {
		r.cutOff("\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00aaaa")
	}},
	{"sends half a request", (*rude).halfRequest},
	{"floods a session's queue", (*rude).flood},
	{"never reads", (*rude).deaf},
	{"has no token", (*rude).stranger},
	{"has the wrong parameters", (*rude).wrong},
	{"cancels", (*rude).cancels},
}

func (r *rude) dial(ctx context.Context) *client.Client {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, r.daemon.WS(), r.daemon.Token)
	if err != nil && ctx.Err() == nil {
		r.tally.fault("a rude client's connection: %v", err)
	}
	return c
}

// vanish leaves while its page is being opened. The session stays and expires.
func (r *rude) vanish(ctx context.Context) {
	c := r.dial(ctx)
	if c == nil {
		return
	}
	c.Send("open", map[string]any{"url": r.site + "/slow"})
	c.Send("screenshot", nil)
	pause(ctx, time.Duration(r.rand.IntN(200))*time.Millisecond)
	c.Close()
}

// garbage holds the connection to living on whatever a text frame holds.
func (r *rude) garbage(ctx context.Context) {
	conn, in, err := r.upgrade()
	if err != nil {
		r.tally.fault("upgrading: %v", err)
		return
	}
	defer conn.Close()
	junk := []string{"", "{", "[]", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "\xff\xfe", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"id":{}}`,
		strings.Repeat("[", 20000), `{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":1,"method":"no_such_command"}`}
	for range 20 {
		io.WriteString(conn, textFrame(junk[r.rand.IntN(len(junk))]))
	}
	io.WriteString(conn, textFrame(`{"jsonrpc":"2.0","id":"last","method":"ping"}`))
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		text, err := readFrame(in)
		if err != nil {
			r.tally.fault("a connection did not survive garbage: %v", err)
			return
		}
		var m struct {
			ID    any
			Error *protocol.RPCError
		}
		if json.Unmarshal(text, &m) == nil && m.ID == "last" {
			return
		}
		if m.Error != nil && !slices.Contains([]protocol.Code{protocol.ParseError, protocol.InvalidRequest, protocol.UnknownCommand}, m.Error.Data.Code) {
			r.tally.fault("garbage was answered with %s", m.Error.Data.Code)
		}
	}
}

// cutOff sends the beginning of a frame and leaves.
func (r *rude) cutOff(frame string) {
	conn, _, err := r.upgrade()
	if err != nil {
		r.tally.fault("upgrading: %v", err)
		return
	}
	io.WriteString(conn, frame)
	conn.Close()
}

func (r *rude) halfRequest(ctx context.Context) {
	conn, err := net.Dial("tcp", r.daemon.Addr)
	if err != nil {
		r.tally.fault("connecting: %v", err)
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/open HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 100000\r\n\r\n{\"url\":", r.daemon.Addr, r.daemon.Token)
	pause(ctx, time.Duration(r.rand.IntN(1000))*time.Millisecond)
}

// flood sends more than a session's queue and a connection may hold.
func (r *rude) flood(ctx context.Context) {
	c := r.dial(ctx)
	if c == nil {
		return
	}
	defer c.Close()
	var sent []*client.Pending
	for range 400 {
		p, err := c.Send("read", map[string]any{"kind": "text"})
		if err != nil {
			r.tally.fault("sending: %v", err)
			return
		}
		sent = append(sent, p)
	}
	// Of sixty and more in one queue the last may not get its turn in time.
	r.answers(ctx, "read", sent, protocol.RateLimited, protocol.SessionLimit, protocol.Timeout)
	r.close(ctx, c)
}

func (r *rude) answers(ctx context.Context, method string, sent []*client.Pending, expected ...protocol.Code) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, answerWithin+answerWithin/2) // the first were sent a while ago
	defer cancel()
	for _, p := range sent {
		if err := p.Wait(limited, nil); ctx.Err() == nil {
			r.tally.answered(method, err, time.Since(began), "", append(expected, anyTime...)...)
		}
	}
}

func (r *rude) close(ctx context.Context, c *client.Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	began := time.Now()
	r.tally.answered("session_close", c.Call(ctx, "session_close", nil, nil), time.Since(began), "", protocol.SessionNotFound)
}

// deaf asks for much and reads nothing.
func (r *rude) deaf(ctx context.Context) {
	conn, _, err := r.upgrade()
	if err != nil {
		r.tally.fault("upgrading: %v", err)
		return
	}
	defer conn.Close()
	conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	for range 300 {
		if _, err := io.WriteString(conn, textFrame(`{"jsonrpc":"2.0","id":1,"method":"help"}`)); err != nil {
			break
		}
	}
	pause(ctx, time.Second)
}

func (r *rude) stranger(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.daemon.URL()+"/v1/status", strings.NewReader("{}"))
	if err != nil {
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			r.tally.fault("a stranger's request: %v", err)
		}
		return
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusTooManyRequests {
		r.tally.fault("a stranger was answered with HTTP %d", resp.StatusCode)
	}
}

func (r *rude) wrong(ctx context.Context) {
	c := r.dial(ctx)
	if c == nil {
		return
	}
	defer c.Close()
	for method, params := range map[string]map[string]any{
		"click": {"ref": "@e99999", "session": "s_nobody"}, "open": {"url": "http://127.0.0.2/"}, "wait": {"ms": -1}, "nothing": nil,
		"session_open": {"name": "../../etc"}, "web_fetch": {"url": "file:///etc/passwd"}, "snapshot": {"max_chars": "many"},
	} {
		began := time.Now()
		err := c.Call(ctx, method, params, nil)
		if ctx.Err() != nil {
			return
		}
		if method == "nothing" {
			method = "unknown"
		}
		if err == nil {
			r.tally.fault("%s with wrong parameters was answered", method)
		}
		r.tally.answered(method, err, time.Since(began), params, protocol.SessionNotFound, protocol.PolicyDenied, protocol.InvalidParams, protocol.UnknownCommand)
	}
}

// cancels sends what waits and takes it back.
func (r *rude) cancels(ctx context.Context) {
	c := r.dial(ctx)
	if c == nil {
		return
	}
	defer c.Close()
	var sent []*client.Pending
	for range 5 {
		p, err := c.Send("wait", map[string]any{"ms": 20000})
		if err != nil {
			r.tally.fault("sending: %v", err)
			return
		}
		sent = append(sent, p)
	}
	pause(ctx, time.Duration(r.rand.IntN(100))*time.Millisecond)
	for _, p := range sent {
		c.Call(ctx, "cancel", map[string]any{"id": p.ID}, nil)
	}
	r.answers(ctx, "wait", sent, protocol.Cancelled, protocol.SessionLimit)
	r.close(ctx, c)
}

// upgrade opens a WebSocket by hand (RFC 6455 section 4), since no library
// sends what a rude client sends.
func (r *rude) upgrade() (net.Conn, *bufio.Reader, error) {
	conn, err := net.DialTimeout("tcp", r.daemon.Addr, 10*time.Second)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(conn, "GET /v1/ws HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", r.daemon.Addr, r.daemon.Token)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		err = fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, in, nil
}

// textFrame is a final text frame, masked with zeros (RFC 6455 section 5.2).
func textFrame(s string) string {
	b := []byte{0x81}
	switch n := len(s); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	default:
		b = append(b, 0xfe)
		b = binary.BigEndian.AppendUint16(b, uint16(n)) // none here is longer
	}
	return string(append(b, 0, 0, 0, 0)) + s
}

// readFrame reads a server's frame, which is not masked.
func readFrame(in *bufio.Reader) ([]byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	n := uint64(head[1] & 0x7f)
	if extra := map[uint64]int{126: 2, 127: 8}[n]; extra > 0 {
		length := make([]byte, 8)
		if _, err := io.ReadFull(in, length[8-extra:]); err != nil {
			return nil, err
		}
		n = binary.BigEndian.Uint64(length)
	}
	text := make([]byte, n)
	_, err := io.ReadFull(in, text)
	return text, err
}
