package e2e_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
)

// More sessions than one machine has memory for: browserd, PostgreSQL and the connections are real, and
// internal/cdpreplay stands in for Chromium with what a real one answered, as late as it did.

// loop is what an agent does over and over: it opens a page, reads it, and clicks.
var loop = []string{"open", "snapshot", "click"}

// stoodIn is a program that stands in for Chromium, and what it was recorded with.
type stoodIn struct {
	program, dir, url string
	took              timesOf       // with the real one
	used              time.Duration // of a processor, by the real one for a command in the mean
}

// timesOf is how long commands took. Any goroutine may add to it.
type timesOf struct {
	mu sync.Mutex
	of map[string][]time.Duration
}

func (l *timesOf) add(command string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string][]time.Duration{}
	}
	l.of[command] = append(l.of[command], took)
}

// at is the time that so many of a hundred did not need longer than, in ms.
func (l *timesOf) at(command string, percent int) float64 {
	list := l.of[command]
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return float64(list[(len(list)-1)*percent/100].Microseconds()) / 1000
}

// standIn builds cdpreplay, and records what a real Chromium answers to so many sessions that go so often through
// the loop, one after the other.
func standIn(t testing.TB, sessions, loops int) *stoodIn {
	t.Helper()
	dir, err := os.MkdirTemp("", "browserd-replay-")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o777) // Chromium's user writes there
	}
	s := &stoodIn{program: filepath.Join(dir, "cdpreplay"), dir: dir}
	root, err2 := testdaemon.Root()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	build := exec.Command("go", "build", "-o", s.program, "./internal/cdpreplay")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := newPageServer(t)
	w.serve("/", page("Count", `<h1>Count</h1><button onclick="this.textContent = Number(this.textContent) + 1">0</button>`), "")
	s.url = w.URL + "/"
	d := testdaemon.Start(t, crowdNode(t, testpostgres.Start(t), s, "real", "--cdp-record="+s.recording()+",--cdp-chromium="+realChromium(t)))
	for i := range sessions {
		a := newAgent(t, d)
		name := fmt.Sprint("s", i)
		a.do("session_open", params{"name": name})
		before := chromiumCPU(d)
		for range loops {
			for _, command := range loop {
				time.Sleep(time.Second) // an agent thinks; what comes late is recorded too
				s.took.add(command, a.step(t, s, name, command))
			}
		}
		s.used += (chromiumCPU(d) - before) / time.Duration(sessions*loops*len(loop))
		a.do("session_close", params{"session": name})
	}
	d.Stop()
	return s
}

// chromiumCPU is how much of a processor the daemon's Chromium has used so far, with what records it.
func chromiumCPU(d *testdaemon.Daemon) time.Duration {
	return testdaemon.CPUBelow(d.PID) - testdaemon.Process{PID: d.PID}.CPU()
}

func (s *stoodIn) recording() string { return filepath.Join(s.dir, "recording") }

// step sends a command of the loop, and says how long the answer took; it is as in the real page.
func (a *agent) step(t testing.TB, s *stoodIn, session, command string) time.Duration {
	t.Helper()
	p := params{"session": session}
	switch command {
	case "open":
		p["url"] = s.url
	case "click":
		p["ref"] = "role=button"
	}
	began := time.Now()
	r, err := a.try(command, p)
	took := time.Since(began)
	if err == nil {
		err = s.right(command, r)
	}
	if err != nil {
		t.Errorf("%s of %s: %v", command, session, err)
	}
	return took
}

// right says what is wrong with a result.
func (s *stoodIn) right(command string, r result) error {
	text, want := "", `[button] "0"`
	if r.Snapshot != nil {
		text = r.Snapshot.Text
	}
	if command == "click" {
		if want = `[button focused] "1"`; r.Delta != nil {
			text = r.Delta.Text
		}
	}
	if !strings.Contains(text, want) || r.Page.URL != s.url {
		return fmt.Errorf("at %s it says %q, and not %q", r.Page.URL, text, want)
	}
	return nil
}

// crowdNode is a node whose Chromium is the stand-in.
func crowdNode(t testing.TB, pg *testpostgres.Server, s *stoodIn, name, args string) testdaemon.Options {
	bin, err := testdaemon.PlainBinary()
	if err != nil {
		t.Fatal(err)
	}
	return testdaemon.Options{Binary: bin, Alone: true, Env: map[string]string{
		"BROWSERD_FLEET__DSN": pg.DSN, "BROWSERD_FLEET__NAME": name, "BROWSERD_FLEET__LISTEN": "127.0.0.1:0", "BROWSERD_STATE__KEY": fleetKey,
		"BROWSERD_SESSION__MAX_PER_AGENT": "100000", "BROWSERD_BROWSER__PATH": s.program, "BROWSERD_BROWSER__ARGS": args,
		"BROWSERD_BROWSER__JAIL": "off", // the stand-in goes nowhere
	}}
}

func realChromium(t testing.TB) string {
	t.Helper()
	return foundChromium(t).Path
}

// replay is what has a node use the recording.
func (s *stoodIn) replay() string { return "--cdp-replay=" + s.recording() }

// asked says what the stand-in was asked for that was never recorded: on a machine that is late browserd gives up
// some waits, and says so to the page. Whether a command was answered rightly does not hang on it (right).
func (s *stoodIn) asked(t testing.TB) {
	t.Helper()
	if missing, err := os.ReadFile(s.recording() + ".missing"); err == nil {
		t.Logf("never recorded:\n%s", missing)
	}
}

// What stands in for Chromium says what Chromium said, to as many sessions as there are, as often as they ask.
func TestRecordedChromium(t *testing.T) {
	aboutOneProcess(t, "what stands in for Chromium")
	t.Parallel()
	s := standIn(t, 2, 3)
	d := testdaemon.Start(t, crowdNode(t, testpostgres.Start(t), s, "one", s.replay()))
	var all sync.WaitGroup
	for i := range 5 {
		a := newAgent(t, d)
		all.Go(func() {
			name := fmt.Sprint("s", i)
			if _, err := a.try("session_open", params{"name": name}); err != nil {
				t.Error(err)
				return
			}
			for range 6 {
				for _, command := range loop {
					a.step(t, s, name, command)
				}
			}
			a.do("session_close", params{"session": name})
		})
	}
	all.Wait()
	s.asked(t)
}

// BenchmarkFleetCrowd has fleets of 1, 2, 5 and 10 nodes, with 100 sessions each, serve agents that send a command
// each 20 s, half of them at another node than their session's: BROWSERD_CROWD_NODES, BROWSERD_CROWD_SESSIONS and
// BROWSERD_CROWD_PACE are others. Each fleet is watched for two loops of each agent.
func BenchmarkFleetCrowd(b *testing.B) {
	nodes, sessions, pace := []int{1, 2, 5, 10}, 100, 20*time.Second
	if s := os.Getenv("BROWSERD_CROWD_NODES"); s != "" {
		nodes = nil
		for n := range strings.SplitSeq(s, ",") {
			nodes = append(nodes, wholeNumber(b, n))
		}
	}
	if s := os.Getenv("BROWSERD_CROWD_SESSIONS"); s != "" {
		sessions = wholeNumber(b, s)
	}
	if s := os.Getenv("BROWSERD_CROWD_PACE"); s != "" {
		var err error
		if pace, err = time.ParseDuration(s); err != nil {
			b.Fatal(err)
		}
	}
	s := standIn(b, 4, 5)
	fmt.Printf("real Chromium, one session: open %.1f, snapshot %.1f, click %.1f ms in the median; a command takes Chromium %.1f ms of a processor\n",
		s.took.at("open", 50), s.took.at("snapshot", 50), s.took.at("click", 50), float64(s.used.Microseconds())/1000)
	for _, n := range nodes {
		b.Run(fmt.Sprint(n, "nodes"), func(b *testing.B) {
			for b.Loop() {
				measureCrowd(b, s, n, sessions, pace)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func wholeNumber(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// crowd is a fleet with its database, and how long the commands of its agents took.
type crowd struct {
	s                *stoodIn
	pg               *testpostgres.Server
	nodes            []*testdaemon.Daemon
	sessions         int     // at each node
	empty            float64 // MB that the nodes took without them
	local, forwarded timesOf // at the session's node, and through another one
}

// newCrowd starts a fleet and opens its sessions, each with its page.
func newCrowd(b *testing.B, s *stoodIn, nodes, sessions int) *crowd {
	f := &crowd{s: s, pg: testpostgres.Start(b), sessions: sessions}
	for i := range nodes {
		o := crowdNode(b, f.pg, s, fmt.Sprint("n", i), s.replay())
		o.Env["BROWSERD_SESSION__MAX"] = strconv.Itoa(sessions)
		f.nodes = append(f.nodes, testdaemon.Start(b, o))
	}
	b.Cleanup(func() { // to hand so many sessions over would only take time
		for _, d := range f.nodes {
			d.Kill()
		}
	})
	f.empty = rss(b, f.nodes)
	var opening sync.WaitGroup
	for i, d := range f.nodes {
		a := newAgent(b, d)
		opening.Go(func() {
			for k := range sessions {
				name := fmt.Sprint("s", i, "-", k)
				if _, err := a.try("session_open", params{"name": name}); err != nil {
					b.Errorf("session_open of %s: %v", name, err)
					continue
				}
				a.step(b, s, name, "open")
			}
		})
	}
	opening.Wait()
	return f
}

// work has an agent for each session go through its loops, a command each pace.
func (f *crowd) work(b *testing.B, loops int, pace time.Duration) {
	all := fleetReport(b, f.nodes[0])
	at := map[int]int{} // the place of a node's number in nodes
	for _, n := range all.Nodes {
		at[n.Node] = wholeNumber(b, strings.TrimPrefix(n.Name, "n"))
		if n.Sessions != f.sessions {
			b.Errorf("node %d has %d sessions", n.Node, n.Sessions)
		}
	}
	var agents sync.WaitGroup
	start := time.Now().Add(time.Second)
	for i, info := range all.Sessions {
		node, took := at[info.Node], &f.local
		if len(f.nodes) > 1 && i%2 == 1 {
			node, took = (node+1)%len(f.nodes), &f.forwarded
		}
		a := newAgent(b, f.nodes[node])
		first := start.Add(pace * time.Duration(i) / time.Duration(len(all.Sessions)))
		agents.Go(func() {
			for n := range loops * len(loop) {
				time.Sleep(time.Until(first.Add(time.Duration(n) * pace)))
				command := loop[n%len(loop)]
				took.add(command, a.step(b, f.s, info.Session, command))
			}
		})
	}
	agents.Wait()
}

// loopsWatched is how often each agent goes through its loop.
const loopsWatched = 2

// measureCrowd measures a fleet, and beside it a fleet of one node, on a database of its own: what else the
// machine does is in both.
func measureCrowd(b *testing.B, s *stoodIn, count, sessions int, pace time.Duration) {
	f, beside := newCrowd(b, s, count, sessions), newCrowd(b, s, 1, sessions)
	before, cpu := measure(b, f.pg), nodesCPU(f.nodes)
	var both sync.WaitGroup
	for _, c := range []*crowd{f, beside} {
		both.Go(func() { c.work(b, loopsWatched, pace) })
	}
	both.Wait()
	used := measure(b, f.pg).since(before)
	cpu = nodesCPU(f.nodes) - cpu
	full := rss(b, f.nodes)
	s.asked(b)
	for _, command := range loop {
		b.Logf("%2d nodes: %-8s median %.1f ms, 95 %% %.1f ms; through another node %.1f, %.1f ms; in the fleet of one node beside it %.1f, %.1f ms", count, command,
			f.local.at(command, 50), f.local.at(command, 95), f.forwarded.at(command, 50), f.forwarded.at(command, 95), beside.local.at(command, 50), beside.local.at(command, 95))
		b.ReportMetric(f.local.at(command, 50), command+"-ms")
	}
	seconds, commands := used.took.Seconds(), loopsWatched*len(loop)*count*sessions
	b.Logf("%2d nodes, %d sessions, %.1f commands/s: PostgreSQL %.4f of a processor, %.2f transactions/s/node, %d connections; a node %.1f MB, %.3f MB a session, %.1f ms of a processor a command; %.0f %% of the machine busy",
		count, count*sessions, float64(commands)/seconds, used.cpu.Seconds()/seconds, used.transactions/seconds/float64(count), used.connections,
		full/float64(count), (full-f.empty)/float64(count*sessions), 1000*cpu.Seconds()/float64(commands), 100*used.busy)
	b.ReportMetric(used.cpu.Seconds()/seconds, "postgres-cores")
}

func fleetReport(b *testing.B, d *testdaemon.Daemon) (r fleet.Report) {
	out, err := d.Command("fleet", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &r)
	}
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// measured is what was used by a time, or between two.
type measured struct {
	took         time.Duration
	at           time.Time
	cpu          time.Duration // of PostgreSQL
	transactions float64
	connections  int
	idle, ticks  float64
	busy         float64
}

func measure(b *testing.B, pg *testpostgres.Server) (m measured) {
	db, err := sql.Open("pgx", pg.DSN)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	err = errors.Join(db.QueryRow("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()").Scan(&m.transactions),
		db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()").Scan(&m.connections))
	text, err2 := os.ReadFile("/proc/stat")
	if err != nil || err2 != nil {
		b.Fatal(err, err2)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:9] {
		ticks := float64(wholeNumber(b, field))
		m.ticks += ticks
		if i == 3 || i == 4 { // idle, and waiting for disks
			m.idle += ticks
		}
	}
	m.cpu, m.at = testdaemon.CPUBelow(pg.PID()), time.Now()
	return m
}

func (m measured) since(before measured) measured {
	m.took, m.cpu, m.transactions = m.at.Sub(before.at), m.cpu-before.cpu, m.transactions-before.transactions
	m.busy = 1 - (m.idle-before.idle)/(m.ticks-before.ticks)
	return m
}

// nodesCPU is how much of a processor the daemons have used so far, without what stands in for Chromium.
func nodesCPU(nodes []*testdaemon.Daemon) (used time.Duration) {
	for _, d := range nodes {
		used += testdaemon.Process{PID: d.PID}.CPU()
	}
	return used
}

// rss is the resident memory of the daemons in MB, without what stands in for Chromium.
func rss(b *testing.B, nodes []*testdaemon.Daemon) (mb float64) {
	for _, d := range nodes {
		text, err := os.ReadFile(fmt.Sprint("/proc/", d.PID, "/statm"))
		if err != nil {
			b.Fatal(err)
		}
		mb += float64(wholeNumber(b, strings.Fields(string(text))[1])*os.Getpagesize()) / 1e6
	}
	return mb
}
