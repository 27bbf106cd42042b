package fleet

import (
	"bufio"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// link is one connection between two nodes. One goroutine writes and one reads; both end when the link is closed. Any
// goroutine may call send and close.
type link struct {
	conn      *tls.Conn
	peer      string // the other node's ID
	connected time.Time

	mu     sync.Mutex
	queue  [][]byte
	bytes  int // in queue
	closed bool
	wake   chan struct{} // holds at most one signal for the writer
	done   chan struct{} // closed with the link
}

// Limits of a link.
const (
	maxQueued    = 256 << 20 // bytes of the queue; beyond, the other node does not read and the link is closed
	writeTimeout = 10 * time.Second
	dialTimeout  = 3 * time.Second
)

func newLink(conn *tls.Conn, peer string) *link {
	return &link{conn: conn, peer: peer, connected: time.Now(), wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// errLinkClosed is the error of a frame that was not sent, since the link is closed.
var errLinkClosed = errors.New("the connection to the node is closed")

// send queues a frame. Frames arrive in the order in which they were queued. After an error nothing of the frame was
// sent.
func (l *link) send(f *frame) error {
	text, err := f.encode()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errLinkClosed
	}
	if l.bytes > maxQueued {
		go l.close()
		return errLinkClosed
	}
	l.queue = append(l.queue, text)
	l.bytes += len(text)
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

// close closes the link. It may be called more than once.
func (l *link) close() {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	l.mu.Unlock()
	if !was {
		close(l.done)
		l.conn.NetConn().Close() // the TLS connection's Close would wait for a peer that does not read
	}
}

// write is the goroutine that writes the queue.
func (l *link) write() {
	defer l.close()
	for {
		select {
		case <-l.done:
			return
		case <-l.wake:
		}
		l.mu.Lock()
		all := l.queue
		l.queue, l.bytes = nil, 0
		l.mu.Unlock()
		buffers := net.Buffers(all)
		for _, b := range buffers {
			l.conn.SetWriteDeadline(time.Now().Add(writeTimeout * time.Duration(1+len(b)>>20)))
			if _, err := l.conn.Write(b); err != nil {
				return
			}
		}
	}
}

// read calls handle with each frame, until the link is closed. handle must not block.
func (l *link) read(handle func(*frame)) {
	defer l.close()
	in := bufio.NewReaderSize(l.conn, 32<<10)
	for {
		f, err := readFrame(in)
		if err != nil {
			return
		}
		handle(f)
	}
}
