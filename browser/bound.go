package browser

import (
	"bytes"
	"fmt"
	"io"
)

// How large a message of Chromium may be. A page decides how much an event says
// (one line on its console may have 100 MB), and to decode one takes ten times its
// memory; an answer is what was asked for, such as a picture of a long page. So is a
// request that is held up for a route, which comes with its body, and waits for ever
// where it is not let go.
const (
	maxEvent  = 16 << 20
	maxAnswer = 256 << 20
)

// askedFor are the beginnings of messages that were asked for.
var askedFor = [][]byte{[]byte(`{"id":`), []byte(`{"method":"Fetch.`)}

// bounded reads messages that end with a zero byte, and cuts those that are too
// large: who reads gets their beginning, which is no JSON, and their end, and then a
// message of ours, the event leftOut, to the session that the large one was for.
type bounded struct {
	io.ReadCloser
	at    int    // bytes of the message so far
	head  []byte // and the first of them
	tail  []byte // and the last
	over  bool   // it was cut
	extra []byte // messages of ours that are due,
	rest  []byte // and what was read behind them
}

func (b *bounded) Read(p []byte) (int, error) {
	for {
		if n := copy(p, b.extra); n > 0 {
			b.extra = b.extra[n:]
			return n, nil
		}
		n, err := copy(p, b.rest), error(nil)
		if b.rest = b.rest[n:]; n == 0 {
			n, err = b.ReadCloser.Read(p)
		}
		if n = b.cut(p[:n]); n > 0 {
			return n, nil // an error comes again
		}
		if err != nil && len(b.extra) == 0 {
			return 0, err
		}
	}
}

// cut takes what is too much out of p, and returns how much is left at its beginning.
func (b *bounded) cut(p []byte) int {
	left := p[:0]
	for len(p) > 0 && len(b.extra) == 0 {
		part, rest, ends := bytes.Cut(p, []byte{0})
		b.head = append(b.head, part[:min(len(part), headSize-len(b.head))]...)
		room := min(len(part), b.limit()-b.at)
		b.over = b.over || room < len(part)
		b.tail = append(b.tail, part[max(0, len(part)-tailSize):]...)
		b.tail = append(b.tail[:0], b.tail[max(0, len(b.tail)-tailSize):]...)
		b.at += room
		left = append(left, part[:room]...) // in its place, or before it
		if p = rest; !ends {
			continue
		}
		left = append(left, 0)
		if b.over {
			b.extra = leftOut(b.head, b.tail)
		}
		if len(b.extra) > 0 {
			b.rest = append(bytes.Clone(rest), b.rest...)
		}
		b.at, b.head, b.tail, b.over = 0, b.head[:0], b.tail[:0], false
	}
	return len(left)
}

// eventLeftOut is the event that is told in the place of one that was too large; its
// parameters are that one's method.
const eventLeftOut = "browserd.leftOut"

// leftOut is the message in the place of one of which those are the first and the last
// bytes; nil where it does not say for whom it was: Chromium writes a message's session
// behind its parameters.
func leftOut(head, tail []byte) []byte {
	_, method, _ := bytes.Cut(head, []byte(`{"method":"`))
	method, _, named := bytes.Cut(method, []byte{'"'})
	i := bytes.LastIndex(tail, []byte(`,"sessionId":"`))
	if !named || i < 0 {
		return nil
	}
	return fmt.Appendf(nil, "{\"method\":%q,\"params\":{\"method\":\"%s\"}%s\x00", eventLeftOut, method, tail[i:])
}

// headSize is how much of a message says what it is, and tailSize for whom.
const headSize, tailSize = 80, 80

// limit is that of the message, as far as its beginning is there.
func (b *bounded) limit() int {
	for _, beginning := range askedFor {
		if bytes.HasPrefix(b.head, beginning) {
			return maxAnswer
		}
	}
	return maxEvent
}
