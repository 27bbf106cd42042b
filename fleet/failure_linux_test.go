package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/secret"
)

// runAsNode makes this process a node of its own, for tests that stop or kill it, where the
// environment says so. It obeys lines of standard input and answers each with a line.
func runAsNode() bool {
	dsn := os.Getenv("FLEET_TEST_DSN")
	if dsn == "" {
		return false
	}
	by, _ := time.ParseDuration(os.Getenv("FLEET_TEST_SKEW"))
	var skew atomic.Int64
	skew.Store(int64(by))
	machine := machineClock()
	taken := make(chan string, 100)
	of := testOptions()
	of.OnTakenOver = func(_, name string) { taken <- name }
	n, err := join(context.Background(), Config{DSN: dsn, Name: os.Getenv("FLEET_TEST_NAME"), Listen: "127.0.0.1:0"}, of, quiet(), func() instant {
		r := machine()
		r.wall = r.wall.Add(time.Duration(skew.Load()))
		return r
	})
	if err != nil {
		fmt.Println(err)
		return true
	}
	if err := n.Serve(nopHandler{}); err != nil {
		fmt.Println(err)
		return true
	}
	fmt.Println("joined", n.id)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch word, name, _ := strings.Cut(in.Text(), " "); word {
		case "claim":
			epoch, err := n.Claim(context.Background(), "agent", name, 100, []byte("kept"))
			fmt.Println(epoch, err)
		case "held":
			fmt.Println(n.CheckLease() == nil)
		case "taken":
			fmt.Println(<-taken)
		case "set":
			by, _ := time.ParseDuration(name)
			skew.Add(int64(by))
			fmt.Println("ok")
		}
	}
	n.Close(context.Background())
	return true
}

// nopHandler is a Handler that answers no command.
type nopHandler struct{ Handler }

func (nopHandler) Call(context.Context, string, Call, func(Answer)) {}
func (nopHandler) ClientGone(string, string)                        {}
func (nopHandler) Subscribe(string, []Subscription, func(Event))    {}
func (nopHandler) Disconnected(string)                              {}
func (nopHandler) Hide(string, []secret.Given)                      {}

// process is a node in a process of its own.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Scanner
	id  string
}

func startNode(t *testing.T, dsn, name string, skew time.Duration) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FLEET_TEST_DSN="+dsn, "FLEET_TEST_NAME="+name, "FLEET_TEST_SKEW="+skew.String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Signal(syscall.SIGCONT)
		cmd.Wait()
	})
	word, id, _ := strings.Cut(p.line(), " ")
	if word != "joined" {
		t.Fatal(word, id)
	}
	p.id = id
	return p
}

func (p *process) line() string {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatal("the node has ended")
	}
	return p.out.Text()
}

func (p *process) ask(format string, args ...any) string {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.t.Fatal(err)
	}
	return p.line()
}

// takeOver takes a session as soon as its owner's lease allows it, and returns how long that
// took and the epoch.
func takeOver(t *testing.T, n *Node, name string, within time.Duration) (took time.Duration, epoch int64) {
	t.Helper()
	for began := time.Now(); time.Since(began) < within; {
		owner, err := n.Owner(t.Context(), "agent", name)
		if err != nil || owner == nil {
			t.Fatalf("the session's owner: %v, %v", owner, err)
		}
		taken, err := n.TakeOver(t.Context(), "agent", name, *owner)
		if err != nil {
			t.Fatal(err)
		}
		if taken != nil {
			if taken.Epoch <= owner.Epoch || string(taken.Checkpoint) != "kept" || taken.Moved {
				t.Errorf("taken over after epoch %d: %+v", owner.Epoch, taken)
			}
			return time.Since(began), taken.Epoch
		}
		time.Sleep(20 * time.Millisecond) // there is no event for the end of another's lease
	}
	t.Fatalf("the session was not taken over within %v", within)
	return 0, 0
}

// A node that is stopped loses its session when its lease is over, and not before. It comes
// back, may act again, and knows that this session is another's. The clocks of the machines
// are an hour apart.
func TestAStoppedNodeComesBack(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	stopped := startNode(t, dsn, "stopped", time.Hour)
	other := joinTest(t, dsn, "other")
	if got := stopped.ask("claim work"); got != "1 <nil>" {
		t.Fatal(got)
	}
	stopped.cmd.Process.Signal(syscall.SIGSTOP)
	took, _ := takeOver(t, other, "work", leaseDuration+2*time.Second)
	if took < leaseDuration-heartbeatInterval-500*time.Millisecond {
		t.Errorf("taken over after %v, before the lease was over", took)
	}
	t.Logf("taken over after %v", took)
	stopped.cmd.Process.Signal(syscall.SIGCONT)
	if got := stopped.ask("taken"); got != "work" {
		t.Errorf("the node was told of %s", got)
	}
	await(t, "the node may act again", func() bool { return stopped.ask("held") == "true" })
}

// A command that was passed on to a node that is stopped then is lost when that node's lease is over, and
// not at the next heartbeat.
func TestACommandAtAStoppedNode(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	other := joinTest(t, dsn, "other") // sends its heartbeats shortly before the other one: its next one would be late
	stopped := startNode(t, dsn, "stopped", 0)
	other.lease.mu.Lock()
	other.lease.heldSince -= declareLostAfter
	other.lease.mu.Unlock()
	if err := other.EnsureConnected(t.Context(), stopped.id); err != nil {
		t.Fatal(err)
	}
	stopped.cmd.Process.Signal(syscall.SIGSTOP)
	pending, err := other.Send(t.Context(), stopped.id, Call{Agent: "agent", Method: "status"})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := pending.Wait(t.Context()); err != ErrLost {
		t.Fatalf("%+v, %v", answer, err)
	}
	var late float64
	if err := other.db.QueryRow("SELECT extract(epoch FROM clock_timestamp() - lease_until) FROM nodes WHERE id = $1", stopped.id).Scan(&late); err != nil {
		t.Fatal(err)
	}
	if late < 0 || late > 1 {
		t.Errorf("lost %.3f s after the lease was over", late)
	}
}

// A node that is killed loses its session within its lease and two seconds.
func TestAKilledNode(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	killed := startNode(t, dsn, "killed", 0)
	other := joinTest(t, dsn, "other")
	killed.ask("claim work")
	killed.cmd.Process.Kill()
	killed.cmd.Wait()
	took, _ := takeOver(t, other, "work", leaseDuration+2*time.Second)
	t.Logf("taken over after %v", took)
}

// A machine that was suspended: the clock that nobody sets did not run meanwhile, and the time
// of day says so before the node acts again. Set back by an hour it changes nothing.
func TestTheTimeOfDay(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	n := startNode(t, dsn, "n", -time.Hour)
	n.ask("set -1h")
	if got := n.ask("held"); got != "true" {
		t.Errorf("set back by an hour, the node may act: %s", got)
	}
	n.ask("set 1h1m")
	if got := n.ask("held"); got != "false" {
		t.Errorf("a minute later by the time of day alone, the node may act: %s", got)
	}
	await(t, "the node may act again", func() bool { return n.ask("held") == "true" })
}

// PostgreSQL is stopped, and in the other test frozen: the nodes go on to the end of their
// leases and no further. When it is back, nobody has lost anything: the owners and epochs are
// the same.
func TestPostgresIsRestarted(t *testing.T) {
	t.Parallel()
	withoutDatabase(t, (*testpostgres.Server).Stop, func(pg *testpostgres.Server) { pg.Run(t) })
}

func TestPostgresIsFrozen(t *testing.T) {
	t.Parallel()
	withoutDatabase(t, func(pg *testpostgres.Server) { pg.Freeze(t) }, func(pg *testpostgres.Server) { pg.Thaw(t) })
}

func withoutDatabase(t *testing.T, away, back func(pg *testpostgres.Server)) {
	pg := testpostgres.Start(t)
	of := testOptions()
	of.OnTakenOver = func(_, name string) { t.Errorf("%s was taken over", name) }
	a, b := joinAs(t, pg.DSN, "a", of), joinTest(t, pg.DSN, "b")
	epoch, err := a.Claim(t.Context(), "agent", "work", 10, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	ended, err := a.Claim(t.Context(), "agent", "ended", 10, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	away(pg)
	gone := time.Now()
	// When one of them might act last: asked all the time, so that it is no matter when this test gets on.
	last := make(chan time.Time, 1)
	go func() {
		held := gone
		for at := gone; t.Context().Err() == nil && (a.CheckLease() == nil || b.CheckLease() == nil); at = time.Now() {
			held = at
			time.Sleep(10 * time.Millisecond)
		}
		last <- held
	}()
	a.Release(t.Context(), "agent", "ended", ended)
	if _, err := a.Claim(t.Context(), "agent", "more", 10, []byte("kept")); err == nil {
		t.Error("a session was claimed without a database")
	}
	if err := a.CheckLease(); err != nil && time.Since(began) < leaseDuration-2*heartbeatInterval {
		t.Errorf("the node stops before its lease is over: %v", err)
	}
	await(t, "the leases are over", func() bool { return a.CheckLease() != nil && b.CheckLease() != nil })
	held := <-last
	if held.Sub(began) < leaseDuration-2*heartbeatInterval || held.Sub(gone) > leaseDuration+500*time.Millisecond {
		t.Errorf("a node might act until %v after the database was gone", held.Sub(gone))
	}
	back(pg)
	await(t, "the nodes may act again", func() bool { return a.CheckLease() == nil && b.CheckLease() == nil })
	await(t, "what ended meanwhile is gone", func() bool {
		o, err := b.Owner(t.Context(), "agent", "ended")
		return o == nil && err == nil
	})
	owner, err := b.Owner(t.Context(), "agent", "work")
	if err != nil || owner == nil || owner.Node != a.ID() || owner.Epoch != epoch {
		t.Errorf("the owner is %+v (%v), was %s at epoch %d", owner, err, a.ID(), epoch)
	}
}

// heartbeats waits until a node has renewed its lease so many times.
func heartbeats(t *testing.T, n *Node, times int) {
	t.Helper()
	until := func() (at time.Time) {
		if err := n.db.QueryRow("SELECT lease_until FROM nodes WHERE id = $1", n.id).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	for range times {
		before := until()
		await(t, "a heartbeat", func() bool { return until().After(before) })
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}
