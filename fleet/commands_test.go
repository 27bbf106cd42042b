package fleet_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server"
	"github.com/browserd/browserd/session"
)

// daemon is a node with its sessions, its commands and what serves other nodes.
type daemon struct {
	t       *testing.T
	node    *fleet.Node
	runtime *command.Runtime
	server  *server.Server
	act     act
}

// act is what the tests' commands do at a daemon.
type act func(ctx context.Context, c *command.Call) error

// done is what they answer: who did it.
type done struct {
	Node int `json:"node"`
}

type noParams struct{}

// startDaemon starts a daemon whose commands call do.
func startDaemon(t *testing.T, dsn, name string, do act) *daemon {
	t.Helper()
	sessions := session.NewManager(session.Config{IdleTimeout: time.Hour, Max: 100, MaxPerAgent: 100, Queue: 100}, nil, fleet.Quiet())
	opts := fleet.TestOptions()
	opts.Sessions, opts.OnTakenOver = func() int { return session.SlotsInUse(sessions) }, sessions.CloseTakenOver
	node, err := fleet.Join(t.Context(), fleet.Config{DSN: dsn, Name: name, Listen: "127.0.0.1:0"}, opts, fleet.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	sessions.Fleet = node
	run := func(ctx context.Context, c *command.Call, _ *noParams) (done, error) {
		return done{node.Number()}, do(ctx, c)
	}
	row := command.Row{Name: "act", Summary: "Acts."}
	look := command.Row{Name: "look", Summary: "Looks.", Flags: command.Unqueued | command.Inspects}
	expression := command.Row{Name: "expression", Summary: "Looks by a script.", Flags: command.Unqueued | command.Inspects}
	fetch := command.Row{Name: "fetch", Summary: "Fetches.", Flags: command.NoSession | command.Offline | command.MCPReadOnly}
	acts := command.Define(row, run)
	expression.Implied = []command.Implied{{As: acts, When: func(any) bool { return true }}}
	r := &command.Runtime{
		Commands: command.Repertoire{acts, command.Define(expression, run), command.Define(fetch, run), command.Define(look, run)},
		Sessions: sessions, Fleet: node, Log: fleet.Quiet(),
	}
	s, err := server.New(server.Config{
		Listen: "127.0.0.1:0", MaxConnections: 9, MaxPending: 9, ReadLimit: 1 << 20, SendBuffer: 1 << 20,
		WriteTimeout: time.Second, PingInterval: time.Minute, ShutdownTimeout: time.Second,
		Limits: server.LimitsConfig{
			Unauthenticated: 9, AuthTimeout: time.Second, BodyTimeout: time.Second, ConnectionsPerToken: 9, ConnectionsPerAddress: 9,
			QueuedBytes: 8 << 20, QueuedBytesPerToken: 8 << 20, QueuedBytesPerAddress: 8 << 20,
			SendBytesPerToken: 8 << 20, RequestsPerToken: 99, MCPSessions: 9, MCPSessionsPerToken: 9, MCPSessionsPerAddress: 9, ClientInfo: 1 << 10,
		},
	}, []server.Token{{Agent: "agent", Token: "agent-0123456789abcdef"}}, r, func() []server.Source { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.Shutdown(ctx)
		node.Close(ctx)
	})
	return &daemon{t: t, node: node, runtime: r, server: s}
}

func nobody(context.Context, *command.Call) error { return nil }

func (d *daemon) open(name string) *session.Session {
	d.t.Helper()
	s, err := d.runtime.Sessions.Open("agent", session.Options{Name: name})
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// answer is what became of a command.
type answer struct {
	node int
	err  error
}

// send sends a command, and returns when it is in its queue.
func (d *daemon) send(caller *command.Caller, method, session string) <-chan answer {
	d.t.Helper()
	params := fmt.Sprintf(`{"session":%q,"timeout_ms":60000}`, session)
	if session == "" {
		params = "{}"
	}
	job, err := d.runtime.Prepare(caller, nil, method, json.RawMessage(params))
	answers := make(chan answer, 1)
	if err != nil {
		answers <- answer{0, err}
		return answers
	}
	go func() {
		result, err := job.Run(context.Background())
		text, _ := json.Marshal(result)
		var by done
		json.Unmarshal(text, &by)
		answers <- answer{by.Node, err}
	}()
	return answers
}

func (a answer) String() string { return fmt.Sprintf("by node %d, %v", a.node, a.err) }

func agent() *command.Caller { return &command.Caller{Agent: "agent", Token: 1} }

// await returns an answer.
func (d *daemon) await(answers <-chan answer) answer {
	d.t.Helper()
	select {
	case a := <-answers:
		return a
	case <-time.After(30 * time.Second):
		d.t.Fatal("no answer within 30 s")
		return answer{}
	}
}

// The lease ends while an operator is asked: after the yes nothing is done.
func TestTheLeaseEndsWhileAnOperatorIsAsked(t *testing.T) {
	t.Parallel()
	net := fleet.NewFaultyProxy(t, testpostgres.Start(t).DSN)
	acted := false
	d := startDaemon(t, net.DSN, "a", func(context.Context, *command.Call) error { acted = true; return nil })
	asked := policy.NewConfirmations(fleet.AnswersOf(d.node), true)
	d.runtime.Rules = command.Rules{Autonomy: policy.Supervised, Confirm: []string{"act"}, Timeout: time.Minute, Confirmations: asked}
	d.open("work")
	answers := d.send(agent(), "act", "work")
	fleet.Await(t, "the question", func() bool { return len(asked.Pending()) == 1 })
	net.Drop(fleet.DropRequests)
	fleet.Await(t, "the lease is over", func() bool { return d.node.CheckLease() != nil })
	if _, err := asked.Answer(t.Context(), asked.Pending()[0].ID, "2", policy.Answer{Allow: true}); err != nil {
		t.Fatal(err)
	}
	if got := d.await(answers); protocol.CodeOf(got.err) != protocol.FleetUnavailable || acted {
		t.Errorf("%v, and it acted: %t", got.err, acted)
	}
}

// An operator is asked, the lease ends, and another node takes one of the sessions. After the no, which says nothing of
// the page, nobody is asked again.
func TestANoHoldsWhereverTheSessionIs(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	net := fleet.NewFaultyProxy(t, pg.DSN)
	acted := make(chan struct{}, 9)
	acts := func(context.Context, *command.Call) error { acted <- struct{}{}; return nil }
	a, b := startDaemon(t, net.DSN, "a", acts), startDaemon(t, pg.DSN, "b", acts)
	asked := map[*daemon]*policy.Confirmations{}
	for _, d := range []*daemon{a, b} {
		asked[d] = policy.NewConfirmations(fleet.AnswersOf(d.node), true)
		d.runtime.Rules = command.Rules{Autonomy: policy.Supervised, Confirm: []string{"look"}, Timeout: time.Minute, Confirmations: asked[d]}
	}
	no := func(i int) {
		t.Helper()
		if _, err := asked[a].Answer(t.Context(), asked[a].Pending()[i].ID, "2", policy.Answer{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, answers <-chan answer) {
		t.Helper()
		fleet.Await(t, what+": the answer", func() bool { return len(answers) > 0 || len(asked[b].Pending()) > 0 })
		if len(asked[b].Pending()) > 0 {
			t.Fatalf("%s: an operator is asked again", what)
		}
		got := a.await(answers)
		var said *protocol.Error
		if !errors.As(got.err, &said) || said.Code != protocol.ConfirmationDenied || said.Details["reason"] != "denied" || said.Message != "look was not confirmed" {
			t.Errorf("%s: %v", what, got)
		}
	}
	a.open("stays")
	moves := a.open("moves")
	first := a.send(agent(), "look", "stays")
	fleet.Await(t, "the question", func() bool { return len(asked[a].Pending()) == 1 })
	second := a.send(agent(), "look", "moves")
	fleet.Await(t, "the question", func() bool { return len(asked[a].Pending()) == 2 })
	net.Drop(fleet.DropRequests)
	fleet.Await(t, "the lease is over", func() bool {
		owner, err := b.node.Owner(t.Context(), "agent", "moves")
		return err == nil && owner.Lost && !owner.Moving && a.node.CheckLease() != nil
	})
	no(0)
	check("without a lease", first)
	b.runtime.Rules.Autonomy = policy.Full
	if got := b.await(b.send(agent(), "act", "moves")); got.err != nil || got.node != b.node.Number() {
		t.Fatalf("at the other node: %v", got)
	}
	b.runtime.Rules.Autonomy = policy.Supervised
	<-acted
	net.Drop(fleet.DropNothing)
	fleet.Await(t, "the node knows", func() bool { return errors.Is(moves.CheckLease(), session.ErrMoved) })
	no(0)
	check("where it is another's", second)
	if len(acted) > 0 {
		t.Error("it was done")
	}
}

// What was allowed for good at one node runs at another one unasked. Where that cannot be known, an operator is
// asked, and where there is none, it is refused: nothing runs because the database is silent.
func TestWhatWasAllowedForGoodCannotBeKnown(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	net := fleet.NewFaultyProxy(t, pg.DSN)
	acted := 0
	d := startDaemon(t, net.DSN, "a", func(context.Context, *command.Call) error { acted++; return nil })
	rules := func(operators bool) (asked *policy.Confirmations) {
		asked = policy.NewConfirmations(fleet.AnswersOf(d.node), operators)
		d.runtime.Rules = command.Rules{Autonomy: policy.Supervised, Confirm: []string{"act"}, Timeout: time.Minute, Confirmations: asked}
		return asked
	}
	asked := rules(true)
	d.open("work")
	other := startDaemon(t, pg.DSN, "b", nobody)
	if err := fleet.AnswersOf(other.node).KeepCommand(t.Context(), "agent", "act", "", true); err != nil {
		t.Fatal(err)
	}
	if got := d.await(d.send(agent(), "act", "work")); got.err != nil || acted != 1 {
		t.Fatalf("what was allowed at the other node: %v", got)
	}

	net.Drop(fleet.DropRequests)
	answers := d.send(agent(), "act", "work")
	fleet.Await(t, "the question", func() bool { return len(asked.Pending()) == 1 })
	q := asked.Pending()[0]
	if !strings.Contains(q.Why, "cannot be read now") {
		t.Errorf("the operator is asked %q", q.Why)
	}
	if _, err := asked.Answer(t.Context(), q.ID, "2", policy.Answer{Allow: true, Remember: policy.RememberAlways}); protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("an answer for good: %v", err)
	}
	if again := asked.Pending(); len(again) != 1 || again[0].ID != q.ID {
		t.Errorf("after an answer that was not kept wait %+v", again)
	}
	if _, err := asked.Answer(t.Context(), q.ID, "2", policy.Answer{}); err != nil {
		t.Error(err)
	}
	if got := d.await(answers); protocol.CodeOf(got.err) != protocol.ConfirmationDenied || acted != 1 {
		t.Errorf("after a no: %v, and it acted %d times", got, acted)
	}
	rules(false)
	if got := d.await(d.send(agent(), "act", "work")); got.err == nil || acted != 1 {
		t.Errorf("without an operator: %v, and it acted %d times", got, acted)
	}
}

// The lease ends while commands run, and they fail or come to their end. By then other nodes may have given the agent
// what their answers hold, or their errors say: it is shown neither.
func TestNothingIsShownWithoutALease(t *testing.T) {
	t.Parallel()
	net := fleet.NewFaultyProxy(t, testpostgres.Start(t).DSN)
	began, end := make(chan struct{}, 9), make(chan struct{})
	var fails atomic.Bool
	d := startDaemon(t, net.DSN, "a", func(context.Context, *command.Call) error {
		began <- struct{}{}
		<-end
		if fails.Load() {
			return protocol.Errorf(protocol.InvalidParams, "the page says hunter2")
		}
		return nil
	})
	for _, name := range []string{"work", "more"} {
		d.open(name)
	}
	fails.Store(true)
	answers := map[string]<-chan answer{
		"an act": d.send(agent(), "act", "work"), "a look": d.send(agent(), "look", "more"), "a script's look": d.send(agent(), "expression", "more"), "a document": d.send(agent(), "fetch", ""),
	}
	for range answers {
		select {
		case <-began:
		case got := <-answers["a document"]:
			t.Fatalf("a document, at once: %v", got)
		}
	}
	net.Drop(fleet.DropRequests)
	fleet.Await(t, "the lease is over", func() bool { return d.node.CheckLease() != nil })
	close(end)
	for what, want := range map[string]protocol.Code{"an act": protocol.OutcomeUnknown, "a look": protocol.FleetUnavailable, "a script's look": protocol.OutcomeUnknown, "a document": protocol.FleetUnavailable} {
		if got := d.await(answers[what]); protocol.CodeOf(got.err) != want || strings.Contains(got.err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", what, got, want)
		}
	}
	fails.Store(false)
	if got := d.await(d.send(agent(), "fetch", "")); protocol.CodeOf(got.err) != protocol.FleetUnavailable || len(began) > 0 {
		t.Errorf("a document, later: %v", got)
	}
}

// A node is cut off from the database while commands of a session run and wait, and another one
// takes the session over. What ran may have acted: outcome_unknown. What changes nothing, and
// what waited, is done by the node that has the session.
func TestASessionIsTakenFromRunningCommands(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	net := fleet.NewFaultyProxy(t, pg.DSN)
	began, end := make(chan string, 9), make(chan struct{})
	a := startDaemon(t, net.DSN, "a", func(ctx context.Context, c *command.Call) error {
		began <- c.Command.Name
		if c.Command.Name == "look" {
			<-end // it does not end with the session
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	})
	b := startDaemon(t, pg.DSN, "b", nobody)
	s := a.open("work")
	runs, looks := a.send(agent(), "act", "work"), a.send(agent(), "look", "work")
	<-began
	<-began
	waits := a.send(agent(), "act", "work")
	net.Drop(fleet.DropRequests)
	fleet.Await(t, "the lease is over", func() bool {
		owner, err := b.node.Owner(t.Context(), "agent", "work")
		return err == nil && owner.Lost && !owner.Moving
	})
	if got := b.await(b.send(agent(), "act", "work")); got.err != nil || got.node != b.node.Number() {
		t.Errorf("at the other node: %v", got)
	}
	net.Drop(fleet.DropNothing)
	fleet.Await(t, "the node knows", func() bool { return errors.Is(s.CheckLease(), session.ErrMoved) })
	close(end)
	if got := a.await(runs); protocol.CodeOf(got.err) != protocol.OutcomeUnknown {
		t.Errorf("what ran: %v", got)
	}
	if got := a.await(looks); got.err != nil || got.node != b.node.Number() {
		t.Errorf("what only reads: %v", got)
	}
	if got := a.await(waits); got.err != nil || got.node != b.node.Number() {
		t.Errorf("what waited: %v", got)
	}
	if len(began) > 0 {
		t.Errorf("%s began at the node that lost the session", <-began)
	}
}

// Commands that are queued before a hand-over run at this node, those behind it at the one that
// goes on with the session. Nothing runs twice.
func TestCommandsBehindAHandOver(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	began, end := make(chan struct{}, 9), make(chan struct{})
	a := startDaemon(t, pg.DSN, "a", func(context.Context, *command.Call) error {
		began <- struct{}{}
		<-end
		return nil
	})
	b := startDaemon(t, pg.DSN, "b", nobody)
	s := a.open("work")
	before := []<-chan answer{a.send(agent(), "act", "work"), a.send(agent(), "act", "work")}
	<-began
	drained := make(chan error, 1)
	go func() {
		_, _, err := server.Drain(context.Background(), a.server)
		drained <- err
	}()
	fleet.Await(t, "the hand-over is in the queue", func() bool { return a.runtime.Sessions.Queued() == 3 })
	behind := []<-chan answer{a.send(agent(), "act", "work"), a.send(agent(), "act", "work")}
	close(end)
	for _, answers := range before {
		if got := a.await(answers); got.err != nil || got.node != a.node.Number() {
			t.Errorf("before the hand-over: %v", got)
		}
	}
	for _, answers := range behind {
		if got := a.await(answers); got.err != nil || got.node != b.node.Number() {
			t.Errorf("behind the hand-over: %v", got)
		}
	}
	if err := <-drained; err != nil || !errors.Is(s.CheckLease(), session.ErrMoved) || len(began) != 1 {
		t.Errorf("%v, %v, and %d more began here", err, s.CheckLease(), len(began))
	}
}

// A node that drains opens no session, whatever other nodes believe, and hands over what was being
// opened when it began to drain. When it shuts down, a command for a session that it had goes on to
// the node that has it.
func TestNothingBeginsAtANodeThatDrains(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a, b := startDaemon(t, pg.DSN, "a", nobody), startDaemon(t, pg.DSN, "b", nobody)
	db, err := sql.Open(postgres.Driver, pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("SELECT pg_advisory_xact_lock($1)", fleet.AgentLock("agent")); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := a.runtime.Sessions.Open("agent", session.Options{Name: "slow"})
		opened <- err
	}()
	fleet.Await(t, "the session is being opened", func() bool { return session.SlotsInUse(a.runtime.Sessions) == 1 })
	type count struct{ moved, stay int }
	drained := make(chan count, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		moved, stay, _ := server.Drain(ctx, a.server)
		drained <- count{moved, stay}
	}()
	fleet.Await(t, "the node drains", func() bool {
		_, err := a.runtime.Sessions.Open("other", session.Options{Name: "probe"})
		if err == nil {
			a.runtime.Sessions.Close(t.Context(), "other", "probe")
		}
		return protocol.CodeOf(err) == protocol.SessionLimit
	})
	tx.Rollback()
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	if got := <-drained; got != (count{1, 0}) {
		t.Errorf("handed over and stayed: %+v", got)
	}
	if got := b.await(b.send(agent(), "act", "slow")); got.err != nil || got.node != b.node.Number() {
		t.Errorf("what was being opened: %v", got)
	}
	if got := a.await(a.send(agent(), "act", "")); got.err != nil || got.node != b.node.Number() {
		t.Errorf("a new session at the node that drains: %v", got)
	}
	fleet.PretendOpen(b.node, a.node.ID())
	if got := b.await(b.send(agent(), "act", "")); got.err != nil || got.node != b.node.Number() {
		t.Errorf("a new session, by a node that does not know: %v", got)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	a.server.Shutdown(ctx)
	fleet.PretendOpen(b.node, a.node.ID())
	if got := b.await(b.send(agent(), "act", "")); got.err != nil || got.node != b.node.Number() {
		t.Errorf("a new session, while the first shuts down: %v", got)
	}
	b.node.CacheOwner("agent", "slow", fleet.Owner{Node: a.node.ID(), Number: a.node.Number()})
	if got := b.await(b.send(agent(), "act", "slow")); got.err != nil || got.node != b.node.Number() {
		t.Errorf("a command sent to the node that shuts down: %v", got)
	}
}

// Somebody changes the owners by hand, or restores an old database: with its next heartbeat each node
// closes the sessions that are not its own.
func TestTheRowsAreChanged(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a, b := startDaemon(t, pg.DSN, "a", nobody), startDaemon(t, pg.DSN, "b", nobody)
	other, none, own := a.open("other"), a.open("none"), a.open("own")
	db, err := sql.Open(postgres.Driver, pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE sessions SET node = $1 WHERE name = 'other'", b.node.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("DELETE FROM sessions WHERE name = 'none'"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*session.Session{other, none} {
		select {
		case <-s.Done():
		case <-time.After(10 * time.Second):
			t.Fatalf("session %s goes on", s.Name())
		}
	}
	if err := own.CheckLease(); err != nil {
		t.Error(err)
	}
}

// The answer of a take-over is lost. The node has the session without knowing it, and goes on with
// it when it is asked again. One that has ended it does not bring back.
func TestTheAnswerOfATakeOverIsLost(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	net := fleet.NewFaultyProxy(t, pg.DSN)
	a, b := startDaemon(t, pg.DSN, "a", nobody), startDaemon(t, net.DSN, "b", nobody)
	a.open("work")
	if _, stay, err := server.Drain(t.Context(), a.server); stay > 0 || err != nil {
		t.Fatal(stay, err)
	}
	net.Drop(fleet.DropUpdateReplies)
	if got := b.await(b.send(agent(), "act", "work")); protocol.CodeOf(got.err) != protocol.FleetUnavailable {
		t.Errorf("without an answer: %v", got)
	}
	net.Drop(fleet.DropNothing)
	var got answer
	fleet.Await(t, "the database answers", func() bool {
		got = b.await(b.send(agent(), "act", "work"))
		return protocol.CodeOf(got.err) != protocol.FleetUnavailable
	})
	if got.err != nil || got.node != b.node.Number() {
		t.Errorf("asked again: %v", got)
	}
	net.Drop(fleet.DropRequests)
	if err := b.runtime.Sessions.Close(t.Context(), "agent", "work"); err != nil {
		t.Fatal(err)
	}
	net.Drop(fleet.DropNothing)
	fleet.Await(t, "the database answers", func() bool {
		got = b.await(b.send(agent(), "act", "work"))
		return protocol.CodeOf(got.err) != protocol.FleetUnavailable
	})
	if protocol.CodeOf(got.err) != protocol.SessionNotFound {
		t.Errorf("a session that has ended: %v", got)
	}
}

// When a session is closed its name is free at all nodes.
func TestTheNameOfAClosedSession(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a, b := startDaemon(t, pg.DSN, "a", nobody), startDaemon(t, pg.DSN, "b", nobody)
	for range 20 {
		for _, d := range []*daemon{a, b} {
			d.open("work")
			if err := d.runtime.Sessions.Close(t.Context(), "agent", "work"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
