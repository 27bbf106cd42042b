package policy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

func confirmations(t *testing.T, path string) *Confirmations {
	t.Helper()
	c, _ := confirmationsAnd(t, path)
	return c
}

// confirmationsAnd also returns the policy to which additions are made.
func confirmationsAnd(t *testing.T, path string) (*Confirmations, *Policy) {
	t.Helper()
	p, err := New(Config{AllowedDomains: []string{"a.test"}})
	if err != nil {
		t.Fatal(err)
	}
	answers, err := ReadAnswers(path, p.SetAdditions)
	if err != nil {
		t.Fatal(err)
	}
	return NewConfirmations(answers, true), p
}

// ask asks a question in the background.
func ask(c *Confirmations, ctx context.Context, q Question) <-chan string {
	done := make(chan string, 1)
	go func() {
		a, err := c.Ask(ctx, q, time.Minute, nil)
		switch {
		case err != nil:
			done <- err.Error()
		case a.Allow:
			done <- "yes"
		default:
			done <- "no"
		}
	}()
	return done
}

func TestAnAnswerReachesWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := confirmations(t, "")
		var told []protocol.Event
		defer c.Listen(func(e protocol.Event) { told = append(told, e) })()
		first := ask(c, t.Context(), Question{Agent: "alice", Asker: Asker{ID: "1"}, Session: "s", Command: "eval", Why: "because"})
		synctest.Wait()
		second := ask(c, t.Context(), Question{Agent: "bob", Asker: Asker{ID: "2"}, Command: "upload"})
		synctest.Wait()

		if len(told) != 2 || told[0].Type != protocol.EventConfirmationRequested || told[0].Session != "s" || told[0].Fields["agent"] != "alice" || told[0].Fields["why"] != "because" {
			t.Fatalf("operators are told %v", told)
		}
		var late []protocol.Event
		c.Listen(func(e protocol.Event) { late = append(late, e) })()
		if d := cmp.Diff(told, late); d != "" {
			t.Errorf("who comes later is told something else (-first +late):\n%s", d)
		}
		waiting := c.Pending()
		if len(waiting) != 2 || waiting[0].Command != "eval" || waiting[1].Command != "upload" {
			t.Fatalf("waiting: %+v", waiting)
		}
		if _, err := c.Answer(t.Context(), waiting[0].ID, "1", Answer{Allow: true}); protocol.CodeOf(err) != protocol.PolicyDenied {
			t.Errorf("the token that asks answers itself: %v", err)
		}
		if _, err := c.Answer(t.Context(), waiting[1].ID, "9", Answer{}); err != nil {
			t.Error(err)
		}
		if _, err := c.Answer(t.Context(), waiting[0].ID, "9", Answer{Allow: true}); err != nil {
			t.Error(err)
		}
		if a, b := <-first, <-second; a != "yes" || b != "no" {
			t.Errorf("got %s and %s, want yes and no", a, b)
		}
		if _, err := c.Answer(t.Context(), waiting[0].ID, "9", Answer{}); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("a second answer: %v", err)
		}
		if left := c.Pending(); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
	})
}

// No answer in time, the command's own timeout and a client that disconnects all count
// as a no, and end the question.
func TestNoAnswerIsNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := confirmations(t, "")
		start := time.Now()
		if got := <-ask(c, t.Context(), Question{Agent: "a"}); got != ErrNoAnswer.Error() || time.Since(start) != time.Minute {
			t.Errorf("nobody answers: %s after %v", got, time.Since(start))
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		waits := ask(c, short, Question{Agent: "a"})
		synctest.Wait()
		if q := c.Pending(); len(q) != 1 || q[0].Expires.Sub(q[0].Asked) != time.Second {
			t.Errorf("a question within a command's time: %+v", q)
		}
		if got := <-waits; got != ErrNoAnswer.Error() {
			t.Errorf("the command's time is over: %s", got)
		}
		gone, leave := context.WithCancelCause(t.Context())
		waits = ask(c, gone, Question{Agent: "a"})
		synctest.Wait()
		leave(errors.New("gone"))
		if got := <-waits; got != "gone" {
			t.Errorf("who asked is gone: %s", got)
		}
		if left := c.Pending(); len(left) != 0 {
			t.Errorf("left: %+v", left)
		}
	})
}

func TestQuestionsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := confirmations(t, "")
		ctx, cancel := context.WithCancel(t.Context())
		for range maxQuestionsPerAgent {
			ask(c, ctx, Question{Agent: "alice"})
		}
		synctest.Wait()
		if got := <-ask(c, ctx, Question{Agent: "alice"}); got != ErrTooMany.Error() {
			t.Errorf("one more of the same agent: %s", got)
		}
		ask(c, ctx, Question{Agent: "bob"})
		synctest.Wait()
		if n := len(c.Pending()); n != maxQuestionsPerAgent+1 {
			t.Errorf("%d wait, want %d", n, maxQuestionsPerAgent+1)
		}
		cancel()
		synctest.Wait()
		if n := len(c.Pending()); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

func TestWithoutAnOperatorNobodyWaits(t *testing.T) {
	c := NewConfirmations(nil, false)
	if _, err := c.Ask(t.Context(), Question{Agent: "a"}, time.Minute, nil); err != ErrNoOperator {
		t.Error(err)
	}
	if _, err := c.Offer(Question{Agent: "a"}, nil); err != ErrNoOperator {
		t.Error(err)
	}
}

// Equal refusals make one offer. It expires after a while, and stays open if apply
// fails.
func TestOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := confirmations(t, "")
		q := Question{Agent: "alice", Asker: Asker{ID: "1"}, Session: "s", Config: &Setting{KeyAllowHosts, []string{"10.0.0.7"}}}
		var done []Answer
		fault := errors.New("a broken store")
		apply := func(_ context.Context, a Answer) error { done = append(done, a); return fault }
		id, err := c.Offer(q, apply)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := c.Offer(q, apply); again != id {
			t.Errorf("the same refusal asks again: %s, %s", id, again)
		}
		other := q
		other.Config = &Setting{KeyAllowHosts, []string{"10.0.0.8"}}
		if again, _ := c.Offer(other, apply); again == id {
			t.Error("another address has the same question")
		}
		if _, err := c.Answer(t.Context(), id, "2", Answer{Allow: true, Remember: RememberNo}); !errors.Is(err, fault) {
			t.Errorf("a yes that cannot be done: %v", err)
		}
		fault = nil
		if _, err := c.Answer(t.Context(), id, "2", Answer{Allow: true, Remember: RememberSession}); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff([]Answer{{true, RememberNo}, {true, RememberSession}}, done); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
		time.Sleep(offerTTL) // of the test's own clock
		synctest.Wait()
		if left := c.Pending(); len(left) != 0 {
			t.Errorf("left after %v: %+v", offerTTL, left)
		}
	})
}

// A question that is open already is answered for the session that has the name by then.
func TestAnOfferIsForWhoAskedLast(t *testing.T) {
	c := confirmations(t, "")
	q := Question{Agent: "alice", Asker: Asker{ID: "1"}, Session: "work", Config: &Setting{KeyAllowHosts, []string{"10.0.0.7"}}}
	var opened []string
	offer := func(of string) string {
		id, err := c.Offer(q, func(context.Context, Answer) error { opened = append(opened, of); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	id := offer("the session that has ended")
	if again := offer("the session of the same name"); again != id {
		t.Errorf("the question is asked again: %s, %s", id, again)
	}
	if _, err := c.Answer(t.Context(), id, "2", Answer{Allow: true, Remember: RememberSession}); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"the session of the same name"}, opened); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// An answer to remember always survives a restart, in a file that only this user can
// read. A later answer replaces an earlier one.
func TestAnswerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "confirmed.json")
	c, p := confirmationsAnd(t, path)
	answer := func(allow bool) {
		t.Helper()
		waits := ask(c, t.Context(), Question{Agent: "alice", Command: "eval", Host: "a.test", Place: "a.test"})
		awaitQuestion(t, c)
		if _, err := c.Answer(t.Context(), c.Pending()[0].ID, "2", Answer{Allow: allow, Remember: RememberAlways}); err != nil {
			t.Fatal(err)
		}
		<-waits
	}
	answer(false)
	answer(true)
	for _, s := range []Setting{{KeyAllowHosts, []string{"10.0.0.7:8080"}}, {KeyAllowedDomains, []string{"shop.example.com"}}} {
		id, err := c.Offer(Question{Agent: "alice", Config: &s}, func(context.Context, Answer) error { return errors.New("it is applied twice") })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Answer(t.Context(), id, "2", Answer{Allow: true, Remember: RememberAlways}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.CheckURL(t.Context(), "http://10.0.0.7:8080/"); err != nil {
		t.Errorf("after the answer: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", info.Mode(), err)
	}
	want := `{
  "allow_hosts": [
    "10.0.0.7:8080"
  ],
  "allowed_domains": [
    "shop.example.com"
  ],
  "commands": [
    {
      "agent": "alice",
      "command": "eval",
      "place": "a.test",
      "allow": true
    }
  ]
}
`
	got, _ := os.ReadFile(path)
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}

	c, p = confirmationsAnd(t, path)
	for url, want := range map[string]bool{"http://10.0.0.7:8080/": true, "http://10.0.0.7/": false, "http://shop.example.com/": true, "http://other.example.com/": false} {
		if _, err := p.CheckURL(t.Context(), url); (err == nil) != want {
			t.Errorf("%s after a restart: %v", url, err)
		}
	}
	for _, test := range []struct {
		agent, command, host string
		allow, known         bool
	}{
		{"alice", "eval", "a.test", true, true},
		{"bob", "eval", "a.test", false, false},
		{"alice", "upload", "a.test", false, false},
		{"alice", "eval", "b.test", false, false},
		{"alice", "eval", "", false, false},
	} {
		if allow, known, err := c.Remembered(t.Context(), test.agent, test.command, test.host); allow != test.allow || known != test.known || err != nil {
			t.Errorf("%+v: got %v %v %v", test, allow, known, err)
		}
	}
}

// An answer that cannot be stored does not count: the command still waits.
func TestAnswerFileThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	for path, want := range map[string]string{
		"":                                   "there is no state directory",
		filepath.Join(dir, "confirmed.json"): "keeping an operator's answer",
	} {
		c := confirmations(t, path)
		waits := ask(c, t.Context(), Question{Agent: "alice", Command: "eval"})
		awaitQuestion(t, c)
		id := c.Pending()[0].ID
		if _, err := c.Answer(t.Context(), id, "2", Answer{Allow: true, Remember: RememberAlways}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
		if _, known, _ := c.Remembered(t.Context(), "alice", "eval", ""); known {
			t.Errorf("%q: remembered although it is not kept", path)
		}
		if _, err := c.Answer(t.Context(), id, "2", Answer{Allow: true, Remember: RememberSession}); err != nil {
			t.Errorf("%q: %v", path, err)
		}
		if got := <-waits; got != "yes" {
			t.Errorf("%q: %s", path, got)
		}
	}
}

// A file that cannot be parsed is an error at the start: it might contain a no.
func TestAnswerFileThatCannotBeRead(t *testing.T) {
	for content, want := range map[string]string{
		"":                                      "EOF",
		"{":                                     "unexpected EOF",
		"[]":                                    "cannot unmarshal array",
		`{"allow_hosts":["10.0.0.7"],"x":1}`:    `unknown field "x"`,
		`{"allow_hosts":["http://10.0.0.7"]}`:   "without a scheme",
		`{"allow_hosts":["*.com"]}`:             "anybody may register",
		`{"commands":[{"agent":"a"}]}`:          "commands[0]: accepts agent, command, place and allow",
		`{"commands":[]} {"allow_hosts":["x"]}`: "something follows",
	} {
		path := filepath.Join(t.TempDir(), "confirmed.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadAnswers(path, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: got %v, want %s with the path", content, err, want)
		}
	}
	dir := t.TempDir()
	open := filepath.Join(dir, "open.json")
	link := filepath.Join(dir, "link.json")
	if err := errors.Join(os.WriteFile(open, []byte("{}"), 0o600), os.Chmod(open, 0o660), os.Symlink(open, link)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{open: "open to others (mode 660)", link: "no plain file", dir: "no plain file"} {
		if _, err := ReadAnswers(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

// Who asks may not answer. Of a node of an older version it is not known which token it speaks for: such an answer to an
// operator's question is refused, and so is any to a question of which nobody knows which operator asked it.
func TestWhoAsksMayNotAnswer(t *testing.T) {
	for _, c := range []struct {
		asks     Question
		answers  string
		accepted bool
	}{
		{Question{Asker: Asker{ID: "ann"}}, "olga", true},
		{Question{Asker: Asker{ID: "ann"}}, "ann", false},
		{Question{Asker: Asker{ID: "ann"}}, "", true},
		{Question{}, "", true},
		{Question{Asker: Asker{"olga", true}}, "omar", true},
		{Question{Asker: Asker{"olga", true}}, "olga", false},
		{Question{Asker: Asker{"olga", true}}, "", false},
		{Question{Asker: Asker{Operator: true}}, "omar", false},
	} {
		k := confirmations(t, "")
		c.asks.Config = &Setting{KeyAllowHosts, []string{"10.0.0.1"}}
		id, err := k.Offer(c.asks, func(context.Context, Answer) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Answer(t.Context(), id, c.answers, Answer{Allow: true})
		if want := map[bool]protocol.Code{true: "", false: protocol.PolicyDenied}[c.accepted]; (err == nil) != c.accepted || err != nil && protocol.CodeOf(err) != want {
			t.Errorf("asked by %q (operator: %t), answered by %q: %v", c.asks.Asker.ID, c.asks.Asker.Operator, c.answers, err)
		}
	}
}

// An entry that is added for a while is removed again, and what the
// configuration opened stays open.
func TestAddUntil(t *testing.T) {
	p, err := New(Config{AllowHosts: []string{"10.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	opens := func(host string) bool {
		_, err := p.CheckURL(t.Context(), "http://"+host+"/")
		return err == nil
	}
	var undo []func()
	for _, entry := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.2"} {
		f, err := p.AddUntil(Setting{KeyAllowHosts, []string{entry}})
		if err != nil {
			t.Fatal(err)
		}
		undo = append(undo, f)
	}
	undo[0]()
	undo[0]()
	undo[1]()
	if !opens("10.0.0.1") || !opens("10.0.0.2") || opens("10.0.0.3") {
		t.Error("what is still allowed is refused, or another is allowed")
	}
	undo[2]()
	if !opens("10.0.0.1") || opens("10.0.0.2") {
		t.Error("after the last undo: the configured one is refused too, or the other still allowed")
	}
	for _, s := range []Setting{{KeyAllowHosts, []string{"10.0.0.4", "*.com"}}, {"policy.ports", []string{"25"}}} {
		if _, err := p.AddUntil(s); err == nil || opens("10.0.0.4") {
			t.Errorf("%v is opened: %v", s, err)
		}
	}
	// An allowed domain does not allow private addresses.
	if p, err = New(Config{AllowedDomains: []string{"a.example.com"}}); err != nil {
		t.Fatal(err)
	}
	f, err := p.AddUntil(Setting{KeyAllowedDomains, []string{"b.example.com", "10.0.0.5"}})
	if err != nil {
		t.Fatal(err)
	}
	if !opens("b.example.com") || opens("10.0.0.5") || opens("c.example.com") {
		t.Error("an allowed domain opens too little or too much")
	}
	f()
	if opens("b.example.com") || !opens("a.example.com") {
		t.Error("after undo: still allowed, or the configured one is refused too")
	}
}

// What is added for a session is open to its Gates alone; what is added for an agent to those of all of its sessions.
// Neither is open to another agent, or to who has neither; the policy's own refusals stay.
func TestAdditionsHoldForTheirGatesAlone(t *testing.T) {
	p, err := New(Config{DeniedDomains: []string{"10.9.0.0/16"}, AllowedDomains: []string{"a.example.com", "10.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	ann, eve := NewAdditions(nil), NewAdditions(nil)
	gates := map[string]GateOptions{
		"nobody": {}, "ann": {Additions: ann}, "ann/1": {Additions: NewAdditions(ann)}, "ann/2": {Additions: NewAdditions(ann)},
		"ann/narrow": {Additions: NewAdditions(ann), AllowedDomains: []string{"a.example.com"}}, "eve": {Additions: eve}, "eve/1": {Additions: NewAdditions(eve)},
	}
	expect := func(when, url string, want ...string) {
		t.Helper()
		var open []string
		for name, o := range gates {
			if _, err := p.CheckURLWithin(t.Context(), o, url); err == nil {
				open = append(open, name)
			}
		}
		slices.Sort(open)
		if d := cmp.Diff(want, open); d != "" {
			t.Errorf("%s, %s is open to (-want +got):\n%s", when, url, d)
		}
	}
	add := func(to string, key string, entry string) (undo func()) {
		t.Helper()
		undo, err := gates[to].Additions.AddUntil(Setting{key, []string{entry}})
		if err != nil {
			t.Fatal(err)
		}
		return undo
	}
	expect("at first", "http://10.0.0.1/")
	session := add("ann/1", KeyAllowHosts, "10.0.0.1")
	expect("added for a session", "http://10.0.0.1/", "ann/1")
	agent := add("ann", KeyAllowHosts, "10.0.0.1")
	expect("added for its agent too", "http://10.0.0.1/", "ann", "ann/1", "ann/2")
	agent()
	agent()
	expect("and no longer", "http://10.0.0.1/", "ann/1")
	session()
	expect("removed", "http://10.0.0.1/")
	add("eve", KeyAllowHosts, "10.9.0.1")
	expect("denied", "http://10.9.0.1/")
	add("eve/1", KeyAllowedDomains, "b.example.com")
	add("eve/1", KeyAllowedDomains, "10.0.0.2")
	expect("a domain", "http://b.example.com/", "eve/1")
	expect("a domain opens nothing private", "http://10.0.0.2/")
	if _, err := ann.AddUntil(Setting{KeyAllowHosts, []string{"10.0.0.4", "*.com"}}); err == nil {
		t.Error("*.com is added")
	}
	expect("after an error", "http://10.0.0.4/")
	add("ann/narrow", KeyAllowHosts, "10.0.0.5")
	expect("a session stays within its own domains", "http://10.0.0.5/")
	if !(*Additions)(nil).Empty() || !ann.Empty() || gates["eve/1"].Additions.Empty() {
		t.Error("Empty says something else")
	}
}

// SetAdditions adds to the configuration and to what AddUntil has added, and removes what it
// added before and is no longer given.
func TestSetAdditions(t *testing.T) {
	p, err := New(Config{AllowHosts: []string{"10.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	undo, err := p.AddUntil(Setting{KeyAllowHosts, []string{"10.0.0.2"}})
	if err != nil {
		t.Fatal(err)
	}
	hosts := func(list ...string) Setting { return Setting{KeyAllowHosts, list} }
	for _, step := range []struct {
		add   []Setting
		open  string // of 10.0.0.1 to 10.0.0.4
		fault string
	}{
		{[]Setting{hosts("10.0.0.2", "10.0.0.3"), hosts("10.0.0.3")}, "123", ""},
		{[]Setting{hosts("10.0.0.2", "10.0.0.3", "10.0.0.1")}, "123", ""},
		{[]Setting{hosts("10.0.0.2"), {"policy.ports", []string{"25"}}, hosts("*.com", "10.0.0.4")}, "124", "policy.ports"},
		{[]Setting{hosts("10.0.0.4")}, "124", ""}, // the second is open for a while
		{nil, "12", ""},
	} {
		if err := p.SetAdditions(step.add); (err == nil) != (step.fault == "") || err != nil && !strings.Contains(err.Error(), step.fault) {
			t.Errorf("%v: %v, want %q", step.add, err, step.fault)
		}
		open := ""
		for _, n := range []string{"1", "2", "3", "4"} {
			if _, err := p.CheckURL(t.Context(), "http://10.0.0."+n+"/"); err == nil {
				open += n
			}
		}
		if open != step.open {
			t.Errorf("%v: open are %s, want %s", step.add, open, step.open)
		}
	}
	undo()
	if _, err := p.CheckURL(t.Context(), "http://10.0.0.2/"); err == nil {
		t.Error("what was open for a while stays open")
	}
}

func TestAutonomyKeys(t *testing.T) {
	for want, c := range map[string]Config{
		"":                               {Autonomy: "read_only", Confirm: []string{"click"}, ConfirmTimeout: time.Second},
		`policy.autonomy: "careless"`:    {Autonomy: "careless"},
		`policy.confirm: an empty name`:  {Confirm: []string{"click", ""}},
		`policy.confirm_timeout: -1s: a`: {ConfirmTimeout: -time.Second},
	} {
		if err := c.Check(); want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%+v: got %v, want %s", c, err, want)
		}
	}
}

// awaitQuestion waits for a question that another goroutine asks.
func awaitQuestion(t *testing.T, c *Confirmations) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); len(c.Pending()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("no question is asked")
		}
	}
}
