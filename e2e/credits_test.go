package e2e_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/ledger"
	"github.com/browserd/browserd/protocol"
)

// The economy of these tests: spenders begin with credits each, of which their
// calls would take more.
const (
	spenders = 100
	credits  = 7
)

// spend is one call of an agent's, and what became of it.
type spend struct {
	id      string // of the request that the site sees
	command string
	params  params
	cost    int // where it is answered

	code     protocol.Code // "": answered with a result
	answered bool
	dialled  bool // something may have reached the daemon
}

// economy is a site that notes which calls reached it, and the agents who call it.
type economy struct {
	t      *testing.T
	site   string
	config string

	mu      sync.Mutex
	seen    map[string]bool
	calls   map[string][]*spend // by agent
	arrived chan string         // ids of the calls that the site holds
	release chan struct{}       // closed: it holds none any more
}

func newEconomy(t *testing.T) *economy {
	e := &economy{t: t, seen: map[string]bool{}, calls: map[string][]*spend{}, arrived: make(chan string, spenders), release: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.TrimPrefix(r.URL.Path, "/")
		e.mu.Lock()
		e.seen[id] = true
		e.mu.Unlock()
		if strings.HasPrefix(id, "held") {
			e.arrived <- id
			select {
			case <-e.release:
			case <-r.Context().Done():
			}
		}
		io.WriteString(w, "paid for")
	}))
	t.Cleanup(s.Close)
	e.site = s.URL
	var b strings.Builder
	fmt.Fprintf(&b, "ledger:\n  credits: true\n  costs:\n    web_fetch: 2\nauth:\n  tokens:\n")
	for i := range spenders {
		fmt.Fprintf(&b, "    - {agent: %s, token: %s, credits: %d}\n", spender(i), secret(i), credits)
	}
	e.config = filepath.Join(t.TempDir(), "browserd.yaml")
	if err := os.WriteFile(e.config, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return e
}

func spender(i int) string { return fmt.Sprintf("spender-%03d", i) }
func secret(i int) string  { return fmt.Sprintf("secret-of-spender-%03d", i) }

// daemon starts a daemon with its ledger at dsn; "" means its own file.
func (e *economy) daemon(dsn, home string) *testdaemon.Daemon {
	return testdaemon.Start(e.t, testdaemon.Options{Args: []string{"--config", e.config}, Home: home, Env: map[string]string{
		"BROWSERD_TOKEN": "", "BROWSERD_BROWSER__DISABLED": "true", "BROWSERD_LEDGER__DSN": dsn,
	}})
}

// call makes one call through a daemon's HTTP door and notes what became of it.
func (e *economy) call(i int, d *testdaemon.Daemon, s *spend) {
	e.mu.Lock()
	e.calls[spender(i)] = append(e.calls[spender(i)], s)
	e.mu.Unlock()
	body, _ := json.Marshal(s.params)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL()+"/v1/"+s.command, bytes.NewReader(body))
	if err != nil {
		e.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+secret(i))
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	s.dialled = !errors.Is(err, syscall.ECONNREFUSED)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return
	}
	var said struct{ Error *protocol.ErrorData }
	if err := json.Unmarshal(answer, &said); err != nil {
		return // cut off in the middle
	}
	s.answered = true
	if said.Error != nil {
		s.code = said.Error.Code
	}
}

// errand is the n-th call that spender i makes through one daemon: mostly paid
// for, some refused by the policy, some wrong in themselves.
func (e *economy) errand(i, n int, through string) *spend {
	id := fmt.Sprintf("%s-%d-%d", through, i, n)
	url := e.site + "/" + id
	switch n % 5 {
	case 1:
		return &spend{id: id, command: "web_fetch", params: params{"url": url}, cost: 2}
	case 2:
		return &spend{id: id, command: "http_request", params: params{"url": "http://169.254.169.254/" + id}}
	case 3:
		return &spend{id: id, command: "http_request", params: params{"url": url, "headers": params{"bad name": "x"}}}
	}
	return &spend{id: id, command: "http_request", params: params{"url": url, "method": "POST", "body": params{"n": n}}, cost: 1}
}

// errands has every agent make its calls through all daemons at the same time.
func (e *economy) errands(from, to int, through map[string]*testdaemon.Daemon) *sync.WaitGroup {
	var running sync.WaitGroup
	for name, d := range through {
		for i := range spenders {
			running.Go(func() {
				for n := from; n < to; n++ {
					e.call(i, d, e.errand(i, n, name))
				}
			})
		}
	}
	return &running
}

// hold has some agents make a call through d that the site does not answer, and
// returns when all of them have reached it: they are charged, and d is at work.
func (e *economy) hold(d *testdaemon.Daemon, agents int) *sync.WaitGroup {
	var running sync.WaitGroup
	for i := range agents {
		id := fmt.Sprintf("held-%d", i)
		running.Go(func() {
			e.call(i, d, &spend{id: id, command: "http_request", params: params{"url": e.site + "/" + id}, cost: 1})
		})
	}
	for range agents {
		select {
		case <-e.arrived:
		case <-time.After(20 * time.Second):
			e.t.Fatal("the held calls did not reach the site")
		}
	}
	return &running
}

// check compares what agents have left, and what the ledger says was taken from
// them, with what became of their calls.
func (e *economy) check(d *testdaemon.Daemon, driver, dsn string) {
	e.t.Helper()
	out, err := d.Command("credits", "--json", "--config", e.config)
	if err != nil {
		e.t.Fatal(err)
	}
	var accounts []ledger.Account
	if err := json.Unmarshal([]byte(out), &accounts); err != nil {
		e.t.Fatal(err)
	}
	taken := charges(e.t, driver, dsn)
	if len(accounts) != spenders {
		e.t.Errorf("%d accounts, want %d", len(accounts), spenders)
	}
	var paid, refused, lost, exhausted int
	for _, a := range accounts {
		least, most := 0, 0
		for _, s := range e.calls[a.Agent] {
			switch {
			case s.answered && s.code == "":
				paid++
				least, most = least+s.cost, most+s.cost
			case s.answered:
				refused++
				if s.code == protocol.CreditsExhausted {
					exhausted++
				}
				if e.seen[s.id] {
					e.t.Errorf("%s: %s was refused with %s, and reached the site", a.Agent, s.id, s.code)
				}
			case e.seen[s.id]: // its work had begun: it was charged before
				lost++
				least, most = least+s.cost, most+s.cost
			case s.dialled: // it may have been taken, and given back or not
				lost++
				most += max(s.cost, 1)
			}
		}
		if spent := credits - a.Balance; spent < least || spent > most || spent != taken[a.Agent] || a.Balance < 0 {
			e.t.Errorf("%s has %d of %d credits left: its calls took %d to %d, and the ledger says %d", a.Agent, a.Balance, credits, least, most, taken[a.Agent])
		}
	}
	e.t.Logf("%d calls answered and paid, %d refused (%d for want of credits), %d lost with their daemon", paid, refused, exhausted, lost)
	if paid < spenders || exhausted == 0 || refused == exhausted {
		e.t.Error("the calls did not meet everything that they should")
	}
}

// charges is what the ledger says was taken from each agent.
func charges(t *testing.T, driver, dsn string) map[string]int {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT agent, SUM(cost) FROM charges WHERE state <> 'refunded' GROUP BY agent")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	sums := map[string]int{}
	for rows.Next() {
		var agent string
		var sum int
		if err := rows.Scan(&agent, &sum); err != nil {
			t.Fatal(err)
		}
		sums[agent] = sum
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return sums
}

// A hundred agents spend at once through two daemons that share PostgreSQL, and
// one of the daemons is killed while it works: what was answered is charged
// once, what was refused is not, and nobody spends more than it had.
func TestCreditsOfTwoDaemonsOnPostgres(t *testing.T) {
	t.Parallel()
	postgres := testpostgres.Start(t)
	e := newEconomy(t)
	stays, dies := e.daemon(postgres.DSN, ""), e.daemon(postgres.DSN, "")
	held := e.hold(dies, 20)
	running := e.errands(0, 6, map[string]*testdaemon.Daemon{"stays": stays, "dies": dies})
	e.until(spenders)
	dies.Kill()
	close(e.release)
	held.Wait()
	running.Wait()
	e.errands(6, 10, map[string]*testdaemon.Daemon{"stays": stays}).Wait()
	e.check(stays, "pgx", postgres.DSN)
}

// The same with one daemon and its own file: it is killed, and started again.
func TestCreditsOfOneDaemonOnSQLite(t *testing.T) {
	aboutOneProcess(t, "a ledger in a file")
	t.Parallel()
	e := newEconomy(t)
	d := e.daemon("", "")
	held := e.hold(d, 20)
	running := e.errands(0, 4, map[string]*testdaemon.Daemon{"first": d})
	e.until(spenders / 2)
	d.Kill()
	close(e.release)
	held.Wait()
	running.Wait()
	d = e.daemon("", d.Home)
	e.errands(0, 10, map[string]*testdaemon.Daemon{"second": d}).Wait()
	e.check(d, "sqlite", filepath.Join(d.Home, "state", "browserd", "ledger.db"))
}

// until waits until so many calls have reached the site.
func (e *economy) until(n int) {
	e.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		e.mu.Lock()
		seen := len(e.seen)
		e.mu.Unlock()
		if seen >= n {
			return
		}
	}
	e.t.Fatalf("fewer than %d calls reached the site", n)
}
