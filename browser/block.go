package browser

import (
	"bytes"
	"compress/flate"
	"io"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// A block takes so many bytes or events, whichever is reached first.
const (
	blockSize  = 64 << 10
	blockCount = 250
)

// block is a part of a recorder's events. Packed it has a tenth of their size:
// the events of the network say the same words again and again. It is guarded by
// the context's mu, but for what never changes.
type block struct {
	events []netEvent // without their params where it is packed
	sizes  []int      // of the params, where it is packed
	packed []byte     // the params, one behind the other (DEFLATE, RFC 1951)
	bytes  int
}

// packers are reused: each has some hundred kilobytes.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // there is such a level
	}
	return w
}}

// pack makes the block small. It runs beside everything else, and takes mu when
// it is done.
func (b *block) pack(mu sync.Locker) {
	// Nobody writes to the events, or takes them away, before this does.
	var out bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&out)
	events, sizes := slices.Clone(b.events), make([]int, len(b.events))
	for i := range events {
		w.Write(events[i].params) // a bytes.Buffer takes all
		sizes[i] = len(events[i].params)
		events[i].params = nil
	}
	w.Close()
	w.Reset(io.Discard) // and lets go of out
	mu.Lock()
	defer mu.Unlock()
	b.events, b.sizes, b.packed = events, sizes, slices.Clone(out.Bytes())
}

// unpacked are the block's events as they came. It takes a copy of a block, and
// no lock.
func (b block) unpacked() []netEvent {
	if b.packed == nil {
		return b.events
	}
	all := make([]byte, b.bytes)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(b.packed)), all); err != nil {
		return nil // pack wrote it: it cannot be
	}
	events := slices.Clone(b.events)
	for i, n := range b.sizes {
		events[i].params, all = jsonv2.Value(all[:n:n]), all[n:]
	}
	return events
}

// network are the events of the network that are kept, oldest first, and the
// number of the last entry or event.
func (c *Context) network() ([]netEvent, int) {
	c.mu.Lock()
	blocks := make([]block, len(c.recorder.blocks))
	for i, b := range c.recorder.blocks {
		blocks[i] = *b
	}
	last, next := slices.Clone(c.recorder.events), c.recorder.number
	c.mu.Unlock()
	var events []netEvent
	for _, b := range blocks {
		events = append(events, b.unpacked()...)
	}
	return append(events, last...), next
}
