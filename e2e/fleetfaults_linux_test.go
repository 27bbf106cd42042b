package e2e_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/postgres"
)

// Faults from a seed, on three nodes, their network and their database, while agents work: no
// command acts twice, none that was answered is missing, no session has two owners at one epoch,
// and sessions go on logged in. `make fleet-faults SEED=1` plays 200.
func TestFleetFaults(t *testing.T) {
	o := faultRun{seed: number("BROWSERD_FLEET_SEED", 1), faults: number("BROWSERD_FLEET_FAULTS", 8), agents: number("BROWSERD_FLEET_AGENTS", 12), kinds: allFaults}
	if only := os.Getenv("BROWSERD_FLEET_ONLY"); only != "" {
		o.kinds = []faultKind{faultKind(only)}
	}
	r := playFaults(t, o)
	t.Log(r)
	for _, v := range r.violations {
		t.Error(v)
	}
	if r.losses > 0 && float64(r.restored) < 0.99*float64(r.losses) {
		t.Errorf("%d of %d lost sessions go on logged in, want 99 %%", r.restored, r.losses)
	}
	limit := 12 * time.Second // the lease and two more
	if o.faults < 100 {
		limit += 3 * time.Second // beside other tests
	}
	if late := r.late(limit); float64(late) > 0.05*float64(len(r.recovered)) {
		t.Errorf("%d of %d took longer than %v, want 5 %% at most", late, len(r.recovered), limit)
	}
}

// The same with a fault planted in the program: it is found.
func TestPlantedFleetFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		edits []edit
		kinds []faultKind
	}{
		{"a node acts without its lease", []edit{
			{"fleet/lease.go", "return l.granted && now.mono-l.sent.mono < leaseDuration && now.wall.Sub(l.sent.wall) < leaseDuration", "return true"},
		}, []faultKind{cutFromDatabase}},
		{"a node takes sessions of one that has its lease", []edit{
			{"fleet/ownership.go", "lease_until < clock_timestamp()", "lease_until < clock_timestamp() + INTERVAL '7 seconds'"},
			{"fleet/members.go", "m.Lost = lease < 0", "m.Lost = lease < 7"},
		}, []faultKind{nodeStopped}},
		{"a command that acts is sent again", []edit{
			{"actions/command/forward.go", `case err != nil && changesNothing(c) && c.route.session != ""`, `case err != nil && c.route.session != ""`},
		}, []faultKind{linksReset}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := faultRun{seed: 1, faults: 3, agents: 12, kinds: c.kinds, long: true, binary: edited(t, c.edits)}
			r := playFaults(t, o)
			t.Log(r)
			if len(r.violations) == 0 {
				t.Error("nothing is found")
			}
		})
	}
}

func number(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return otherwise
}

// faultRun says what is played. Faults, their order, nodes and lengths come from the seed; when a
// command of an agent meets one does not.
type faultRun struct {
	seed, faults, agents int
	kinds                []faultKind
	long                 bool   // each fault lasts beyond the lease
	binary               string // of the nodes; empty: the program as it is
}

// faultKind is what goes wrong.
type faultKind string

const (
	nodeKilled      faultKind = "a node is killed"
	nodeStopped     faultKind = "a node is stopped"
	cutFromDatabase faultKind = "a node is cut off from the database"
	cutFromNodes    faultKind = "a node is cut off from the others"
	linksReset      faultKind = "a node's connections to the others are reset"
	nodeDrained     faultKind = "a node is drained and starts again"
	databaseFrozen  faultKind = "the database is frozen"
	databaseKilled  faultKind = "the database is killed"
)

var allFaults = []faultKind{nodeKilled, nodeKilled, nodeStopped, nodeStopped, cutFromDatabase, cutFromNodes, linksReset, nodeDrained, databaseFrozen, databaseKilled}

// faultyNode is a daemon that can be lost, with the cables between it and the others.
type faultyNode struct {
	name, token    string
	options        testdaemon.Options
	d              *testdaemon.Daemon
	database, link *cable
	up             atomic.Bool // a load balancer sends requests to it
}

// faultyFleet is what faults are played on.
type faultyFleet struct {
	t     *testing.T
	o     faultRun
	rand  *rand.Rand
	pg    *testpostgres.Server
	db    *sql.DB
	nodes []*faultyNode
	shop  *countedShop
	all   []*buyer

	mu        sync.Mutex
	awaited   map[string]time.Time // since when a session is lost that nobody has seen again
	recovered []time.Duration
	held      int // sessions whose agent had asked the stopped node itself, and asked another one when that went on
}

// playFaults plays them, and returns what came of it.
func playFaults(t *testing.T, o faultRun) faultReport {
	f := &faultyFleet{t: t, o: o, rand: rand.New(rand.NewPCG(uint64(o.seed), 0)), pg: testpostgres.Start(t), shop: newCountedShop(t), awaited: map[string]time.Time{}}
	for _, name := range []string{"one", "two", "three"} {
		f.nodes = append(f.nodes, f.newNode(name))
	}
	var err error
	if f.db, err = sql.Open(postgres.Driver, f.pg.DSN); err != nil {
		t.Fatal(err)
	}
	defer f.db.Close()
	// What the nodes write about a session's owner is kept: whether an owner lost it that had its lease
	// and did not hand it over.
	if _, err := f.db.ExecContext(t.Context(), `CREATE TABLE owners (name TEXT, epoch BIGINT, node TEXT, robbed BOOLEAN);
		CREATE FUNCTION note_owner() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO owners VALUES (NEW.name, NEW.epoch, NEW.node,
			TG_OP = ''UPDATE'' AND NEW.node <> OLD.node AND NOT OLD.moving AND EXISTS (SELECT FROM nodes WHERE id = OLD.node AND lease_until > clock_timestamp())); RETURN NEW; END';
		CREATE TRIGGER note_owner AFTER INSERT OR UPDATE OF epoch, node ON sessions FOR EACH ROW EXECUTE FUNCTION note_owner()`); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var working sync.WaitGroup
	for i := range o.agents {
		s := newBuyer(f, fmt.Sprint("s", i), uint64(o.seed))
		f.all = append(f.all, s)
		if err := s.begin(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range f.all {
		working.Go(func() { s.work(stop) })
	}
	var played []faultKind
	for range o.faults {
		kind, n := o.kinds[f.rand.IntN(len(o.kinds))], f.nodes[f.rand.IntN(len(f.nodes))]
		began, seen := time.Now(), len(f.recovered)
		f.play(kind, n)
		f.settle()
		played = append(played, kind)
		took := slices.Sorted(slices.Values(f.recovered[seen:]))
		t.Logf("%s (node %s): all is well after %v; lost sessions took %v", kind, n.name, time.Since(began).Round(10*time.Millisecond), took)
		if t.Context().Err() != nil {
			break
		}
	}
	close(stop)
	working.Wait()
	return f.report(played)
}

func (f *faultyFleet) newNode(name string) *faultyNode {
	t := f.t
	at, err := url.Parse(f.pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	listen := testdaemon.FreeAddr(t)
	n := &faultyNode{name: name, database: newCable(t, at.Host), link: newCable(t, listen)}
	at.Host = n.database.addr
	n.options = nodeOptions(t, f.pg, name, testdaemon.FreeAddr(t), map[string]string{
		"BROWSERD_FLEET__DSN": at.String(), "BROWSERD_FLEET__LISTEN": listen, "BROWSERD_FLEET__ADVERTISE": n.link.addr,
		// Two nodes have room for all, so that each has some.
		"BROWSERD_SESSION__MAX": strconv.Itoa((f.o.agents + 1) / 2), "BROWSERD_SESSION__MAX_PER_AGENT": "100",
	})
	if f.o.binary != "" {
		n.options.Binary = f.o.binary
	}
	f.start(n)
	n.options.Home, n.token = n.d.Home, n.d.Token
	return n
}

func (f *faultyFleet) start(n *faultyNode) {
	n.d = testdaemon.Start(f.t, n.options)
	await(f.t, func() bool { return ready(f.t, n.d) == "" })
	n.up.Store(true)
}

// leaseOver is how long a fault lasts at least to cost a node its lease.
const leaseOver = 11 * time.Second

// length is how long a fault lasts.
func (f *faultyFleet) length(most time.Duration) time.Duration {
	if f.o.long {
		return leaseOver + 2*time.Second
	}
	return time.Second + time.Duration(f.rand.Int64N(int64(most)))
}

// play has one thing go wrong, and puts it right.
func (f *faultyFleet) play(kind faultKind, n *faultyNode) {
	switch kind {
	case nodeKilled:
		n.up.Store(false)
		f.lost(n)
		n.d.Kill()
		var left float64 // seconds
		if err := f.db.QueryRowContext(f.t.Context(), `SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM nodes WHERE name = $1 ORDER BY began DESC LIMIT 1`, n.name).Scan(&left); err != nil {
			f.t.Error(err)
		}
		f.t.Logf("the lease of the killed node has %.2fs left", left)
		time.Sleep(f.length(5 * time.Second))
		f.start(n)
	case nodeStopped:
		long := f.length(15 * time.Second)
		n.up.Store(false)
		if long >= leaseOver {
			f.lost(n)
		}
		syscall.Kill(n.d.PID, syscall.SIGSTOP)
		time.Sleep(long)
		syscall.Kill(n.d.PID, syscall.SIGCONT)
		n.up.Store(true)
	case cutFromDatabase:
		long := f.length(15 * time.Second)
		if long >= leaseOver {
			f.lost(n)
		}
		n.database.cut()
		time.Sleep(long)
		n.database.mend()
	case cutFromNodes:
		n.link.cut()
		time.Sleep(f.length(8 * time.Second))
		n.link.mend()
	case linksReset:
		for range 40 {
			n.link.reset()
			time.Sleep(50 * time.Millisecond)
		}
	case nodeDrained:
		n.up.Store(false)
		if out, err := n.d.Command("drain"); err != nil {
			f.t.Errorf("drain: %v\n%s", err, out)
		}
		n.d.Stop()
		f.start(n)
	case databaseFrozen:
		f.pg.Freeze(f.t)
		time.Sleep(f.length(12 * time.Second))
		f.pg.Thaw(f.t)
	case databaseKilled:
		f.pg.Stop()
		time.Sleep(f.length(3 * time.Second))
		f.pg.Run(f.t)
	}
}

// lost notes which sessions a node has that is about to be lost.
func (f *faultyFleet) lost(n *faultyNode) {
	rows, err := f.db.QueryContext(f.t.Context(), `SELECT s.name FROM sessions s JOIN nodes n ON n.id = s.node WHERE n.name = $1 AND n.state = 'up'`, n.name)
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			f.t.Fatal(err)
		}
		f.awaited[name] = time.Now()
	}
}

// seen notes that a command of the session, sent at began, was answered by its owner.
func (f *faultyFleet) seen(session string, began time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	since, ok := f.awaited[session]
	if !ok || began.Before(since) {
		return
	}
	delete(f.awaited, session)
	if began.Sub(since) > leaseOver {
		f.held++
	} else {
		f.recovered = append(f.recovered, time.Since(since))
	}
}

// settle waits until the nodes are ready and have all sessions.
func (f *faultyFleet) settle() {
	var why string
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		why = ""
		for _, n := range f.nodes {
			why += ready(f.t, n.d)
		}
		f.mu.Lock()
		if len(f.awaited) > 0 {
			why += fmt.Sprintf(" sessions without an answer: %v", f.awaited)
		}
		f.mu.Unlock()
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("60 s after a fault: %s", why)
		}
	}
}

// faultReport is what came of a run.
type faultReport struct {
	played           []faultKind
	commands         map[string]int // by the code of their answer
	losses, restored int            // of sessions, and those that went on logged in
	recovered        []time.Duration
	held             int
	violations       []string
}

func (r faultReport) late(limit time.Duration) (n int) {
	for _, d := range r.recovered {
		if d > limit {
			n++
		}
	}
	return n
}

func (r faultReport) String() string {
	at := func(share float64) time.Duration {
		if len(r.recovered) == 0 {
			return 0
		}
		return r.recovered[int(share*float64(len(r.recovered)-1))].Round(10 * time.Millisecond)
	}
	return fmt.Sprintf("%d faults; answers %v; %d losses, %d restored logged in; %d sessions waited for, half of them %v, 95 %% %v, all %v; %d held at the stopped node; %d violations",
		len(r.played), r.commands, r.losses, r.restored, len(r.recovered), at(0.5), at(0.95), at(1), r.held, len(r.violations))
}

// report checks the histories.
func (f *faultyFleet) report(played []faultKind) faultReport {
	r := faultReport{played: played, commands: map[string]int{}, recovered: f.recovered, held: f.held}
	slices.Sort(r.recovered)
	for _, s := range f.all {
		r.losses += s.losses
		r.restored += s.restored
		for code, n := range s.codes {
			r.commands[code] += n
		}
		r.violations = append(r.violations, s.violations(f.shop.boughtBy(s.name))...)
	}
	rows, err := f.db.QueryContext(f.t.Context(), `SELECT name, epoch, count(DISTINCT node), bool_or(robbed) FROM owners GROUP BY name, epoch HAVING count(DISTINCT node) > 1 OR bool_or(robbed)`)
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var epoch, nodes int64
		var robbed bool
		if err := rows.Scan(&name, &epoch, &nodes, &robbed); err != nil {
			f.t.Fatal(err)
		}
		r.violations = append(r.violations, fmt.Sprintf("session %s had %d owners at epoch %d; it was taken from one with a lease: %v", name, nodes, epoch, robbed))
	}
	return r
}
