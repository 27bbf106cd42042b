package fallback

import (
	"runtime"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// The documents of all sessions share one budget. A document that is being parsed has its
// part of it, small ones are always parsed, and what is done is free again.
func TestMemoryBudget(t *testing.T) {
	runtime.GC() // the garbage of other tests would be room when it is collected
	r := &memoryBudget{limit: heap() + 100<<20}
	const size = 3 << 20 // 75 MiB
	done, err := r.reserve(size)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.reserve(size); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("no memory is left, and the error is %v", err)
	}
	if _, err := r.reserve(smallDocument - 1); err != nil {
		t.Errorf("a small one: %v", err)
	}
	done()
	if done, err = r.reserve(size); err != nil {
		t.Errorf("when it is read: %v", err)
	} else {
		done()
	}
	if done, err := new(memoryBudget).reserve(1 << 40); err != nil {
		t.Errorf("without a limit: %v", err)
	} else {
		done()
	}
}
