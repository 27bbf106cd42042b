package server

import (
	"sync"
)

// outbox holds the frames of one connection that are not written yet. put and add may
// be called by any goroutine and never block; next by whoever writes alone, which is
// who was told so by take; crowded by the reader alone.
type outbox struct {
	maxFrames int
	maxBytes  int

	mu     sync.Mutex
	frames [][]byte
	bytes  int
	pong   []byte // the payload of the last ping, nil where it is answered
	final  bool   // nothing may be put any more; what is there is still written
	taken  bool   // somebody writes
	// more holds one signal for the writer: there is something to look at.
	more chan struct{}
	// read holds one signal for the reader: the writer took a frame.
	read chan struct{}
}

func newOutbox(maxFrames, maxBytes int) *outbox {
	return &outbox{maxFrames: maxFrames, maxBytes: maxBytes, more: make(chan struct{}, 1), read: make(chan struct{}, 1)}
}

// put adds a frame, and has it written.
func (o *outbox) put(frame []byte) bool {
	ok := o.add(frame)
	signal(o.more)
	return ok
}

// add adds a frame, for a caller that takes the outbox then. false says that too much
// lies there already; one frame of any size always fits into an outbox that is not full.
func (o *outbox) add(frame []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.final {
		return true
	}
	if len(o.frames) >= o.maxFrames || o.bytes >= o.maxBytes {
		return false
	}
	o.frames = append(o.frames, frame)
	o.bytes += len(frame)
	return true
}

// take says whether the caller is to write what lies here, until next has nothing left.
// Otherwise somebody else does, and what was added before the call too.
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

// finish lets the writer end once everything is written.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.final = true
	signal(o.more)
}

// next takes the first frame, and the pong that is due. last says that no
// frame is left and none will come. Without either the caller writes no more.
func (o *outbox) next() (frame, pong []byte, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pong, o.pong = o.pong, nil
	if len(o.frames) == 0 {
		o.taken = o.final
		return nil, pong, o.final
	}
	frame = o.frames[0]
	o.frames[0] = nil
	o.frames = o.frames[1:]
	o.bytes -= len(frame)
	signal(o.read)
	return frame, pong, false
}

// crowded tells that the client should read before it is read from again: half
// of what may lie here does.
func (o *outbox) crowded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.frames) >= o.maxFrames/2 || o.bytes >= (o.maxBytes+1)/2
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
