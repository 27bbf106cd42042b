package fallback

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

const (
	// smallDocument is how many bytes of HTML are read however little room there is.
	smallDocument = 64 << 10
	// treeWeight is what a tree takes for a byte of dense HTML (400,000 elements in 5.5 MB take 135).
	treeWeight = 25
	// collectEvery is how often the garbage is collected for want of room, at most.
	collectEvery = 2 * time.Second
)

// room is what the trees of all sessions may take together. Any goroutine may use it.
type room struct {
	limit uint64 // bytes of the daemon's heap; 0: as much as there is

	mu        sync.Mutex
	promised  uint64 // to documents that are being read
	collected time.Time
}

// take takes room for a document of so much HTML until it is read, when the heap has
// it: too_large where there is none. done is to be called.
func (r *room) take(size int) (done func(), err error) {
	if r.limit == 0 || size < smallDocument {
		return func() {}, nil
	}
	need := uint64(size) * treeWeight
	r.mu.Lock()
	defer r.mu.Unlock()
	if heap()+r.promised+need > r.limit {
		if time.Since(r.collected) > collectEvery {
			runtime.GC()
			r.collected = time.Now()
		}
		if held := heap() + r.promised; held+need > r.limit {
			return nil, protocol.Errorf(protocol.TooLarge, "the pages that are open without Chromium take %d MiB, this one would take up to %d more, and %d are allowed (fallback.memory_mb)",
				held>>20, need>>20, r.limit>>20).With("limit", r.limit).With("size", held+need).
				Then("close the sessions that are not needed with session_close, or read the page with web_fetch")
		}
	}
	r.promised += need
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.promised -= need
	}, nil
}

// heap is how many bytes the daemon's objects take, those that nobody needs and that
// have not been collected yet among them.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
