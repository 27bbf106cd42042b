package cdp

import (
	"bytes"
	"fmt"
	"io"
)

// How large a message of Chromium may be, in bytes. A page decides how large an event
// is (one line on its console may have 100 MB), and decoding takes ten times its memory.
// An answer is what a command asked for, such as a screenshot of a long page. So is the
// event of a request that a route has paused: it comes with the request's body, and the
// request waits forever when the event is dropped.
const (
	MaxEvent  = 16 << 20
	MaxAnswer = 256 << 20
)

// requested are the beginnings of messages to which MaxAnswer applies.
var requested = [][]byte{[]byte(`{"id":`), []byte(`{"method":"Fetch.`)}

// limitedReader reads messages that end with a zero byte, and truncates those that are
// too large: its reader gets their beginning, which is no JSON, then the zero byte, then
// the event [EventTooLarge] for the session that the large one was for.
type limitedReader struct {
	io.ReadCloser
	size      int    // bytes of this message passed on so far
	head      []byte // the first headSize bytes of this message
	tail      []byte // the last tailSize bytes of this message
	truncated bool   // this message was
	insert    []byte // what is left to read of an EventTooLarge
	rest      []byte // what was read from below after the message before insert
}

func (l *limitedReader) Read(p []byte) (int, error) {
	for {
		if n := copy(p, l.insert); n > 0 {
			l.insert = l.insert[n:]
			return n, nil
		}
		n, err := copy(p, l.rest), error(nil)
		if l.rest = l.rest[n:]; n == 0 {
			n, err = l.ReadCloser.Read(p)
		}
		if n = l.truncate(p[:n]); n > 0 {
			return n, nil // an error comes again with the next Read
		}
		if err != nil && len(l.insert) == 0 {
			return 0, err
		}
	}
}

// truncate removes from p what is over the limit of its message, and returns how many
// bytes are left at the beginning of p.
func (l *limitedReader) truncate(p []byte) int {
	left := p[:0]
	for len(p) > 0 && len(l.insert) == 0 {
		part, rest, ends := bytes.Cut(p, []byte{0})
		l.head = append(l.head, part[:min(len(part), headSize-len(l.head))]...)
		room := min(len(part), l.limit()-l.size)
		l.truncated = l.truncated || room < len(part)
		l.tail = append(l.tail, part[max(0, len(part)-tailSize):]...)
		l.tail = append(l.tail[:0], l.tail[max(0, len(l.tail)-tailSize):]...)
		l.size += room
		left = append(left, part[:room]...) // in place, or further to the front
		if p = rest; !ends {
			continue
		}
		left = append(left, 0)
		if l.truncated {
			l.insert = tooLarge(l.head, l.tail)
		}
		if len(l.insert) > 0 {
			l.rest = append(bytes.Clone(rest), l.rest...)
		}
		l.size, l.head, l.tail, l.truncated = 0, l.head[:0], l.tail[:0], false
	}
	return len(left)
}

// EventTooLarge is the method of the event that a session gets in place of one that was
// larger than [MaxEvent]. Its parameter method is the method of the large one.
const EventTooLarge = "browserd.eventTooLarge"

// tooLarge returns the EventTooLarge for an event with those first and last bytes; nil
// where they do not name its session, which Chromium writes after the parameters.
func tooLarge(head, tail []byte) []byte {
	_, method, _ := bytes.Cut(head, []byte(`{"method":"`))
	method, _, named := bytes.Cut(method, []byte{'"'})
	i := bytes.LastIndex(tail, []byte(`,"sessionId":"`))
	if !named || i < 0 {
		return nil
	}
	return fmt.Appendf(nil, "{\"method\":%q,\"params\":{\"method\":\"%s\"}%s\x00", EventTooLarge, method, tail[i:])
}

// headSize bytes at the beginning of a message hold its method; tailSize bytes at its
// end hold its session.
const headSize, tailSize = 80, 80

// limit returns the limit of this message, as far as its beginning has come.
func (l *limitedReader) limit() int {
	for _, beginning := range requested {
		if bytes.HasPrefix(l.head, beginning) {
			return MaxAnswer
		}
	}
	return MaxEvent
}
