package browser

import (
	"bytes"
	"io"
)

// How large a message of Chromium may be. A page decides how much an event says
// (one line on its console may have 100 MB), and to decode one takes ten times its
// memory; an answer is what was asked for, such as a picture of a long page.
const (
	maxEvent  = 16 << 20
	maxAnswer = 256 << 20
)

// kindAt is where {"id":… and {"method":… differ.
const kindAt = 2

// bounded reads messages that end with a zero byte, and cuts those that are too
// large: who reads gets their beginning, which is no JSON, and their end.
type bounded struct {
	io.ReadCloser
	at    int // bytes of the message so far
	limit int // of the message; 0: not known yet
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
		if i := kindAt - b.at; i >= 0 && i < len(part) {
			b.limit = maxEvent
			if part[i] == 'i' {
				b.limit = maxAnswer
			}
		}
		if b.limit > 0 {
			part = part[:min(len(part), b.limit-b.at)]
		}
		b.at += len(part)
		left = append(left, part...) // in its place, or before it
		if ends {
			left, b.at, b.limit = append(left, 0), 0, 0
		}
		p = rest
	}
	return len(left)
}
