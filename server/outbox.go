package server

import (
	"sync"
)

// outbox holds the frames of one connection that are not written yet. Any goroutine may call put and add, which
// never block. Only the goroutine for which take returned true may call next.
type outbox struct {
	maxFrames int
	maxBytes  int
	unread    *byToken // bytes; server.limits.send_bytes_per_token
	token     int      // for unread

	mu      sync.Mutex
	frames  [][]byte
	bytes   int    // of frames
	writing int    // bytes of the frame that next returned last
	pong    []byte // payload of the last ping; nil if it has been answered
	final   bool   // no more frames are accepted; those in the outbox are still written
	taken   bool   // a goroutine is writing
	// more holds at most one signal for the writer: there may be something to write.
	more chan struct{}
	// read holds at most one signal for the reader: the writer has taken a frame.
	read chan struct{}
}

func newOutbox(maxFrames, maxBytes int, all *byToken, token int) *outbox {
	return &outbox{maxFrames: maxFrames, maxBytes: maxBytes, unread: all, token: token, more: make(chan struct{}, 1), read: make(chan struct{}, 1)}
}

// put adds a frame and wakes the writer.
func (o *outbox) put(frame []byte) bool {
	ok := o.add(frame)
	signal(o.more)
	return ok
}

// add adds a frame without waking the writer, for a caller that calls take next. It returns
// false if the outbox is full, or has more than its share of what the token's clients have
// not read and that is too much. An outbox that is not full accepts a frame of any size.
func (o *outbox) add(frame []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.final {
		return true
	}
	if len(o.frames) >= o.maxFrames || o.bytes >= o.maxBytes || o.bytes+o.writing > share && o.unread.of(o.token) >= o.unread.limit {
		return false
	}
	o.frames = append(o.frames, frame)
	o.bytes += len(frame)
	o.unread.add(o.token, len(frame))
	return true
}

// take reports whether the caller has to write the frames, until next has none left. If not,
// another goroutine is writing them, including those added before this call.
func (o *outbox) take() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.taken {
		return false
	}
	o.taken = true
	return true
}

// ping asks for a pong. Only the last of several unanswered pings gets one,
// as RFC 6455 section 5.5.3 allows, so that pings cannot pile up.
func (o *outbox) ping(payload string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pong = append([]byte{}, payload...)
	signal(o.more)
}

// finish makes the writer end once everything is written.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.final = true
	signal(o.more)
}

// next returns the first frame and the pong that is due. last says that no frame is left and
// none will come. If it returns neither frame nor pong, the caller must stop writing.
func (o *outbox) next() (frame, pong []byte, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pong, o.pong = o.pong, nil
	o.unread.add(o.token, -o.writing)
	o.writing = 0
	if len(o.frames) == 0 {
		o.taken = o.final
		return nil, pong, o.final
	}
	frame = o.frames[0]
	o.frames[0] = nil
	o.frames = o.frames[1:]
	o.bytes -= len(frame)
	o.writing = len(frame)
	signal(o.read)
	return frame, pong, false
}

// isHalfFull reports whether the outbox is half full, or has more than its share where the
// token's are. Then the reader pauses until the client has read.
func (o *outbox) isHalfFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.frames) >= o.maxFrames/2 || o.bytes >= (o.maxBytes+1)/2 || o.bytes > share && o.unread.of(o.token) >= o.unread.limit/2
}

// discard removes all frames, and those that come later, when the connection has ended.
func (o *outbox) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unread.add(o.token, -o.bytes-o.writing)
	o.frames, o.bytes, o.writing, o.final = nil, 0, 0, true
}

// share is how many bytes a connection may leave unread whatever the token's others do, so
// that a client that reads is never refused because of one that does not.
const share = 256 << 10

// byToken counts the use of one resource by all clients of each token. Any goroutine may call its methods.
type byToken struct {
	limit int64

	mu     sync.Mutex
	tokens map[int]int64
}

func newByToken(limit int64) *byToken { return &byToken{limit: limit, tokens: map[int]int64{}} }

func (b *byToken) add(token, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens[token] += int64(n); b.tokens[token] == 0 {
		delete(b.tokens, token)
	}
}

func (b *byToken) of(token int) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens[token]
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
