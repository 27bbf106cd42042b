package policy

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
)

// A browser leaves a % in a path as it is, whether or not two hexadecimal digits
// follow (WHATWG URL, path state); net/http answers such a target with 400 before
// any handler sees it. So browserd rewrites the request line before the parser reads it:
// the parser gets %25 for such a %, and the site gets what the browser wrote.

// maxLine is the longest request line, in bytes, that is rewritten.
const maxLine = 1 << 20

// strayPercentListener is a listener whose connections rewrite request lines in this way.
type strayPercentListener struct{ net.Listener }

// Accept implements net.Listener.
func (l strayPercentListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &strayPercentConn{Conn: c, atLine: true}, nil
}

// strayPercentConn rewrites the request lines that it reads. Only one goroutine may read from
// it at a time, as net/http does.
type strayPercentConn struct {
	net.Conn

	mu      sync.Mutex
	atLine  bool   // the next byte begins a request
	ready   []byte // rewritten, not returned by Read yet
	as, raw string // the last rewritten request target, and its original
}

// Read implements net.Conn.
func (c *strayPercentConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	if c.atLine && len(c.ready) == 0 {
		c.mu.Unlock()
		line, err := c.readLine(b[:0:len(b)])
		c.mu.Lock()
		if c.ready = line; len(line) == 0 {
			c.mu.Unlock()
			return 0, err
		}
	}
	if len(c.ready) > 0 {
		n := copy(b, c.ready)
		if c.ready = c.ready[n:]; len(c.ready) == 0 {
			c.ready = nil // frees its buffer
		}
		c.mu.Unlock()
		return n, nil
	}
	c.mu.Unlock()
	return c.Conn.Read(b)
}

// readLine reads at least up to the end of the request line, and rewrites the line. On an
// error it keeps what it has read; the next read returns the error again. It reads into buf,
// the reader's own, as long as that suffices: a connection that waits needs no other.
func (c *strayPercentConn) readLine(buf []byte) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := c.Conn.Read(buf[len(buf):cap(buf)])
		from := len(buf)
		buf = buf[:from+n]
		end := bytes.IndexByte(buf[from:], '\n')
		if end < 0 && err == nil && len(buf) < maxLine {
			continue
		}
		if len(buf) == 0 {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.atLine = false
		if end < 0 {
			return buf, err
		}
		end += from
		line := string(buf[:end])
		whole, changed := escapeStrayPercents(line)
		if !changed {
			return buf, nil
		}
		c.as, c.raw = targetOf(whole), targetOf(line)
		return append([]byte(whole), buf[end:]...), nil
	}
}

// CloseWrite closes the sending half of the connection, for tunnels.
func (c *strayPercentConn) CloseWrite() error { return closeWrite(c.Conn) }

// idle is http.Server.ConnState. When a connection becomes idle, the next byte begins a
// request.
func idle(c net.Conn, s http.ConnState) {
	if lc, ok := c.(*strayPercentConn); ok && s == http.StateIdle {
		lc.mu.Lock()
		defer lc.mu.Unlock()
		lc.atLine = true
	}
}

type connKey struct{}

// targetAsSent returns the request target as the browser wrote it.
func targetAsSent(ctx context.Context, parsed string) string {
	c, ok := ctx.Value(connKey{}).(*strayPercentConn)
	if !ok {
		return parsed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.as == parsed {
		return c.raw
	}
	return parsed
}

// targetOf returns the request target in a request line.
func targetOf(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	between, _, _ := strings.Cut(rest, " ")
	return between
}

// escapeStrayPercents returns the request line with %25 for every % in the path that does not begin an
// escape. It returns any other line unchanged.
func escapeStrayPercents(line string) (whole string, changed bool) {
	of := targetOf(line)
	if strings.Count(line, " ") != 2 || !strings.HasPrefix(of, "http://") {
		return line, false
	}
	path, query, _ := strings.Cut(of, "?")
	begin := strings.IndexByte(path[len("http://"):], '/')
	if begin < 0 {
		return line, false
	}
	begin += len("http://")
	var b strings.Builder
	b.WriteString(path[:begin])
	for i := begin; i < len(path); i++ {
		b.WriteByte(path[i])
		if path[i] == '%' && (i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2])) {
			b.WriteString("25")
			changed = true
		}
	}
	if !changed {
		return line, false
	}
	if len(query) > 0 || strings.HasSuffix(of, "?") {
		b.WriteString("?" + query)
	}
	method, _, _ := strings.Cut(line, " ")
	return method + " " + b.String() + line[len(method)+1+len(of):], true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
