package fleet

import (
	"sync"
	"testing"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// What an agent uploads counts at all nodes together, for as long as the node has its lease, and is the limit's to
// the byte where two nodes take at the same time.
func TestUploadsOfAllNodes(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	one, two := joinTest(t, pg.DSN, "one"), joinTest(t, pg.DSN, "two")
	keep := func(u *Uploads, bytes, want int64) {
		t.Helper()
		if others, err := u.Keep(bytes, 100); err != nil || others != want {
			t.Errorf("keeping %d: %d elsewhere, %v; want %d", bytes, others, err, want)
		}
	}
	a, b := UploadsOf(one, "ann"), UploadsOf(two, "ann")
	keep(a, 60, 0)
	keep(b, 41, 60) // too much: nothing is noted
	keep(a, 100, 0)
	a.Free(60)
	keep(b, 40, 60)
	keep(UploadsOf(two, "bob"), 100, 0)
	a.Free(0)
	b.Free(0)

	var kept [2]int64
	var both sync.WaitGroup
	for i, u := range []*Uploads{a, b} {
		both.Go(func() {
			for {
				others, err := u.Keep(kept[i]+1, 100)
				if err != nil {
					t.Error(err)
				}
				if err != nil || kept[i]+1+others > 100 {
					return
				}
				kept[i]++
			}
		})
	}
	both.Wait()
	if kept[0]+kept[1] != 100 {
		t.Errorf("%d and %d are kept", kept[0], kept[1])
	}

	pg.Freeze(t)
	if _, err := a.Keep(kept[0], 1000); protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("while the database is silent: %v", err)
	}
	a.Free(0)
	pg.Thaw(t)
	await(t, "what was freed meanwhile is noted", func() bool {
		others, err := b.Keep(kept[1], 100)
		return err == nil && others == 0
	})
	keep(a, 100-kept[1], kept[1])
	two.Close(t.Context())
	keep(a, 100, 0)
}
