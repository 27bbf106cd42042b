package files

import (
	"testing"

	"github.com/browserd/browserd/protocol"
)

// An empty file takes up a directory and an entry: it counts too, and counts no longer
// when it has been removed.
func TestEmptyFilesCount(t *testing.T) {
	var u Uploads
	u.Limit(10 * leastFile)
	t.Cleanup(u.Remove)
	many := make([]protocol.File, 11)
	if _, err := u.Store(many); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("11 empty files: %v", err)
	}
	for range 2 {
		paths, err := u.Store(many[:10])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Store(many[:1]); protocol.CodeOf(err) != protocol.TooLarge {
			t.Errorf("an eleventh: %v", err)
		}
		u.Unstore(paths, many[:10])
	}
}
