package fleet

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/session/shelf"
)

// Saves of one agent wait for each other, and nothing that a node has to do for its lease waits
// for them.
func TestSavesHoldUpNoLease(t *testing.T) {
	t.Parallel()
	n := joinTest(t, testpostgres.Start(t).DSN, "one")
	on := Shelf(n, "states")
	began, end := make(chan struct{}), make(chan struct{})
	var saves sync.WaitGroup
	saves.Go(func() {
		on.Change("ann", func(shelf.Changes) error {
			close(began)
			<-end
			return nil
		})
	})
	<-began
	for range 12 {
		saves.Go(func() { on.Change("ann", func(shelf.Changes) error { return nil }) })
	}
	for deadline := time.Now().Add(10 * time.Second); n.shelfDB.Stats().WaitCount == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the saves do not wait for a connection")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := n.Owner(ctx, "ann", "work"); err != nil {
		t.Error(err)
	}
	close(end)
	saves.Wait()
}
