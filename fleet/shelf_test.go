package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/shelf"
)

// shelvesOf runs a test of what every Shelf promises: with two processes' views of a directory,
// and with two nodes.
func shelvesOf(t *testing.T, test func(t *testing.T, one, two shelf.Shelf)) {
	t.Parallel()
	t.Run("files", func(t *testing.T) {
		dir := t.TempDir()
		test(t, shelf.NewFiles(dir), shelf.NewFiles(dir))
	})
	t.Run("rows", func(t *testing.T) {
		dsn := testpostgres.Start(t).DSN
		test(t, Shelf(joinTest(t, dsn, "one"), "states"), Shelf(joinTest(t, dsn, "two"), "states"))
	})
}

// What one puts there the other reads, lists and removes; what is large too, and what is empty.
func TestAShelf(t *testing.T) {
	shelvesOf(t, func(t *testing.T, one, two shelf.Shelf) {
		large := bytes.Repeat([]byte("0123456789"), 300_000)
		d, err := one.Draft("ann", "large")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Discard()
		for part := range 10 {
			if _, err := d.Write(large[part*300_000 : (part+1)*300_000]); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Finish(); err != nil {
			t.Fatal(err)
		}
		before := time.Now().Add(-time.Second)
		err = one.Change("ann", func(in shelf.Changes) error {
			return errors.Join(in.Put("b.json", []byte("first")), in.Put("b.json", []byte("second")), in.Put("a.json", nil), in.Place(d, "large.profile"))
		})
		if err != nil {
			t.Fatal(err)
		}
		read := func(name string, open func(string) (io.ReadCloser, error)) string {
			t.Helper()
			f, err := open(name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return ""
			}
			defer f.Close()
			content, err := io.ReadAll(f)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return string(content)
		}
		for name, want := range map[string]string{"a.json": "", "b.json": "second", "large.profile": string(large)} {
			got := read(name, func(name string) (io.ReadCloser, error) { return two.Open("ann", name) })
			if got != want {
				t.Errorf("%s has %d bytes, want %d", name, len(got), len(want))
			}
			if i, err := two.Stat("ann", name); err != nil || i.Bytes != int64(len(want)) || i.Name != name || i.Saved.Before(before) {
				t.Errorf("%s: %+v, %v", name, i, err)
			}
		}
		list, err := two.List("ann")
		if err != nil || len(list) != 3 || list[0].Name != "a.json" || list[2].Name != "large.profile" {
			t.Errorf("%+v, %v", list, err)
		}
		if list, err := two.List("bob"); err != nil || len(list) != 0 {
			t.Errorf("another agent has %+v, %v", list, err)
		}
		for _, name := range []string{"b.json", "none.json"} {
			if _, err := one.Open("bob", name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("another agent's %s: %v", name, err)
			}
			if _, err := one.Stat("bob", name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("another agent's %s: %v", name, err)
			}
		}
		err = two.Change("ann", func(in shelf.Changes) error {
			if got := read("b.json", in.Open); got != "second" {
				t.Errorf("in a change: %q", got)
			}
			if list, err := in.List(); err != nil || len(list) != 3 {
				t.Errorf("in a change: %+v, %v", list, err)
			}
			if err := in.Remove("none.json"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("removing nothing: %v", err)
			}
			return in.Remove("b.json")
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := one.Stat("ann", "b.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what was removed: %v", err)
		}
	})
}

// Many who save at once at both keep the agent's quota to the last one.
func TestAQuotaIsOfAll(t *testing.T) {
	shelvesOf(t, func(t *testing.T, one, two shelf.Shelf) {
		of := func(on shelf.Shelf) *session.States {
			return session.NewStates(on, session.StateConfig{Bytes: 1 << 20, Count: 7})
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		saved, refused := 0, 0
		for i, st := range []*session.States{of(one), of(two), of(one), of(two)} {
			all.Go(func() {
				for n := range 5 {
					err := st.Save("ann", fmt.Sprintf("s%d-%d", i, n), protocol.State{Version: protocol.StateVersion})
					mu.Lock()
					switch {
					case err == nil:
						saved++
					case protocol.CodeOf(err) == protocol.TooLarge:
						refused++
					default:
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if saved != 7 || refused != 13 {
			t.Errorf("%d were saved and %d refused, want 7 and 13", saved, refused)
		}
		if err := of(two).Save("bob", "one", protocol.State{Version: protocol.StateVersion}); err != nil {
			t.Errorf("another agent: %v", err)
		}
	})
}

// A value that one reads and changes is no other's meanwhile.
func TestUpdatesLoseNothing(t *testing.T) {
	shelvesOf(t, func(t *testing.T, one, two shelf.Shelf) {
		type count struct{ N int }
		kind := session.Kind{Noun: "count", Count: 1, Bytes: 1000, MaxBytes: 1000}
		valid := func(count) bool { return true }
		stores := []*session.Store[count]{session.NewStore(one, kind, valid), session.NewStore(two, kind, valid)}
		var all sync.WaitGroup
		for _, st := range stores {
			for range 4 {
				all.Go(func() {
					for range 5 {
						if err := st.Update("ann", "n", func(c count) (count, error) { c.N++; return c, nil }); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		if c, err := stores[0].Load("ann", "n"); err != nil || c.N != 40 {
			t.Errorf("%+v, %v; want 40", c, err)
		}
		no := errors.New("no")
		if err := stores[1].Update("ann", "n", func(count) (count, error) { return count{}, no }); !errors.Is(err, no) {
			t.Error(err)
		}
		if c, err := stores[0].Load("ann", "n"); err != nil || c.N != 40 {
			t.Errorf("%+v, %v; want 40", c, err)
		}
	})
}

// A name is reserved by one, whoever asks.
func TestANameHasOneHolder(t *testing.T) {
	shelvesOf(t, func(t *testing.T, one, two shelf.Shelf) {
		release, ok, err := one.Hold("ann", "shop")
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		for _, s := range []shelf.Shelf{one, two} {
			if _, ok, err := s.Hold("ann", "shop"); ok || err != nil {
				t.Errorf("a second holder: %v, %v", ok, err)
			}
		}
		other, ok, err := two.Hold("bob", "shop")
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		other()
		release()
		release, ok, err = two.Hold("ann", "shop")
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		release()
	})
}

// A node that was frozen loses what it had reserved with its lease, and writes nothing there
// afterwards, until it has the name again.
func TestANameIsLostWithTheLease(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	network := newFaultyProxy(t, pg.DSN)
	one, two := joinTest(t, network.DSN, "one"), joinTest(t, pg.DSN, "two")
	of := func(n *Node) *session.States {
		return session.NewStates(Shelf(n, "states"), session.StateConfig{Key: testKey, Bytes: 1 << 20, Count: 7})
	}
	release, err := of(one).Hold("ann", "shop")
	if err != nil {
		t.Fatal(err)
	}
	state := func(value string) protocol.State {
		return protocol.State{Version: protocol.StateVersion, Origins: []protocol.Origin{{Origin: "https://shop.example", LocalStorage: [][2]string{{"k", value}}}}}
	}
	if err := of(one).Save("ann", "shop", state("one")); err != nil {
		t.Fatal(err)
	}
	network.Drop(dropRequests)
	if _, err := of(two).Hold("ann", "shop"); protocol.CodeOf(err) != protocol.InUse {
		t.Errorf("while the first has its lease: %v", err)
	}
	var mine func()
	await(t, "the lease of the first is over", func() bool {
		mine, err = of(two).Hold("ann", "shop")
		return err == nil
	})
	if err := of(two).Save("ann", "shop", state("two")); err != nil {
		t.Error(err)
	}
	network.Drop(dropNothing)
	await(t, "the first reaches the database", func() bool { return one.CheckLease() == nil && one.checkDatabase() == nil })
	if err := of(one).Save("ann", "shop", state("late")); protocol.CodeOf(err) != protocol.InUse {
		t.Errorf("the one that lost it: %v", err)
	}
	if _, err := of(one).Delete("ann", "shop"); protocol.CodeOf(err) != protocol.InUse {
		t.Errorf("the one that lost it: %v", err)
	}
	mine() // the name is free, and what the other saved stays
	if err := of(one).Save("ann", "shop", state("late")); protocol.CodeOf(err) != protocol.InUse {
		t.Errorf("the one that lost it, when it is free: %v", err)
	}
	if _, err := of(one).Delete("ann", "shop"); protocol.CodeOf(err) != protocol.InUse {
		t.Errorf("the one that lost it, when it is free: %v", err)
	}
	if _, err := of(one).Hold("ann", "shop"); protocol.CodeOf(err) != protocol.InUse {
		t.Errorf("a second holder, which the first would write as: %v", err)
	}
	if mine, err = of(two).Hold("ann", "shop"); err != nil {
		t.Fatal(err)
	}
	release() // its own, which is over
	if _, err := of(one).Hold("ann", "shop"); protocol.CodeOf(err) != protocol.InUse {
		t.Errorf("its end took another's: %v", err)
	}
	if s, err := of(one).Load("ann", "shop"); err != nil || s.Origins[0].LocalStorage[0][1] != "two" {
		t.Errorf("%+v, %v", s, err)
	}
	mine()
	if err := of(one).WithHold("ann", "shop", func() error { return of(one).Save("ann", "shop", state("again")) }); err != nil {
		t.Error(err)
	}
}

// A name that is lost while something large is being written is lost at its end, too.
func TestANameIsLostWhileItIsWritten(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	one, two := joinTest(t, pg.DSN, "one"), joinTest(t, pg.DSN, "two")
	on := Shelf(one, "states")
	release, ok, err := on.Hold("ann", "shop")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer release()
	err = on.Change("ann", func(in shelf.Changes) error {
		if err := in.Put("shop.json", []byte("late")); err != nil {
			t.Error(err)
		}
		_, err := two.db.Exec("DELETE FROM saved_holds") // another took it, and gave it up
		return err
	})
	if protocol.CodeOf(err) != protocol.InUse {
		t.Error(err)
	}
	if _, err := on.Stat("ann", "shop.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was written: %v", err)
	}
}

// What the nodes save is sealed, also as rows; each reads what another sealed, and derives one key.
// A node that ends gives its names up.
func TestWhatIsSavedIsSealed(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	one := joinTest(t, pg.DSN, "one")
	two, err := Join(t.Context(), Config{DSN: pg.DSN, Name: "two", Listen: "127.0.0.1:0"}, testOptions(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	kept := func(n *Node) *session.Passkeys { return session.NewPasskeys(Shelf(n, "passkeys"), testKey) }
	if err := kept(one).RecordUse(t.Context(), "ann", []protocol.PasskeyUse{{Made: true, Passkey: protocol.Passkey{ID: "id-of-it", RPID: "shop.example", PrivateKey: []byte("private-words")}}}); err != nil {
		t.Fatal(err)
	}
	if keys, err := kept(two).List("ann"); err != nil || len(keys) != 1 || keys[0].ID != "id-of-it" {
		t.Errorf("%+v, %v", keys, err)
	}
	var content []byte
	if err := one.db.QueryRow("SELECT content FROM saved_parts").Scan(&content); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(content, []byte("browserd state 1\n")) || bytes.Contains(content, []byte("example")) || bytes.Contains(content, []byte("private-words")) {
		t.Errorf("the row holds %q", content)
	}
	if !bytes.Equal(one.salt, two.salt) || len(one.salt) != 16 {
		t.Errorf("the salts are %x and %x", one.salt, two.salt)
	}
	if _, ok, err := Shelf(two, "states").Hold("ann", "shop"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := two.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	release, ok, err := Shelf(one, "states").Hold("ann", "shop")
	if !ok || err != nil {
		t.Fatalf("what a node had that has ended: %v, %v", ok, err)
	}
	release()
}

// While the database does not answer, each says so, and what was being given up is given up later.
func TestAShelfWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	n := joinTest(t, pg.DSN, "one")
	on := Shelf(n, "states")
	release, ok, err := on.Hold("ann", "shop")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	pg.Stop()
	release()
	_, listed := on.List("ann")
	_, opened := on.Open("ann", "shop.json")
	_, _, held := on.Hold("ann", "more")
	for what, err := range map[string]error{"list": listed, "open": opened, "hold": held, "change": on.Change("ann", func(shelf.Changes) error { return nil })} {
		if protocol.CodeOf(err) != protocol.FleetUnavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
	pg.Run(t)
	await(t, "the name is free", func() bool {
		release, ok, err := on.Hold("ann", "shop")
		if ok {
			release()
		}
		return ok && err == nil
	})
}
