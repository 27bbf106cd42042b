package fallback

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

const (
	// smallDocument is the HTML, in bytes, that is always parsed.
	smallDocument = 64 << 10
	// treeWeight is the bytes of a tree for each byte of dense HTML: 400,000 elements in
	// 5.5 MB take 135 MB.
	treeWeight = 25
	// collectEvery is the shortest time between two garbage collections at the limit.
	collectEvery = 2 * time.Second
)

// memoryBudget limits the memory of the document trees of all sessions together. Any
// goroutine may use it.
type memoryBudget struct {
	limit uint64 // bytes of the daemon's heap; 0 for no limit

	mu        sync.Mutex
	reserved  uint64 // bytes for documents that are being parsed
	collected time.Time
}

// reserve reserves memory for a document of size bytes of HTML while it is parsed; from
// then on the heap counts it. The caller calls done after parsing. The error is
// too_large if the limit does not allow the document.
func (b *memoryBudget) reserve(size int) (done func(), err error) {
	if b.limit == 0 || size < smallDocument {
		return func() {}, nil
	}
	need := uint64(size) * treeWeight
	b.mu.Lock()
	defer b.mu.Unlock()
	if heap()+b.reserved+need > b.limit {
		if time.Since(b.collected) > collectEvery {
			runtime.GC()
			b.collected = time.Now()
		}
		if held := heap() + b.reserved; held+need > b.limit {
			return nil, protocol.Errorf(protocol.TooLarge, "the pages that are open without Chromium take %d MiB, this one would take up to %d more, and %d are allowed (fallback.memory_mb)",
				held>>20, need>>20, b.limit>>20).With("limit", b.limit).With("size", held+need).
				Then("close the sessions that are not needed with session_close, or read the page with web_fetch")
		}
	}
	b.reserved += need
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reserved -= need
	}, nil
}

// heap returns the bytes of the daemon's objects, including garbage that is not yet
// collected.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
