package network

import (
	"bytes"
	"compress/flate"
	"io"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// A block is closed at so many bytes or events, whichever comes first.
const (
	maxBlockBytes  = 64 << 10
	maxBlockEvents = 250
)

// block is a part of a log's events. Compressed it has a tenth of their size:
// network events repeat the same words. The log's mu guards all but bytes, which
// never changes.
type block struct {
	events     []event // without their params once compressed
	sizes      []int   // of the params, once compressed
	compressed []byte  // the params, one behind the other (DEFLATE, RFC 1951)
	bytes      int     // of the params
}

// compressors are reused: each has some hundred kilobytes.
var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level exists
	}
	return w
}}

// compress makes the block small. It runs on a goroutine of its own, and takes mu
// when it is done: until then nobody writes to the block's events or removes them.
func (b *block) compress(mu sync.Locker) {
	var out bytes.Buffer
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(&out)
	events, sizes := slices.Clone(b.events), make([]int, len(b.events))
	for i := range events {
		w.Write(events[i].params) // a bytes.Buffer never fails
		sizes[i] = len(events[i].params)
		events[i].params = nil
	}
	w.Close()
	w.Reset(io.Discard) // so that the pool does not keep out
	mu.Lock()
	defer mu.Unlock()
	b.events, b.sizes, b.compressed = events, sizes, slices.Clone(out.Bytes())
}

// decompressed returns the block's events as they came. It works on a copy of a
// block and takes no lock.
func (b block) decompressed() []event {
	if b.compressed == nil {
		return b.events
	}
	all := make([]byte, b.bytes)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(b.compressed)), all); err != nil {
		return nil // compress wrote it: this cannot happen
	}
	events := slices.Clone(b.events)
	for i, n := range b.sizes {
		events[i].params, all = jsonv2.Value(all[:n:n]), all[n:]
	}
	return events
}

// all returns the kept events, oldest first, and the number of the newest entry or event.
func (l *Log) all() ([]event, int) {
	l.mu.Lock()
	blocks := make([]block, len(l.blocks))
	for i, b := range l.blocks {
		blocks[i] = *b
	}
	last, next := slices.Clone(l.events), l.last
	l.mu.Unlock()
	var events []event
	for _, b := range blocks {
		events = append(events, b.decompressed()...)
	}
	return append(events, last...), next
}
