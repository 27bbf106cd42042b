package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/recording"
)

// recordingNode is a node with its recordings.
type recordingNode struct {
	t     *testing.T
	n     *Node
	dir   string
	store *recording.Store
}

// keepRecordings has a node keep at most 300 bytes and 4 recordings of a folder, in dir.
func keepRecordings(t *testing.T, n *Node, dir string) *recordingNode {
	k := &recordingNode{t, n, dir, recording.NewStore(dir, recording.Config{Bytes: 100, BytesPerAgent: 300, Count: 4})}
	ShareRecordingLimits(n, k.store)
	return k
}

// The folders of two agents.
const (
	ann = "a0000000000000000000000000000000"
	bob = "b0000000000000000000000000000000"
)

// put has a recording of so many bytes end at that second.
func (k *recordingNode) put(folder, name string, bytes, second int) {
	k.t.Helper()
	k.write(folder, name, bytes, second)
	k.store.Settle(folder)
}

func (k *recordingNode) write(folder, name string, bytes, second int) {
	k.t.Helper()
	path := filepath.Join(k.dir, folder, "s", name+".zip")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
		k.t.Fatal(err)
	}
	at := time.Unix(int64(1_000_000+second), 123_456_789)
	if err := os.Chtimes(path, at, at); err != nil {
		k.t.Fatal(err)
	}
}

// names returns what is kept in a folder by all of them.
func names(folder string, all ...*recordingNode) string {
	var list []string
	for _, k := range all {
		files, _ := filepath.Glob(filepath.Join(k.dir, folder, "s", "*"))
		for _, f := range files {
			list = append(list, strings.TrimSuffix(filepath.Base(f), ".zip"))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// settled waits until the node has looked at all that it keeps, as it does when it begins.
func (k *recordingNode) settled() {
	k.t.Helper()
	r := &k.n.recordings
	await(k.t, "the node has settled what it keeps", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return !r.syncAll.Load() && !r.syncing
	})
}

func (k *recordingNode) await(folder, want string, all ...*recordingNode) {
	k.t.Helper()
	all = append(all, k)
	for deadline := time.Now().Add(20 * time.Second); names(folder, all...) != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.t.Fatalf("%q is kept, not %q", names(folder, all...), want)
		}
	}
}

// What an agent's recordings may take holds for all nodes together: the oldest goes, wherever it is. Where the node
// that has it is reached, it goes at once, else with its next heartbeat.
func TestRecordingsOfAllNodes(t *testing.T) {
	t.Parallel()
	for _, reached := range []bool{true, false} {
		t.Run(fmt.Sprintf("reached %v", reached), func(t *testing.T) {
			t.Parallel()
			pg := testpostgres.Start(t)
			one, two := joinTest(t, pg.DSN, "one"), joinTest(t, pg.DSN, "two")
			a, b := keepRecordings(t, one, t.TempDir()), keepRecordings(t, two, t.TempDir())
			if reached {
				one.Serve(nopHandler{})
				two.Serve(nopHandler{})
				await(t, "the nodes are connected", func() bool {
					return two.EnsureConnected(t.Context(), one.id) == nil && one.EnsureConnected(t.Context(), two.id) == nil
				})
			}
			a.put(bob, "0", 100, 0)
			a.put(ann, "1", 100, 1)
			b.put(ann, "2", 100, 2)
			a.put(ann, "3", 100, 3)
			if got := names(ann, a, b); got != "1 2 3" {
				t.Fatalf("%q is kept", got)
			}
			began := time.Now()
			b.put(ann, "4", 1, 4) // 301 bytes
			a.await(ann, "2 3 4", b)
			if took := time.Since(began); reached && took > time.Second {
				t.Errorf("it went after %v", took)
			}
			a.put(ann, "5", 1, 5)
			b.put(ann, "6", 1, 6) // 5 recordings
			a.await(ann, "3 4 5 6", b)
			a.put(ann, "7", 100, 7) // and its own
			if got := names(ann, a, b); got != "4 5 6 7" {
				t.Errorf("%q is kept", got)
			}
			a.put(ann, "8", 100, 8)
			b.await(ann, "5 6 7 8", a)
			// What was removed here leaves room there.
			if err := os.Remove(filepath.Join(b.dir, ann, "s", "6.zip")); err != nil {
				t.Fatal(err)
			}
			b.store.Settle(ann)
			a.put(ann, "9", 98, 9)
			if got := names(ann, a, b); got != "5 7 8 9" {
				t.Errorf("%q is kept", got)
			}
			if got := names(bob, a, b); got != "0" {
				t.Errorf("of another agent %q is kept", got)
			}
			// Of a name that has to go and comes again, the new one stays.
			b.put(ann, "A", 1, 10) // chooses 5
			if reached {
				a.await(ann, "7 8 9 A", b) // else this test writes 5 while it is removed, which no recorder does
			}
			a.put(ann, "5", 1, 11) // chooses 7
			a.await(ann, "5 8 9 A", b)
			await(t, "the database forgets what went", func() bool {
				var gone int
				return one.db.QueryRow("SELECT count(*) FROM recordings WHERE gone").Scan(&gone) == nil && gone == 0
			})
			if got := names(ann, a, b); got != "5 8 9 A" {
				t.Errorf("%q is kept", got)
			}
		})
	}
}

// Of recordings that end at several nodes at once each counts those before it: of six the newest four are kept.
func TestRecordingsEndAtOnce(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	var all []*recordingNode
	for i := range 3 {
		n := joinTest(t, pg.DSN, fmt.Sprint("n", i))
		n.Serve(nopHandler{})
		all = append(all, keepRecordings(t, n, t.TempDir()))
	}
	for round := range 20 {
		folder := fmt.Sprintf("f%031d", round)
		for _, from := range []int{0, 3} {
			var ends sync.WaitGroup
			for i, k := range all {
				k.write(folder, fmt.Sprint(from+i), 10, from+i)
				ends.Go(func() { k.store.Settle(folder) })
			}
			ends.Wait()
		}
		all[0].await(folder, "2 3 4 5", all[1:]...)
	}
}

// A daemon that is killed and started again has its recordings still: they do not count twice while the lease of the
// killed one goes on, and one that had to go does.
func TestRecordingsOfAKilledDaemon(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	other := keepRecordings(t, joinTest(t, pg.DSN, "other"), t.TempDir())
	dir := t.TempDir()
	killed := joinTest(t, pg.DSN, "killed")
	k := keepRecordings(t, killed, dir)
	k.put(ann, "0", 100, 0)
	k.put(ann, "1", 100, 1)
	other.put(ann, "2", 100, 2)
	killed.stop() // its lease goes on
	killed.running.Wait()
	other.put(ann, "3", 100, 3) // chooses 0
	again := joinTest(t, pg.DSN, "killed")
	k = keepRecordings(t, again, dir)
	k.await(ann, "1 2 3", other)
	await(t, "the new start has taken them over", func() bool {
		var at string
		return again.db.QueryRow("SELECT node FROM recordings WHERE name = '1.zip'").Scan(&at) == nil && at == again.id
	})
	other.store.Settle(ann)
	heartbeats(t, again, 2)
	if got := names(ann, k, other); got != "1 2 3" {
		t.Errorf("%q is kept", got)
	}
}

// The recordings of a node without a lease do not count. When it is back they do, and what no longer fits goes.
func TestRecordingsOfALostNode(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	network := newFaultyProxy(t, pg.DSN)
	runs := joinTest(t, pg.DSN, "other")
	other := keepRecordings(t, runs, t.TempDir())
	lost := joinTest(t, network.DSN, "lost")
	k := keepRecordings(t, lost, t.TempDir())
	k.put(ann, "1", 100, 1)
	k.put(ann, "3", 100, 3)
	k.settled()
	network.drops.Store(dropRequests)
	await(t, "the lease is over", func() bool {
		var over bool
		return runs.db.QueryRow("SELECT lease_until < clock_timestamp() FROM nodes WHERE id = $1", lost.id).Scan(&over) == nil && over
	})
	for i, name := range []string{"2", "4", "5"} {
		other.put(ann, name, 100, []int{2, 4, 5}[i])
	}
	other.settled()
	if got := names(ann, k, other); got != "1 2 3 4 5" {
		t.Errorf("while a node is lost %q is kept", got)
	}
	network.heal()
	k.await(ann, "3 4 5", other)
}

// While the database is silent recordings end as ever: they wait for it for 3 s until a beat is missed, and then not at
// all. When it answers, the oldest of all go.
func TestRecordingsWhileTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	one, two := joinTest(t, pg.DSN, "one"), joinTest(t, pg.DSN, "two")
	a, b := keepRecordings(t, one, t.TempDir()), keepRecordings(t, two, t.TempDir())
	a.put(ann, "1", 100, 1)
	b.put(ann, "2", 100, 2)
	a.settled()
	b.settled()
	pg.Freeze(t)
	began := time.Now()
	a.write(ann, "3", 100, 3)
	var ends sync.WaitGroup
	for second, k := range map[int]*recordingNode{4: a, 5: b} {
		ends.Go(func() { k.put(ann, fmt.Sprint(second), 100, second) })
	}
	ends.Wait()
	if took := time.Since(began); took > databaseTimeout+time.Second {
		t.Errorf("it took %v", took)
	}
	await(t, "a beat is missed", func() bool { return one.checkDatabase() != nil })
	began = time.Now()
	a.put(ann, "6", 100, 6)
	if took := time.Since(began); took > time.Second {
		t.Errorf("where it is known that the database is silent it took %v", took)
	}
	if got := names(ann, a, b); got != "1 2 3 4 5 6" {
		t.Errorf("without the database %q is kept", got)
	}
	pg.Thaw(t)
	if one.CheckLease() != nil || two.CheckLease() != nil {
		t.Error("it took so long that a lease is over, and what is kept is settled for that")
	}
	a.await(ann, "4 5 6", b)
}

// What is recorded of a session that ends does not wait for the database, which counts it when it answers.
func TestARecordingEndsWithItsSession(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	one := joinTest(t, pg.DSN, "one")
	store := recording.NewStore(t.TempDir(), recording.Config{Bytes: 1 << 20, BytesPerAgent: 1 << 20, Count: 4})
	ShareRecordingLimits(one, store)
	same := recording.Redact{JSON: func(b []byte) []byte { return b }, Text: func(s string) string { return s }, Gave: func() bool { return false }}
	counted := func() (n int) {
		if err := one.db.QueryRow("SELECT count(*) FROM recordings").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i, silent := range []bool{false, true} {
		r := store.New(recording.Options{Agent: "ann", Session: fmt.Sprint("s", i), Redact: same})
		if _, err := r.Start(t.Context(), recording.Trace, nil); err != nil {
			t.Fatal(err)
		}
		if silent {
			pg.Freeze(t)
		}
		began := time.Now()
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("while the database is silent, %t: it took %v", silent, took)
		}
		if silent {
			pg.Thaw(t)
		}
		await(t, "the database counts them", func() bool { return counted() == i+1 })
	}
	if one.CheckLease() != nil {
		t.Error("the lease is over, and what is kept is settled for that")
	}
}
