package fleet

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// taken takes a session over that its node hands over or has lost.
func taken(t *testing.T, n *Node, name string) *TakenOver {
	t.Helper()
	var got *TakenOver
	await(t, "the session is taken over", func() bool {
		owner, err := n.Owner(t.Context(), "agent", name)
		if err != nil || owner == nil {
			t.Fatalf("%s: %+v, %v", name, owner, err)
		}
		if got, err = n.TakeOver(t.Context(), "agent", name, *owner); err != nil {
			t.Fatal(err)
		}
		return got != nil
	})
	return got
}

// What operators have answered for a session is whoever's has the session next, from one to the next, and after a hand-over
// that did not happen. What comes late replaces nothing, and is not said to be kept.
func TestAnswersAreKeptFromEpochToEpoch(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	ctx := t.Context()
	keep := func(n *Node, epoch, number int64, content string, want protocol.Code) {
		t.Helper()
		if err := n.KeepAnswers(ctx, "agent", "work", epoch, number, []byte(content)); protocol.CodeOf(err) != want {
			t.Errorf("keeping %s: %v, want %q", content, err, want)
		}
	}
	claim := func() int64 {
		t.Helper()
		epoch, err := a.Claim(ctx, "agent", "work", 10, []byte("first"))
		if err != nil {
			t.Fatal(err)
		}
		return epoch
	}
	moved := func(from *Node, epoch int64, to *Node, want string) int64 {
		t.Helper()
		if err := from.HandOver(ctx, "agent", "work", epoch, []byte("kept")); err != nil {
			t.Fatal(err)
		}
		keep(from, epoch, 99, "behind the hand-over", protocol.FleetUnavailable)
		got := taken(t, to, "work")
		if string(got.Answers) != want || string(got.Checkpoint) != "kept" {
			t.Errorf("taken over: %+v, want %s", got, want)
		}
		keep(from, epoch, 99, "behind the take-over", protocol.FleetUnavailable)
		return got.Epoch
	}
	epoch := claim()
	epoch = moved(a, epoch, b, "")
	keep(b, epoch, 1, "one", "")
	keep(b, epoch, 2, "two", "")
	keep(b, epoch, 1, "late", protocol.FleetUnavailable)
	b.ownership.mu.Lock()
	if b.owned[key{"agent", "work"}] != epoch {
		t.Error("since an answer came late, the node takes the session for another's")
	}
	b.ownership.mu.Unlock()
	epoch = moved(b, epoch, a, "two")
	epoch = moved(a, epoch, b, "two")
	keep(b, epoch, 1, "three", "")
	now, err := b.ResolveHandOver(ctx, "agent", "work", epoch)
	if err != nil || now <= epoch {
		t.Fatalf("regained: %d, %v", now, err)
	}
	keep(b, epoch, 99, "of the epoch before", protocol.FleetUnavailable)
	epoch = moved(b, now, a, "three")
	keep(a, epoch, 1, "four", "")
	epoch = claim() // its end was not seen
	moved(a, epoch, b, "")
}

// Who writes to the database answers nothing for a session, whatever was answered for others, for an earlier one of its
// name, or for itself before: such a row is none, and the session goes on without it.
func TestForgedAnswersForASession(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	sealed := func(name string) (row []byte) {
		t.Helper()
		if err := a.db.QueryRow("SELECT answers FROM sessions WHERE name = $1", name).Scan(&row); err != nil {
			t.Fatal(err)
		}
		return row
	}
	claim := func(name string, answers string) int64 {
		t.Helper()
		epoch, err := a.Claim(t.Context(), "agent", name, 100, []byte("kept"))
		if err != nil {
			t.Fatal(err)
		}
		if answers != "" {
			if err := a.KeepAnswers(t.Context(), "agent", name, epoch, 1, []byte(answers)); err != nil {
				t.Fatal(err)
			}
		}
		return epoch
	}
	claim("other", "allowed")
	earlier := claim("again", "allowed")
	of := map[string][]byte{"another's": sealed("other"), "an earlier one's": sealed("again"), "nobody's": []byte("garbage"), "empty": {}}
	if bytes.Contains(of["another's"], []byte("allowed")) {
		t.Error("the database shows what was answered")
	}
	a.Release(t.Context(), "agent", "again", earlier)
	was := claim("own", "allowed")
	of["its own, of another epoch"] = sealed("own")
	a.Release(t.Context(), "agent", "own", was)
	for what, row := range of {
		for i, name := range []string{"again", "own"} {
			epoch := claim(name, []string{"", "asked"}[i])
			if err := a.HandOver(t.Context(), "agent", name, epoch, []byte("kept")); err != nil {
				t.Fatal(err)
			}
			if _, err := a.db.Exec("UPDATE sessions SET answers = $2, answered = 1000 WHERE name = $1", name, row); err != nil {
				t.Fatal(err)
			}
			got := taken(t, b, name)
			if got.Answers != nil || string(got.Checkpoint) != "kept" {
				t.Errorf("%s, %s: taken over with %q", name, what, got.Answers)
			}
			if err := b.KeepAnswers(t.Context(), "agent", name, got.Epoch, 1, []byte("more")); err != nil {
				t.Errorf("%s, %s: its next answer: %v", name, what, err)
			}
			b.Release(t.Context(), "agent", name, got.Epoch)
		}
	}
}

// A node asks again and again for a session that is not lost yet. That its answers cannot be read is said once, by the node
// that has it then.
func TestAnswersThatCannotBeReadAreNamedOnce(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, log := joinTest(t, dsn, "a"), &logBuffer{}
	b, err := Join(t.Context(), Config{DSN: dsn, Name: "b", Listen: "127.0.0.1:0"}, testOptions(), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(context.Background()) })
	epoch, err := a.Claim(t.Context(), "agent", "work", 10, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	set := func(change string) {
		t.Helper()
		if _, err := a.db.Exec("UPDATE sessions SET " + change); err != nil {
			t.Fatal(err)
		}
	}
	set("answers = 'garbage'")
	from := Owner{Node: a.id, Epoch: epoch}
	for range 5 {
		if got, err := b.TakeOver(t.Context(), "agent", "work", from); got != nil || err != nil {
			t.Fatalf("taken over from a node that has its lease: %+v, %v", got, err)
		}
	}
	if said := log.with("asked again"); len(said) > 0 {
		t.Errorf("while another node has the session: %q", said)
	}
	set("moving = true")
	got, err := b.TakeOver(t.Context(), "agent", "work", from)
	if err != nil || got == nil {
		t.Fatalf("not taken over: %v", err)
	}
	set("answers = 'garbage'")
	if _, err := b.ResolveHandOver(t.Context(), "agent", "work", got.Epoch); err != nil {
		t.Fatal(err)
	}
	if said := log.with("asked again", "session=work"); len(said) != 2 {
		t.Errorf("taken over and regained, the log says %q", said)
	}
}

// An operator answers while another node takes the session over: what was said to be kept, that node is given.
func TestAnswersWhileASessionIsTakenOver(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	a.stop() // it sends no more heartbeats
	a.running.Wait()
	b.lease.mu.Lock()
	b.lease.heldSince -= declareLostAfter
	b.lease.mu.Unlock()
	const least = 100 * time.Microsecond
	// How long the answer waits, or where it is negative the other node: each time towards where both are as often first.
	kept, wait, step, before := 0, time.Duration(0), least, false
	for i := range 60 {
		name := fmt.Sprint("s", i)
		epoch, err := a.Claim(t.Context(), "agent", name, 100, []byte("kept"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.db.Exec("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1", a.id); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() {
			time.Sleep(wait)
			err = a.KeepAnswers(t.Context(), "agent", name, epoch, 1, []byte("allowed"))
		})
		time.Sleep(-wait)
		got := taken(t, b, name)
		both.Wait()
		first := err == nil
		if step *= 2; first != before {
			step = least
		}
		if before = first; first {
			kept++
			wait += step
		} else {
			wait -= step
		}
		if err == nil && string(got.Answers) != "allowed" {
			t.Fatalf("%s: kept, and taken over with %q", name, got.Answers)
		}
	}
	if t.Logf("%d of 60 were kept", kept); kept == 0 || kept == 60 {
		t.Error("the test shows nothing: the same was first each time")
	}
}
