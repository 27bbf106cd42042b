package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server"
	"github.com/browserd/browserd/session"
)

// supervised is a daemon of a node where operators are asked before act, and look opens a private address.
type supervised struct {
	*daemon
	rules *policy.Policy
	asked *policy.Confirmations
}

func startSupervised(t *testing.T, dsn, name string) *supervised {
	t.Helper()
	rules, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, dsn, name, func(ctx context.Context, c *command.Call) error {
		if c.Command.Name == "look" {
			_, err := c.CheckURL(ctx, "http://10.0.0.7/")
			return err
		}
		return nil
	})
	asked := policy.NewConfirmations(fleet.AnswersOf(d.node), true)
	d.runtime.Rules = command.Rules{Autonomy: policy.Supervised, Confirm: []string{"act"}, Timeout: 6 * time.Second, Confirmations: asked}
	d.runtime.CheckURL = rules.CheckURLWithin
	return &supervised{d, rules, asked}
}

// answered sends a command and has the operator answer its question for the session's life.
func (s *supervised) answered(session string, allow bool) {
	s.t.Helper()
	answers := s.send(agent(), "act", session)
	fleet.Await(s.t, "the question", func() bool { return len(s.asked.Pending()) > 0 })
	if _, err := s.asked.Answer(s.t.Context(), s.asked.Pending()[0].ID, "2", policy.Answer{Allow: allow, Remember: policy.RememberSession}); err != nil {
		s.t.Fatal(err)
	}
	if got := s.await(answers); (got.err == nil) != allow {
		s.t.Fatalf("answered %t: %v", allow, got)
	}
}

// opens has the operator open the address that look goes to, for the session's life.
func (s *supervised) opens(session string) {
	s.t.Helper()
	if got := s.await(s.send(agent(), "look", session)); protocol.CodeOf(got.err) != protocol.PolicyDenied || len(s.asked.Pending()) != 1 {
		s.t.Fatalf("before it is opened: %v, and %d questions wait", got, len(s.asked.Pending()))
	}
	if _, err := s.asked.Answer(s.t.Context(), s.asked.Pending()[0].ID, "2", policy.Answer{Allow: true, Remember: policy.RememberSession}); err != nil {
		s.t.Fatal(err)
	}
}

// does returns what becomes of act and look in a session: by which node, or why not.
func (s *supervised) does(session string) string {
	s.t.Helper()
	said := func(method string) string {
		got := s.await(s.send(agent(), method, session))
		if e, is := got.err.(*protocol.Error); is {
			return fmt.Sprintf("%s %v", e.Code, e.Details["reason"])
		}
		return fmt.Sprint(got.node, " ", got.err)
	}
	return said("act") + ", " + said("look")
}

// What an operator answers for the life of a session holds wherever the session goes on: where it was handed over to, and
// where it was taken over to from a node that is lost before anything else was done there. It is that session's alone,
// and ends with it.
func TestAnswersForASessionGoWithIt(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	net := fleet.NewFaultyProxy(t, pg.DSN)
	a, b, c := startSupervised(t, pg.DSN, "a"), startSupervised(t, net.DSN, "b"), startSupervised(t, pg.DSN, "c")
	for session, allow := range map[string]bool{"yes": true, "no": false} {
		a.open(session)
		a.answered(session, allow)
	}
	a.open("open")
	a.opens("open")
	const unasked, denied, refused = "confirmation_denied no_answer", "confirmation_denied remembered", "policy_denied ip_private"
	expect := func(where *supervised, session, want string) {
		t.Helper()
		if got := where.does(session); got != want {
			t.Errorf("%s at node %d: %s, want %s", session, where.node.Number(), got, want)
		}
	}
	expect(a, "yes", "1 <nil>, "+refused)
	expect(a, "no", denied+", "+refused)
	if _, stay, err := server.Drain(t.Context(), a.server); stay != 0 || err != nil {
		t.Fatalf("%d sessions stay, %v", stay, err)
	}
	expect(c, "yes", "2 <nil>, "+refused)
	expect(c, "no", denied+", "+refused)
	expect(c, "open", unasked+", 2 <nil>")
	b.open("other")
	expect(b, "other", unasked+", "+refused)

	net.Drop(fleet.DropRequests)
	goesOn := func(session, want string) {
		fleet.Await(t, "the node is lost, and session "+session+" goes on", func() bool { return c.does(session) == want })
	}
	goesOn("yes", "3 <nil>, "+refused)
	goesOn("no", denied+", "+refused)
	goesOn("open", unasked+", 3 <nil>")
	for _, session := range []string{"open", "yes"} {
		if err := c.runtime.Sessions.Close(t.Context(), "agent", session); err != nil {
			t.Fatal(err)
		}
		c.open(session)
		expect(c, session, unasked+", "+refused)
	}
}

// answers answers a question with a yes.
func (s *supervised) answers(id, remember string) error {
	_, err := s.asked.Answer(s.t.Context(), id, "2", policy.Answer{Allow: true, Remember: remember})
	return err
}

// An answer for the life of a session that confirm has accepted is kept; while it cannot be, the question stays open.
func TestAnAnswerForASessionIsKept(t *testing.T) {
	t.Parallel()
	net := fleet.NewFaultyProxy(t, testpostgres.Start(t).DSN)
	a := startSupervised(t, net.DSN, "a")
	a.runtime.Rules.Timeout = time.Minute
	a.open("work")
	answers := a.send(agent(), "act", "work")
	fleet.Await(t, "the question", func() bool { return len(a.asked.Pending()) == 1 })
	id := a.asked.Pending()[0].ID
	net.Drop(fleet.DropRequests)
	if err := a.answers(id, policy.RememberSession); protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Fatalf("while the database is silent: %v", err)
	}
	if err := a.answers(id, policy.RememberNo); err != nil {
		t.Errorf("an answer for this once: %v", err)
	}
	if got := a.await(answers); got.err != nil {
		t.Errorf("allowed once: %v", got)
	}
	net.Drop(fleet.DropNothing)
	a.runtime.Rules.Timeout = time.Second
	fleet.Await(t, "the database answers", func() bool { return a.does("work") == "confirmation_denied no_answer, policy_denied ip_private" })
}

// What is answered for a session's life is open when it is kept, and not before.
func TestAnAddressIsOpenWhenItIsKept(t *testing.T) {
	t.Parallel()
	net := fleet.NewFaultyProxy(t, testpostgres.Start(t).DSN)
	a := startSupervised(t, net.DSN, "a")
	a.open("work")
	a.await(a.send(agent(), "look", "work"))
	id := a.asked.Pending()[0].ID
	net.Drop(fleet.DropRequests)
	answered := make(chan error, 1)
	go func() { answered <- a.answers(id, policy.RememberSession) }()
	isOpen := func() bool {
		s, err := a.runtime.Sessions.Get("agent", "work")
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.rules.CheckURLWithin(t.Context(), session.GateOptions(s), "http://10.0.0.7/")
		return err == nil
	}
	for len(answered) == 0 {
		if isOpen() {
			t.Fatal("the address is open before the answer is kept")
		}
		time.Sleep(time.Millisecond)
	}
	if err := <-answered; protocol.CodeOf(err) != protocol.FleetUnavailable || isOpen() {
		t.Errorf("while the database is silent: %v, and it is open: %t", err, isOpen())
	}
	net.Drop(fleet.DropNothing)
	fleet.Await(t, "the answer is kept", func() bool { return a.answers(id, policy.RememberSession) == nil })
	if !isOpen() {
		t.Error("the answer is kept, and the address is not open")
	}
}

// An operator answers about an address that a session asked for which is elsewhere by now, or has ended. Where the session
// is, the address would stay refused: only an answer for good counts. What one allows a session that has ended for once
// counts for the agent's next.
func TestAnAnswerForASessionThatIsNotHere(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a := startSupervised(t, pg.DSN, "a")
	startSupervised(t, pg.DSN, "b")
	ids := map[string]string{}
	for i, session := range []string{"work", "moved"} {
		a.open(session)
		a.await(a.send(agent(), "look", session))
		ids[session] = a.asked.Pending()[i].ID
	}
	if err := a.runtime.Sessions.Close(t.Context(), "agent", "work"); err != nil {
		t.Fatal(err)
	}
	if _, stay, err := server.Drain(t.Context(), a.server); stay != 0 || err != nil {
		t.Fatalf("%d sessions stay, %v", stay, err)
	}
	for _, c := range []struct{ session, remember, next string }{
		{"moved", policy.RememberNo, "answer for good, or no; you are asked again where the session is, when it tries again"},
		{"moved", policy.RememberSession, "answer for good, or no; you are asked again where the session is, when it tries again"},
		{"work", policy.RememberSession, "answer for this once, or for good"},
	} {
		err := a.answers(ids[c.session], c.remember)
		if e, is := err.(*protocol.Error); !is || e.Code != protocol.SessionNotFound || e.Next != c.next {
			t.Errorf("the session %s, answered %q: %#v", c.session, c.remember, err)
		}
	}
	if len(a.asked.Pending()) != 2 {
		t.Errorf("%d questions wait, want 2", len(a.asked.Pending()))
	}
	isOpen := func() bool {
		_, err := a.rules.CheckURLWithin(t.Context(), policy.GateOptions{Additions: session.AdditionsOf(a.runtime.Sessions, "agent")}, "http://10.0.0.7/")
		return err == nil
	}
	if isOpen() {
		t.Error("the address is open where the session is not")
	}
	for session, remember := range map[string]string{"moved": policy.RememberAlways, "work": policy.RememberNo} {
		if err := a.answers(ids[session], remember); err != nil {
			t.Errorf("the session %s, answered %q: %v", session, remember, err)
		}
	}
	if !isOpen() {
		t.Error("what was allowed once is not open to the agent's next session")
	}
	if _, err := a.rules.CheckURLWithin(t.Context(), policy.GateOptions{Additions: session.AdditionsOf(a.runtime.Sessions, "other")}, "http://10.0.0.7/"); err == nil {
		t.Error("it is open to another agent")
	}
}
