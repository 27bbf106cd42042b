package ledger

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/protocol"
)

func TestMain(m *testing.M) {
	if spend() {
		return
	}
	goleak.VerifyTestMain(m)
}

// priced is a ledger with credits on and everything at its default.
func priced() Config {
	return Config{Credits: true, Initial: 5, Costs: Costs{WebSearch: 2, WebFetch: 1, HTTPRequest: 1, Render: 1}, Audit: true, Keep: 90 * 24 * time.Hour}
}

// openTest opens a ledger in a directory of the test's own.
func openTest(t testing.TB, cfg Config, initial map[string]int) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), cfg, t.TempDir(), initial, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// on runs a test on both databases.
func on(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "ledger.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, testpostgres.Start(t).DSN) })
}

// A search costs 2 and is kept; a refused fetch costs nothing; one that
// Chromium rendered costs one more than one that it did not.
func TestACallIsChargedForWhatItDid(t *testing.T) {
	on(t, func(t *testing.T, dsn string) {
		cfg := priced()
		cfg.DSN = dsn
		l := openTest(t, cfg, map[string]int{"rich": 1000})
		for _, step := range []struct {
			command string
			price   Price
			how     Outcome
			cost    int
			left    int
		}{
			{"web_search", PerSearch, Worked, 2, 3},
			{"web_fetch", PerFetch, Refused, 0, 3},
			{"web_fetch", PerFetch, Worked, 1, 2},
			{"web_fetch", PerFetch, Rendered, 2, 0},
			{"click", Free, Worked, 0, 0},
		} {
			charge, err := l.Begin(t.Context(), "poor", step.command, step.price)
			if err != nil {
				t.Fatalf("%s: %v", step.command, err)
			}
			if cost := charge.Settle(t.Context(), step.how); cost != step.cost {
				t.Errorf("%s cost %d, want %d", step.command, cost, step.cost)
			}
			charge.Settle(t.Context(), Refused) // settled already: gives nothing back
			if left, err := l.Balance(t.Context(), "poor"); err != nil || left != step.left {
				t.Errorf("after %s: %d credits left (%v), want %d", step.command, left, err, step.left)
			}
		}

		_, err := l.Begin(t.Context(), "poor", "http_request", PerRequest)
		want := map[string]any{"balance": 0, "cost": 1}
		if e := asError(t, err, protocol.CreditsExhausted); !cmp.Equal(e.Details, want) {
			t.Error(cmp.Diff(want, e.Details))
		}
		if _, err := l.AddCredits(t.Context(), "poor", -1); err == nil {
			t.Error("a credit was taken that poor does not have")
		}
		if left, err := l.AddCredits(t.Context(), "poor", 7); err != nil || left != 7 {
			t.Errorf("after 7 more: %d, %v", left, err)
		}
		if err := l.SetBalance(t.Context(), "new", 1); err != nil {
			t.Error(err)
		}
		accounts, err := l.Accounts(t.Context())
		if diff := cmp.Diff([]Account{{"new", 1}, {"poor", 7}, {"rich", 1000}}, accounts); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
}

// Three calls in an hour: the fourth waits until the first is an hour old. One
// that was refused does not count.
func TestCallsPerHour(t *testing.T) {
	on(t, func(t *testing.T, dsn string) {
		cfg := priced()
		cfg.DSN, cfg.Credits, cfg.PerHour = dsn, false, 3
		l := openTest(t, cfg, nil)
		clock := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
		l.now = func() time.Time { return clock }
		for i := range 3 {
			charge, err := l.Begin(t.Context(), "a", "web_search", PerSearch)
			if err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			charge.Settle(t.Context(), Worked)
			refused, err := l.Begin(t.Context(), "b", "web_search", PerSearch)
			if err != nil {
				t.Fatal(err)
			}
			refused.Settle(t.Context(), Refused)
			clock = clock.Add(10 * time.Minute)
		}
		_, err := l.Begin(t.Context(), "a", "web_fetch", PerFetch)
		want := map[string]any{"retry_after_s": 30*60 + 1, "limit": 3}
		if e := asError(t, err, protocol.RateLimited); !cmp.Equal(e.Details, want) {
			t.Error(cmp.Diff(want, e.Details))
		}
		for range 3 {
			if _, err := l.Begin(t.Context(), "b", "web_fetch", PerFetch); err != nil {
				t.Errorf("another agent's calls counted: %v", err)
			}
		}
		clock = clock.Add(30*time.Minute + time.Second)
		if _, err := l.Begin(t.Context(), "a", "web_fetch", PerFetch); err != nil {
			t.Errorf("an hour after the first: %v", err)
		}
		if _, err := l.Begin(t.Context(), "a", "web_fetch", PerFetch); err == nil {
			t.Error("a fifth call within an hour passed")
		}
	})
}

func TestTheTrailTellsWhoDidWhatAndKeepsNoSecret(t *testing.T) {
	on(t, func(t *testing.T, dsn string) {
		cfg := priced()
		cfg.DSN, cfg.Credits = dsn, false
		cfg.Keep = 50 * 365 * 24 * time.Hour // else the first hour's pruning may take the entries meanwhile
		l := openTest(t, cfg, nil)
		at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		l.Record(Entry{Time: at, Agent: "a", Session: "s_1", Command: "open", URL: "https://u:hunter2@shop.example/cart?key=hunter2&x#hunter2", Status: 200, Source: "chromium", Verdict: "ok", MS: 12})
		l.Record(Entry{Time: at.Add(time.Second), Agent: "b", Command: "web_fetch", URL: "http://10.0.0.1/", Verdict: "policy_denied:ip_private"})
		l.Record(Entry{Time: at.Add(2 * time.Second), Agent: "b", Command: "web_search", Verdict: "ok", Source: "brave\x00\xff", Bytes: 900, Cost: 2})
		l.Flush(t.Context())
		all, err := l.Trail(t.Context(), Query{})
		want := []Entry{
			{Time: at, Agent: "a", Session: "s_1", Command: "open", URL: "https://shop.example/cart?key=…&x", Status: 200, Source: "chromium", Verdict: "ok", MS: 12},
			{Time: at.Add(time.Second), Agent: "b", Command: "web_fetch", URL: "http://10.0.0.1/", Verdict: "policy_denied:ip_private"},
			{Time: at.Add(2 * time.Second), Agent: "b", Command: "web_search", Verdict: "ok", Source: "brave\ufffd\ufffd", Bytes: 900, Cost: 2},
		}
		if diff := cmp.Diff(want, all); diff != "" || err != nil {
			t.Error(err, diff)
		}
		for _, c := range []struct {
			q    Query
			want []Entry
		}{
			{Query{Agent: "b", Verdict: "policy_denied"}, want[1:2]},
			{Query{Command: "web_search"}, want[2:]},
			{Query{Since: at.Add(time.Second)}, want[1:]},
			{Query{Limit: 1}, want[2:]},
			{Query{Agent: "nobody"}, nil},
		} {
			if got, err := l.Trail(t.Context(), c.q); err != nil || !cmp.Equal(got, c.want, cmpopts.EquateEmpty()) {
				t.Errorf("%+v: %v %s", c.q, err, cmp.Diff(c.want, got, cmpopts.EquateEmpty()))
			}
		}
	})
}

// What the trail holds is removed when it is older than ledger.keep; balances stay.
func TestOldEntriesAreRemoved(t *testing.T) {
	l := openTest(t, priced(), nil)
	old := l.now().Add(-l.cfg.Keep - time.Minute)
	l.Record(Entry{Time: old, Agent: "a", Command: "open", Verdict: "ok"})
	l.Record(Entry{Agent: "a", Command: "click", Verdict: "ok"})
	l.Flush(t.Context())
	l.prune(t.Context())
	left, err := l.Trail(t.Context(), Query{})
	if err != nil || len(left) != 1 || left[0].Command != "click" {
		t.Errorf("left: %+v, %v", left, err)
	}
}

// PostgreSQL closes all connections and goes on, as one that is restarted does: nothing is refused for that.
func TestClosedConnectionsRefuseNothing(t *testing.T) {
	cfg := priced()
	cfg.DSN = testpostgres.Start(t).DSN
	l := openTest(t, cfg, nil)
	l.Record(Entry{Agent: "a", Command: "open", Verdict: "ok"})
	l.Flush(t.Context())
	other, err := sql.Open(postgres.Driver, cfg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"a call", func() error {
			charge, err := l.Begin(t.Context(), "a", "web_search", PerSearch)
			if err == nil {
				charge.Settle(t.Context(), Refused)
			}
			return err
		}},
		{"a balance", func() error { _, err := l.Balance(t.Context(), "a"); return err }},
		{"the trail", func() error { _, err := l.Trail(t.Context(), Query{}); return err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var open [2]*sql.Conn // as many as the pool keeps
			for i := range open {
				if open[i], err = l.conn(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range open {
				c.Close()
			}
			if _, err := other.Exec("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
				t.Fatal(err)
			}
			for range open {
				if err := c.do(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The database goes away and comes back: nothing is charged meanwhile, a call
// that was under way is settled afterwards, and the trail has no hole.
func TestTheDatabaseIsGoneAndBack(t *testing.T) {
	server := testpostgres.Start(t)
	cfg := priced()
	cfg.DSN = server.DSN
	l := openTest(t, cfg, nil)
	charge, err := l.Begin(t.Context(), "a", "web_search", PerSearch)
	if err != nil {
		t.Fatal(err)
	}

	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = l.Begin(ctx, "a", "web_search", PerSearch)
	asError(t, err, protocol.LedgerUnavailable)
	charge.Settle(t.Context(), Refused)
	l.Record(Entry{Agent: "a", Command: "open", Verdict: "ok"})

	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		l.Flush(t.Context())
	}()
	select {
	case <-flushed:
		t.Error("Flush returned without a database")
	case <-time.After(300 * time.Millisecond): // a refused connection is told at once
	}
	server.Run(t)
	<-flushed
	if left, err := l.Balance(t.Context(), "a"); err != nil || left != 5 {
		t.Errorf("%d credits left (%v), want the 5 that a had: its call was refused", left, err)
	}
	if trail, err := l.Trail(t.Context(), Query{}); err != nil || len(trail) != 1 {
		t.Errorf("trail: %+v, %v", trail, err)
	}
}

func TestADatabaseThatCannotBeUsedStopsTheStart(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	for name, dsn := range map[string]string{
		"a directory that is not there": filepath.Join(t.TempDir(), "no", "ledger.db"),
		"a server that is not there":    "postgres://u:hunter2@127.0.0.1:1/x",
	} {
		cfg := priced()
		cfg.DSN = dsn
		_, err := Open(t.Context(), cfg, "", nil, log)
		if err == nil {
			t.Errorf("%s: opened", name)
			continue
		}
		if !contains(err.Error(), "ledger.dsn") || contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.Context(), priced(), "", nil, log); err == nil {
		t.Error("credits were to be counted nowhere, and that started")
	}
}

// A ledger that has nothing to record allows every call; so does one that has an audit
// trail to record and no place for it, which the log says.
func TestLedgerSwitchedOff(t *testing.T) {
	var said strings.Builder
	keepNothing(t, Config{Keep: time.Hour}, slog.New(slog.NewTextHandler(&said, nil)))
	if said.Len() > 0 {
		t.Errorf("nothing was to be kept: %s", said.String())
	}
	keepNothing(t, Config{Keep: time.Hour, Audit: true}, slog.New(slog.NewTextHandler(&said, nil)))
	if !contains(said.String(), "no trail is kept") {
		t.Errorf("a trail that has nowhere to be: %q", said.String())
	}
}

func keepNothing(t *testing.T, cfg Config, log *slog.Logger) {
	t.Helper()
	l, err := Open(t.Context(), cfg, "", nil, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(t.Context(), "a", "web_search", PerSearch); err != nil {
		t.Errorf("a ledger that keeps nothing refused a call: %v", err)
	}
	l.Record(Entry{Agent: "a"})
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBadValues(t *testing.T) {
	for key, c := range map[string]Config{
		"ledger.initial":          {Initial: -1, Keep: time.Hour},
		"ledger.costs.web_search": {Costs: Costs{WebSearch: -2}, Keep: time.Hour},
		"ledger.keep":             {Keep: time.Minute},
		"ledger.dsn":              {DSN: "mysql://u:hunter2@h/x", Keep: time.Hour},
	} {
		if err := c.Check(); err == nil || !contains(err.Error(), key) || contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", key, err)
		}
	}
}
