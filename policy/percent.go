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
// any handler sees it. So the first line of a request is read here first: the
// parser is given %25 there, and the site what the browser wrote.

// maxLine is how long a request's first line may be for that.
const maxLine = 1 << 20

// lenient is a listener of the proxy's whose connections do that.
type lenient struct{ net.Listener }

// Accept is net.Listener's.
func (l lenient) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lenientConn{Conn: c, atLine: true}, nil
}

// lenientConn is read by one goroutine at a time, net/http's.
type lenientConn struct {
	net.Conn

	mu      sync.Mutex
	atLine  bool   // what is read next begins a request
	ready   []byte // read and mended, not handed out yet
	as, raw string // the last target that was mended, and as it came
}

// Read is net.Conn's.
func (c *lenientConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	if c.atLine && len(c.ready) == 0 {
		c.mu.Unlock()
		line, err := c.readLine()
		c.mu.Lock()
		if c.ready = line; len(line) == 0 {
			c.mu.Unlock()
			return 0, err
		}
	}
	if len(c.ready) > 0 {
		n := copy(b, c.ready)
		c.ready = c.ready[n:]
		c.mu.Unlock()
		return n, nil
	}
	c.mu.Unlock()
	return c.Conn.Read(b)
}

// readLine reads up to the end of the request's first line and perhaps beyond,
// and mends the line. What there is comes with an error, too; that comes again.
func (c *lenientConn) readLine() ([]byte, error) {
	buf := make([]byte, 0, 4096)
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
		whole, changed := mended(line)
		if !changed {
			return buf, nil
		}
		c.as, c.raw = targetOf(whole), targetOf(line)
		return append([]byte(whole), buf[end:]...), nil
	}
}

// CloseWrite ends what is sent, for a tunnel.
func (c *lenientConn) CloseWrite() error { return closeWrite(c.Conn) }

// idle is http.Server.ConnState: behind an answer comes the next request.
func idle(c net.Conn, s http.ConnState) {
	if lc, ok := c.(*lenientConn); ok && s == http.StateIdle {
		lc.mu.Lock()
		defer lc.mu.Unlock()
		lc.atLine = true
	}
}

type connKey struct{}

// asItCame is the target of a request as the browser wrote it.
func asItCame(ctx context.Context, parsed string) string {
	c, ok := ctx.Value(connKey{}).(*lenientConn)
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

// targetOf is what stands between the spaces of a request's first line.
func targetOf(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	between, _, _ := strings.Cut(rest, " ")
	return between
}

// mended is a request's first line with %25 for every % in the path that begins
// no escape. A line that is nothing of the kind is left alone.
func mended(line string) (whole string, changed bool) {
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
