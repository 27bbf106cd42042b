package browser

import (
	"bytes"
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
// large: who reads gets their beginning, which is no JSON, and their end.
type bounded struct {
	io.ReadCloser
	at   int    // bytes of the message so far
	head []byte // and the first of them
}

func (b *bounded) Read(p []byte) (int, error) {
	for {
		n, err := b.ReadCloser.Read(p)
		if n = b.cut(p[:n]); n > 0 || err != nil {
			return n, err
		}
	}
}

// cut takes what is too much out of p, and returns how much is left at its beginning.
func (b *bounded) cut(p []byte) int {
	left := p[:0]
	for len(p) > 0 {
		part, rest, ends := bytes.Cut(p, []byte{0})
		b.head = append(b.head, part[:min(len(part), headSize-len(b.head))]...)
		part = part[:min(len(part), b.limit()-b.at)]
		b.at += len(part)
		left = append(left, part...) // in its place, or before it
		if ends {
			left, b.at, b.head = append(left, 0), 0, b.head[:0]
		}
		p = rest
	}
	return len(left)
}

// headSize is how much of a message says whether it was asked for.
const headSize = len(`{"method":"Fetch.`)

// limit is that of the message, as far as its beginning is there.
func (b *bounded) limit() int {
	for _, beginning := range askedFor {
		if bytes.HasPrefix(b.head, beginning) {
			return maxAnswer
		}
	}
	return maxEvent
}
