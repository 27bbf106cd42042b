package e2e_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
)

// What a fleet costs; docs/fleet.md has the figures. Each compares in turns, so that what else the machine
// does is in both.

// benchFleet starts so many nodes, without the race detector.
func benchFleet(b *testing.B, count int) (pg *testpostgres.Server, nodes []*testdaemon.Daemon) {
	b.Helper()
	pg = testpostgres.Start(b)
	for i := range count {
		nodes = append(nodes, benchDaemon(b, map[string]string{
			"BROWSERD_FLEET__DSN": pg.DSN, "BROWSERD_FLEET__NAME": fmt.Sprint("n", i), "BROWSERD_FLEET__LISTEN": "127.0.0.1:0", "BROWSERD_STATE__KEY": fleetKey,
		}))
	}
	return pg, nodes
}

func benchDaemon(b *testing.B, env map[string]string) *testdaemon.Daemon {
	b.Helper()
	bin, err := testdaemon.PlainBinary()
	if err != nil {
		b.Fatal(err)
	}
	return testdaemon.Start(b, testdaemon.Options{Binary: bin, Alone: true, Env: env})
}

// medians reports the medians of what was measured.
func medians(b *testing.B, names []string, took [][]time.Duration) {
	for i, name := range names {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Microseconds()), name+"-µs")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkForwarded compares a command at the node of its session with one that another node
// passes on to it.
func BenchmarkForwarded(b *testing.B) {
	_, nodes := benchFleet(b, 2)
	w := newPageServer(b)
	w.serve("/", page("one", "<h1>One</h1>"), "")
	first := newAgent(b, nodes[0])
	first.do("session_open", params{"name": "work"})
	first.open(w.URL + "/")
	var took [2][]time.Duration
	agents := []*agent{first, newAgent(b, nodes[1])}
	for b.Loop() { // in turns, so that what else the machine does is in both
		for i, a := range agents {
			began := time.Now()
			a.do("eval", params{"session": "work", "expression": "1"})
			took[i] = append(took[i], time.Since(began))
		}
	}
	medians(b, []string{"local", "forwarded"}, took[:])
}

// BenchmarkFleetOpen compares session_open and the first page in a daemon that serves alone, at a node, and
// through another node.
func BenchmarkFleetOpen(b *testing.B) {
	_, nodes := benchFleet(b, 2)
	w := newPageServer(b)
	w.serve("/", page("one", "<h1>One</h1>"), "")
	var agents []*agent
	for _, d := range []*testdaemon.Daemon{benchDaemon(b, nil), nodes[0], nodes[1]} {
		agents = append(agents, newAgent(b, d))
	}
	took := make([][]time.Duration, len(agents))
	n := 0
	for b.Loop() {
		n++
		for i := range agents {
			i := (i + n) % len(agents)
			a, name := agents[i], fmt.Sprint("s", i, "-", n)
			time.Sleep(300 * time.Millisecond) // each daemon makes the next context ahead
			began := time.Now()
			a.do("session_open", params{"name": name})
			a.do("open", params{"session": name, "url": w.URL + "/"})
			took[i] = append(took[i], time.Since(began))
			a.do("session_close", params{"session": name})
		}
	}
	medians(b, []string{"alone", "node", "through"}, took)
}

// BenchmarkCheckpoints compares a step, a navigation to another page whose cookie and local storage change, in a
// daemon that serves alone and at a node, which writes what the session is continued from behind it.
func BenchmarkCheckpoints(b *testing.B) {
	_, nodes := benchFleet(b, 1)
	w := newPageServer(b)
	w.serve("/", page("one", `<h1>One</h1><p id=said></p><script>
		const n = Number(localStorage.n || 0) + 1; localStorage.n = n; document.cookie = "n=" + n; said.textContent = "visit " + n;
		localStorage.kept ??= "x".repeat(20000)</script>`), "")
	var agents []*agent
	for _, d := range []*testdaemon.Daemon{benchDaemon(b, nil), nodes[0]} {
		a := newAgent(b, d)
		a.open(w.URL + "/")
		agents = append(agents, a)
	}
	took := make([][]time.Duration, len(agents))
	n := 0
	for b.Loop() {
		n++
		for i := range agents {
			i := (i + n) % len(agents)
			began := time.Now()
			agents[i].do("open", params{"url": fmt.Sprint(w.URL, "/?", n)})
			agents[i].do("snapshot", nil)
			took[i] = append(took[i], time.Since(began))
		}
	}
	medians(b, []string{"alone", "node"}, took)
}

// BenchmarkIdleStatements counts what three nodes with a session each ask the database while nobody uses them,
// for a minute.
func BenchmarkIdleStatements(b *testing.B) {
	pg, nodes := benchFleet(b, 3)
	w := newPageServer(b)
	w.serve("/", page("one", "<h1>One</h1>"), "")
	for i, d := range nodes {
		a := newAgent(b, d)
		a.do("session_open", params{"name": fmt.Sprint("s", i)})
		a.open(w.URL + "/")
	}
	db, err := sql.Open("pgx", pg.DSN)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	statements := func() (n float64) {
		b.Helper() // each statement of an idle node is a transaction of its own
		if err := db.QueryRow("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()").Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	time.Sleep(5 * time.Second) // checkpoints of the last commands, and what is counted late
	for b.Loop() {
		before, began := statements(), time.Now()
		time.Sleep(time.Minute)
		n := statements() - before - 1
		b.ReportMetric(n/time.Since(began).Seconds()/float64(len(nodes)), "statements/s/node")
	}
	b.ReportMetric(0, "ns/op")
}
