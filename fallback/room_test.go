package fallback

import (
	"testing"

	"github.com/browserd/browserd/protocol"
)

// The documents of all sessions have one room. One that is being read has its part
// of it, small ones are always read, and there is room again when there is.
func TestRoom(t *testing.T) {
	r := &room{limit: heap() + 100<<20}
	const size = 3 << 20 // 75 MiB
	done, err := r.take(size)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.take(size); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("no room is left, and the answer is %v", err)
	}
	if _, err := r.take(smallDocument - 1); err != nil {
		t.Errorf("a small one: %v", err)
	}
	done()
	if done, err = r.take(size); err != nil {
		t.Errorf("when it is read: %v", err)
	} else {
		done()
	}
	if done, err := new(room).take(1 << 40); err != nil {
		t.Errorf("without a limit: %v", err)
	} else {
		done()
	}
}
