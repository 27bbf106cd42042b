package fleet

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// additionsRecorder records the additions to the policy that a node was given.
type additionsRecorder struct {
	mu   sync.Mutex
	last []policy.Setting
	told int
	lost []string // entries that were held, and then were not
}

func (h *additionsRecorder) hold(settings []policy.Setting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := entriesOf(h.last)
	h.last = settings
	h.told++
	now := entriesOf(h.last)
	h.lost = append(h.lost, slices.DeleteFunc(before, func(e string) bool { return slices.Contains(now, e) })...)
}

// entries are what is held.
func (h *additionsRecorder) entries() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(entriesOf(h.last), ", ")
}

// entriesOf are the entries of settings with their keys, each once.
func entriesOf(settings []policy.Setting) (list []string) {
	for _, s := range settings {
		for _, e := range s.Add {
			list = append(list, strings.TrimPrefix(s.Key, "policy.")+" "+e)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// joinWithAnswers joins a fleet, and returns its Answers.
func joinWithAnswers(t *testing.T, dsn, name string) (*Answers, *additionsRecorder) {
	t.Helper()
	h := &additionsRecorder{}
	of := testOptions()
	of.SetPolicyAdditions = h.hold
	return AnswersOf(joinAs(t, dsn, name, of)), h
}

// alter changes rows by hand.
func alter(t *testing.T, dsn, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

// An answer about a command is known to each node when it is kept, the last one counts, and it is for its
// agent, command and place alone, whatever stands in them. A row that nobody with state.key wrote is
// not an answer, and neither a yes nor a no is known while the database is silent.
func TestAnswersAboutCommands(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	one, _ := joinWithAnswers(t, pg.DSN, "one")
	two, _ := joinWithAnswers(t, pg.DSN, "two")
	knows := func(a *Answers, agent, command, place, want string) {
		t.Helper()
		got := "nothing"
		allow, known, err := a.Command(t.Context(), agent, command, place)
		switch {
		case err != nil:
			got = "an error"
		case known:
			got = fmt.Sprint(allow)
		}
		if got != want {
			t.Errorf("%q %q at %.40q: %s, want %s (%v)", agent, command, place, got, want, err)
		}
	}
	for _, place := range []string{"", "https://shop.test", "a\x00b", strings.Repeat("x", 100_000), "\xff"} {
		for i, allow := range []bool{true, false, true} {
			from, to := one, two
			if i%2 == 1 {
				from, to = two, one
			}
			if err := from.KeepCommand(t.Context(), "ann", "eval", place, allow); err != nil {
				t.Fatalf("%.40q: %v", place, err)
			}
			knows(to, "ann", "eval", place, fmt.Sprint(allow))
		}
	}
	for _, other := range [][3]string{{"bob", "eval", ""}, {"ann", "upload", ""}, {"ann", "eval", "https://shop.test/"}, {"ann\x00eval", "", ""}, {`ann","eval`, "", ""}} {
		knows(two, other[0], other[1], other[2], "nothing")
	}
	later, _ := joinWithAnswers(t, pg.DSN, "later")
	knows(later, "ann", "eval", "https://shop.test", "true")

	alter(t, pg.DSN, "UPDATE confirmed_commands SET allow = false WHERE place = 'https://shop.test'")
	knows(one, "ann", "eval", "https://shop.test", "an error")
	alter(t, pg.DSN, "UPDATE confirmed_commands SET allow = true WHERE place = 'https://shop.test'")
	knows(one, "ann", "eval", "https://shop.test", "true")
	alter(t, pg.DSN, "UPDATE confirmed_commands SET id = $1 WHERE place = 'https://shop.test'", commandID("bob", "eval", "https://shop.test"))
	knows(one, "bob", "eval", "https://shop.test", "an error")
	knows(one, "ann", "eval", "https://shop.test", "nothing")

	pg.Freeze(t)
	knows(one, "ann", "eval", "", "an error")
	if err := one.KeepCommand(t.Context(), "ann", "eval", "late", true); protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("keeping while the database is silent: %v", err)
	}
	pg.Thaw(t)
	await(t, "the database answers", func() bool { return one.n.checkDatabase() == nil && two.n.checkDatabase() == nil })
	knows(two, "ann", "eval", "", "true")
}

// What is added to the policy holds at the node where it was answered at once, at all others with their next
// heartbeat, and at those that come later when they come; a row that is removed ends it, and one that nobody
// with state.key wrote is none. Nothing is read while nothing changes.
func TestAdditionsToThePolicy(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	one, first := joinWithAnswers(t, pg.DSN, "one")
	two, second := joinWithAnswers(t, pg.DSN, "two")
	holds := func(h *additionsRecorder, want string) {
		t.Helper()
		await(t, "what is held: "+want, func() bool { return h.entries() == want })
	}
	keep := func(a *Answers, key string, entries ...string) error {
		return a.KeepSetting(t.Context(), policy.Setting{Key: key, Add: entries})
	}
	if err := keep(one, policy.KeyAllowHosts, "10.0.0.7:8080"); err != nil {
		t.Fatal(err)
	}
	if got := first.entries(); got != "allow_hosts 10.0.0.7:8080" {
		t.Errorf("when it is answered: %q", got)
	}
	holds(second, "allow_hosts 10.0.0.7:8080")
	if err := keep(two, policy.KeyAllowedDomains, "shop.test", "*.shop.test"); err != nil {
		t.Fatal(err)
	}
	const all = "allow_hosts 10.0.0.7:8080, allowed_domains *.shop.test, allowed_domains shop.test"
	for _, h := range []*additionsRecorder{first, second} {
		holds(h, all)
	}
	_, later := joinWithAnswers(t, pg.DSN, "later")
	if got := later.entries(); got != all {
		t.Errorf("a node that has come later: %q", got)
	}
	if err := keep(one, policy.KeyAllowHosts, "10.0.0.7:8080"); err != nil {
		t.Errorf("once more: %v", err)
	}

	// Each node reads again after its own answers, and then not any more.
	told := func() (n []int) {
		for _, h := range []*additionsRecorder{first, second, later} {
			h.mu.Lock()
			n = append(n, h.told)
			h.mu.Unlock()
		}
		return n
	}
	time.Sleep(2*heartbeatInterval + time.Second)
	before := told()
	time.Sleep(2*heartbeatInterval + time.Second)
	if d := cmp.Diff(before, told()); d != "" {
		t.Errorf("nothing has changed, and the nodes are told (-before +after):\n%s", d)
	}

	alter(t, pg.DSN, "INSERT INTO confirmed_settings (key, entry, proof) SELECT key, '10.0.0.0/8', proof FROM confirmed_settings WHERE key = $1", policy.KeyAllowHosts)
	alter(t, pg.DSN, "DELETE FROM confirmed_settings WHERE entry = 'shop.test'")
	for _, h := range []*additionsRecorder{first, second, later} {
		holds(h, "allow_hosts 10.0.0.7:8080, allowed_domains *.shop.test")
	}
	_, last := joinWithAnswers(t, pg.DSN, "last")
	holds(last, "allow_hosts 10.0.0.7:8080, allowed_domains *.shop.test")

	pg.Freeze(t)
	if err := keep(one, policy.KeyAllowHosts, "10.0.0.8"); protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("keeping while the database is silent: %v", err)
	}
	if got := first.entries(); strings.Contains(got, "10.0.0.8") {
		t.Errorf("what was not kept is held: %q", got)
	}
	pg.Thaw(t)
}

// Many answers at all nodes at once, while nodes come and go, so that each reads all the time: what is held
// somewhere stays so, and each node ends up with all of it.
func TestAdditionsAtAllNodesAtOnce(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	const each = 60
	var held []*additionsRecorder
	var keeping, looking sync.WaitGroup
	over := make(chan struct{})
	for i, name := range []string{"one", "two", "three"} {
		a, h := joinWithAnswers(t, pg.DSN, name)
		held = append(held, h)
		keeping.Go(func() {
			for k := range each {
				if err := a.KeepSetting(t.Context(), policy.Setting{Key: policy.KeyAllowHosts, Add: []string{fmt.Sprintf("10.0.%d.%d", i, k)}}); err != nil {
					t.Error(err)
				}
			}
		})
		looking.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if err := a.n.refresh(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	keeping.Wait()
	close(over)
	looking.Wait()
	for _, h := range held {
		await(t, "all of them at each node", func() bool { return strings.Count(h.entries(), "10.0.") == each*len(held) })
		h.mu.Lock()
		if len(h.lost) > 0 {
			t.Errorf("held, and then not: %v", h.lost)
		}
		h.mu.Unlock()
	}
}
