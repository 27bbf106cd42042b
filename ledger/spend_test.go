package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

const (
	spenders = 100 // agents
	wealth   = 10  // credits of each
)

// spend is the body of a process that the tests below start: every agent asks
// for searches (2 credits), of which every third is refused, until it has
// nothing left; each charge that is kept is a line on standard output. It
// reports whether this process is one.
func spend() bool {
	dsn := os.Getenv("LEDGER_TEST_SPEND")
	if dsn == "" {
		return false
	}
	cfg := priced()
	cfg.DSN, cfg.Initial, cfg.Audit = dsn, wealth, false
	ctx := context.Background()
	l, err := Open(ctx, cfg, "", nil, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for n := range spenders {
		agent := fmt.Sprintf("agent%d", n)
		wg.Go(func() {
			for i := 1; ; i++ {
				unsettled, _ := l.Waiting()
				charge, err := l.Begin(ctx, agent, "web_search", PerSearch)
				if protocol.CodeOf(err) == protocol.CreditsExhausted {
					if unsettled == 0 {
						return
					}
					// What was refused is on its way back: the machine is busy.
					for ; unsettled > 0; unsettled, _ = l.Waiting() {
						time.Sleep(5 * time.Millisecond)
					}
					continue
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				if i%3 == 0 {
					charge.Settle(ctx, Refused)
					continue
				}
				charge.Settle(ctx, Worked)
				fmt.Println(agent)
			}
		})
	}
	wg.Wait()
	l.Close(ctx)
	return true
}

// spender starts such a process; kept counts its lines as they come.
func spender(t *testing.T, dsn string) (cmd *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LEDGER_TEST_SPEND="+dsn)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// 100 agents with 10 credits each spend them at once in two processes. Each
// buys exactly five searches, and nobody a sixth.
func TestTwoDaemonsSpendEachCreditOnce(t *testing.T) {
	on(t, func(t *testing.T, dsn string) {
		bought := map[string]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 2 {
			cmd, lines := spender(t, dsn)
			wg.Go(func() {
				for lines.Scan() {
					mu.Lock()
					bought[lines.Text()]++
					mu.Unlock()
				}
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		l := reopened(t, dsn)
		for n := range spenders {
			agent := fmt.Sprintf("agent%d", n)
			left, err := l.Balance(t.Context(), agent)
			if err != nil || left != 0 || bought[agent] != wealth/2 {
				t.Errorf("%s bought %d searches and has %d credits left (%v), want %d and 0", agent, bought[agent], left, err, wealth/2)
			}
		}
	})
}

// One of the two processes is killed in the middle. What it had taken stays
// taken: an agent's balance and its charges add up to what it had, and there
// is a charge for everything that was bought.
func TestAKilledDaemonLosesNoCharge(t *testing.T) {
	on(t, func(t *testing.T, dsn string) {
		victim, lines := spender(t, dsn)
		bought := map[string]int{}
		for i := 0; i < 60 && lines.Scan(); i++ {
			bought[lines.Text()]++
		}
		survivor, more := spender(t, dsn)
		if err := victim.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it had said before it died
			bought[lines.Text()]++
		}
		for more.Scan() {
			bought[more.Text()]++
		}
		if err := survivor.Wait(); err != nil {
			t.Error(err)
		}
		l := reopened(t, dsn)
		stuck := 0
		for n := range spenders {
			agent := fmt.Sprintf("agent%d", n)
			var charged, taken, open int
			err := l.db.QueryRow(l.dialect.rebind("SELECT count(*), COALESCE(sum(cost), 0), COALESCE(sum(CASE WHEN state = 'taken' THEN 1 ELSE 0 END), 0) FROM charges WHERE agent = ? AND state <> 'refunded'"), agent).
				Scan(&charged, &taken, &open)
			if err != nil {
				t.Fatal(err)
			}
			left, err := l.Balance(t.Context(), agent)
			if err != nil || left+taken != wealth || left != 0 {
				t.Errorf("%s has %d left (%v) and %d in charges, which is not the %d that it had", agent, left, err, taken, wealth)
			}
			if charged < bought[agent] {
				t.Errorf("%s was told of %d searches and charged for %d", agent, bought[agent], charged)
			}
			stuck += open
		}
		t.Logf("charges that the killed process left unsettled: %d", stuck)
	})
}

func reopened(t *testing.T, dsn string) *Ledger {
	cfg := priced()
	cfg.DSN, cfg.Audit = dsn, false
	l, err := Open(t.Context(), cfg, "", nil, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

// asError is err as the protocol's error with this code.
func asError(t *testing.T, err error, code protocol.Code) *protocol.Error {
	t.Helper()
	e := (*protocol.Error)(nil)
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("%v, want %s", err, code)
	}
	return e
}

func BenchmarkBeginAndSettle(b *testing.B) {
	bench := func(b *testing.B, dsn string) {
		cfg := priced()
		cfg.DSN, cfg.Initial = dsn, 1<<40
		l := openTest(b, cfg, nil)
		for b.Loop() {
			charge, err := l.Begin(b.Context(), "a", "web_fetch", PerFetch)
			if err != nil {
				b.Fatal(err)
			}
			charge.Settle(b.Context(), Worked)
		}
	}
	b.Run("sqlite", func(b *testing.B) { bench(b, filepath.Join(b.TempDir(), "ledger.db")) })
	b.Run("postgres", func(b *testing.B) { bench(b, testpostgres.Start(b).DSN) })
}
