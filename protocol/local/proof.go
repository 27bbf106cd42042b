// Package local is a program's way to a daemon on its own machine: where the daemon keeps
// its token and its socket, and the proof that what listens at an address knows the token,
// before the token is sent there. The command line and the Go client share it. It writes
// nothing and sends no token.
package local

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/browserd/browserd/protocol"
)

// ErrNotProved is returned where what listens at an address does not show that it
// knows the client's token. The token was not sent.
var ErrNotProved = errors.New("what listens there is not a browserd that knows this token")

// DialProved returns a function that connects over TCP, for an http.Transport or a
// WebSocket, and lets the daemon at the other end prove within 3 seconds that it knows
// token. What is sent on that connection afterwards reaches the one who proved it.
func DialProved(token string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// The address that was really dialled, where a name such as localhost stands for several.
		if host, _, err := net.SplitHostPort(address); err != nil || host == "localhost" || net.ParseIP(host) != nil {
			address = conn.RemoteAddr().String()
		}
		return Proved(ctx, conn, address, token)
	}
}

// Proved is conn once the daemon at its other end has proved itself under the name host.
func Proved(ctx context.Context, conn net.Conn, host, token string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	conn.SetDeadline(time.Now().Add(3 * time.Second))
	err := prove(conn, host, token)
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	return conn, conn.SetDeadline(time.Time{})
}

func prove(conn net.Conn, host, token string) error {
	nonce := make([]byte, 32)
	rand.Read(nonce)
	own := hex.EncodeToString(nonce)
	// By hand: net/http gives no connection back.
	if _, err := fmt.Fprintf(conn, "GET %s?nonce=%s HTTP/1.1\r\nHost: %s\r\n\r\n", protocol.ProofPath, own, host); err != nil {
		return err
	}
	in := bufio.NewReader(io.LimitReader(conn, 1<<20))
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotProved, err)
	}
	var answer protocol.Proof
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Close || in.Buffered() > 0 || json.Unmarshal(body, &answer) != nil || len(answer.Nonce) != 64 {
		return fmt.Errorf("%w (HTTP %d)", ErrNotProved, resp.StatusCode)
	}
	want := protocol.ProofOf(sha256.Sum256([]byte(token)), host, own, answer.Nonce)
	for _, p := range answer.Proofs {
		if hmac.Equal([]byte(p), []byte(want)) {
			return nil
		}
	}
	return ErrNotProved
}
