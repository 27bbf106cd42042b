// Package fleet lets daemons that share a PostgreSQL database serve as one. It owns the
// tables nodes and sessions: which daemons run, and which of them has each session; saved, uploads and recordings: what
// agents keep, or how much of it; homes: which session a token's requests are for; confirmed_commands and _settings: what
// operators have answered for good; and given: what no daemon may show an agent. It
// promises that a session has one owner at a time, told apart by an epoch that no other owner
// of any session ever has, and that a daemon knows when it must not act any more.
//
// A daemon is a node. It writes its row every two seconds (the beat), and the row says until
// when it may act (the lease, ten seconds). The node counts its own lease from before it sent
// the beat, by a clock that nobody sets, and others judge it by the database's clock, which
// reads the beat later: so the node stops first, whatever the clocks of the machines say. A
// node whose lease is over may lose its sessions to others (TakeOver). When it reaches the
// database again it keeps those that nobody took, with their epochs, and is told of the others.
//
// The package never runs a command and knows no session's content: what is kept of a session, for
// another node to go on from, is sealed with a key that comes of state.key. It never stores a
// token. It keeps what operators have answered, for good (Answers) or for a session, and decides nothing by it.
//
// A Node is safe for concurrent use. Its goroutines (one for the beat, one while recordings are
// settled, two for each connection to or from another node, one for each card that another node shows of it) end with
// Close.
package fleet

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/protocol"
)

// Config says which fleet a daemon belongs to.
type Config struct {
	DSN       string `koanf:"dsn" secret:"true" doc:"a postgres:// address: the daemons with the same one serve as one fleet; empty: this daemon serves alone"`
	Name      string `koanf:"name" default:"" doc:"how browserd fleet calls this node; empty: the machine's host name"`
	Listen    string `koanf:"listen" default:":9334" doc:"address and port for the other nodes, which prove by certificates that they are of the fleet"`
	Advertise string `koanf:"advertise" default:"" doc:"HOST:PORT at which the other nodes reach fleet.listen; empty: fleet.listen, or fleet.name with its port where it names no address"`
}

// Check returns an error that names the first invalid value.
func (c Config) Check() error {
	if c.DSN != "" && !postgres.Is(c.DSN) {
		return fmt.Errorf("fleet.dsn: accepts postgres://USER:PASSWORD@HOST/DATABASE")
	}
	if len(c.Name) > 253 {
		return fmt.Errorf("fleet.name: accepts at most 253 characters")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil && c.DSN != "" {
		return fmt.Errorf("fleet.listen: %q: accepts ADDRESS:PORT or :PORT", c.Listen)
	}
	if host, port, err := net.SplitHostPort(c.Advertise); c.Advertise != "" && (err != nil || host == "" || port == "") {
		return fmt.Errorf("fleet.advertise: %q: accepts HOST:PORT", c.Advertise)
	}
	return nil
}

// Times of the beat. An operation of a client waits at most for patience.
const (
	beatEvery  = 2 * time.Second
	leaseFor   = 10 * time.Second
	patience   = 3 * time.Second
	retryEvery = 500 * time.Millisecond // after a beat that failed
	sweepEvery = 30 * time.Second
)

// About is what a node says of itself.
type About struct {
	Version  string
	Capacity int           // how many sessions it holds at most
	Idle     time.Duration // after which an unused session ends; one whose node is lost, too
	// StateKey seals what the nodes keep in the database, so that all need the same.
	StateKey string
	// Sessions returns how many it holds or opens now. The beat calls it; it must not block.
	Sessions func() int
	// Taken is called with each session that another node took over while this node could not
	// act. It must not block.
	Taken func(agent, name string)
	// Coming is called when it changes how many sessions this node is about to take over from nodes that do not
	// beat. It must not block.
	Coming func(sessions int)
	// Hold is called with all that operators have added to the policy for good, before Join returns and
	// whenever it is something else. It must not block.
	Hold func([]policy.Setting)
}

// Node is this daemon's place in the fleet.
type Node struct {
	cfg   Config
	about About
	db    *sql.DB
	saved *sql.DB // for what agents save: whoever waits there holds up no beat
	log   *slog.Logger
	now   clock
	keys  *keys
	salt  []byte // of the keys that seal what agents save: they come of state.key too

	self
	lease lease
	record
	roster
	links
	inward
	held       held
	recordings recordings

	draining atomic.Bool

	living  context.Context // until Close
	stop    context.CancelFunc
	running sync.WaitGroup // the goroutines of the node
}

// self is what the other nodes know of this one.
type self struct {
	id      string // of this process: another start has another
	number  int
	address string
	began   time.Time
}

// record is what this node owns.
type record struct {
	mu         sync.Mutex
	owned      map[key]int64            // the epochs of this node's sessions
	handed     map[key]bool             // that are being handed over, so that it is not known whose they are
	unreleased []release                // ended sessions whose rows could not be deleted yet
	names      map[reservedName]string  // the tokens of names that it has reserved, and has not given up
	freed      []string                 // tokens of names that are free, and of which it does not know that yet
	upload     changes                  // of uploads, that it has not seen yet
	told       map[string]time.Duration // the tags of values that all nodes hide, each with when this node's leases began
	silent     bool                     // the database does not answer, and the log says so
	unread     map[string]*rowError     // of agents for whom the node does not act
}

// inward is what serves other nodes.
type inward struct {
	identity *identity
	listener net.Listener
	handler  Handler
	serving  atomic.Bool // handler is set
}

// key names a session.
type key struct{ agent, name string }

// release is a session that has ended.
type release struct {
	key
	epoch int64
}

// Join makes this daemon a node. It lays out the tables where they are missing, and returns
// an error that names fleet.dsn or state.key where the daemon cannot be one.
func Join(ctx context.Context, cfg Config, about About, log *slog.Logger) (*Node, error) {
	return join(ctx, cfg, about, log, machineClock())
}

func join(ctx context.Context, cfg Config, about About, log *slog.Logger, now clock) (*Node, error) {
	db, err := open(cfg.DSN)
	if err != nil {
		return nil, err
	}
	saved, err := open(cfg.DSN)
	if err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, about: about, db: db, saved: saved, log: log, now: now, self: self{id: newID()},
		record: record{owned: map[key]int64{}, handed: map[key]bool{}, names: map[reservedName]string{}, told: map[string]time.Duration{}}, roster: roster{placed: map[string]int{}, located: map[key]Owner{}},
		links: links{open: map[string]*outbound{}, tried: map[string]*attempt{}},
	}
	if n.cfg.Name == "" {
		n.cfg.Name, _ = os.Hostname()
	}
	if n.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		closeAll(db, saved)
		return nil, fmt.Errorf("fleet.listen: %q: %w: stop what listens there, or choose another address", cfg.Listen, err)
	}
	n.address = advertised(n.cfg, n.listener.Addr())
	n.living, n.stop = context.WithCancel(context.Background())
	if err := n.register(ctx); err != nil {
		n.stop()
		n.listener.Close()
		closeAll(db, saved)
		return nil, err
	}
	n.running.Go(func() { n.beats(n.living) })
	log.Info("joined the fleet", "node", n.number, "name", n.cfg.Name)
	return n, nil
}

// open returns a handle to the fleet's database. It sends nothing yet.
func open(dsn string) (*sql.DB, error) {
	db, err := sql.Open(postgres.Driver, dsn)
	if err != nil { // it may quote the address, password and all
		return nil, fmt.Errorf("fleet.dsn: cannot be read: accepts postgres://USER:PASSWORD@HOST/DATABASE")
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(4)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}

// register lays out the tables, checks state.key and beats for the first time.
func (n *Node) register(ctx context.Context) error {
	if err := migrate(ctx, n); err != nil {
		return err
	}
	var err error
	if n.keys, err = n.openKeys(ctx); err != nil { // computes for a while
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := openSalt(ctx, n); err != nil {
		return err
	}
	if n.identity, err = n.openIdentity(ctx); err != nil {
		return err
	}
	sent := n.now()
	if err := n.enter(ctx); err != nil {
		return unusable(n, err)
	}
	n.lease.extend(sent)
	if err := n.look(ctx); err != nil {
		return unusable(n, err)
	}
	return nil
}

// migrate creates the tables, or changes them to their newest form.
func migrate(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := postgres.Migrate(ctx, n.db, tablesLock, "fleet_steps", steps); err != nil {
		return unusable(n, err)
	}
	return nil
}

func unusable(n *Node, err error) error {
	return fmt.Errorf("fleet.dsn: the database cannot be used: %w: start it, or correct the address", n.clean(err))
}

// enter writes the node's row for the first time, with the number that the last node of its
// name had, or the lowest that no living node has.
func (n *Node) enter(ctx context.Context) error {
	tx, err := n.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // of no effect after Commit
	if err := postgres.Lock(ctx, tx, tablesLock); err != nil {
		return err
	}
	const living = "(SELECT number FROM nodes WHERE lease_until > clock_timestamp())"
	err = tx.QueryRowContext(ctx, `SELECT COALESCE(
		(SELECT number FROM nodes WHERE name = $1 AND number NOT IN `+living+` ORDER BY began DESC LIMIT 1),
		(SELECT min(i) FROM generate_series(1, (SELECT count(*) + 1 FROM nodes)) AS i WHERE i NOT IN `+living+`)), clock_timestamp()`, n.cfg.Name).Scan(&n.number, &n.began)
	if err != nil {
		return err
	}
	if _, err = n.write(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// ID identifies this start of the daemon, and Number its place among the nodes.
func (n *Node) ID() string { return n.id }

// Number returns the node's number, from 1.
func (n *Node) Number() int { return n.number }

// CheckLease returns nil while the node may act, else fleet_unavailable. It asks nobody.
func (n *Node) CheckLease() error {
	if n.lease.held(n.now()) {
		return nil
	}
	return protocol.Errorf(protocol.FleetUnavailable, "this node has not reached the fleet's database for %v, and may not act without it", leaseFor)
}

// Close ends the node's sessions in the database and takes the node off the fleet, so that
// nobody waits for its lease to end.
func (n *Node) Close(ctx context.Context) error {
	n.stop()
	n.listener.Close()
	for _, mu := range []*sync.Mutex{&n.links.mu, &n.recordings.mu} { // whoever holds it has started its goroutines
		mu.Lock() // and who comes later sees that the node ends
		mu.Unlock()
	}
	n.running.Wait()
	_, err := n.db.ExecContext(ctx, "WITH ended AS (DELETE FROM sessions WHERE node = $1 AND NOT moving), free AS (DELETE FROM saved_holds WHERE node = $1) UPDATE nodes SET state = $2, sessions = 0, lease_until = clock_timestamp() WHERE id = $1", n.id, stateGone)
	if err != nil {
		n.log.Warn("the fleet's database does not know that this node has ended: others wait until its lease is over", "error", n.clean(err))
	}
	return closeAll(n.db, n.saved)
}

func closeAll(databases ...*sql.DB) (err error) {
	for _, db := range databases {
		err = errors.Join(err, db.Close())
	}
	return err
}

func portOf(a *net.TCPAddr) string { return strconv.Itoa(a.Port) }

func (n *Node) clean(err error) error { return postgres.Clean(n.cfg.DSN, err) }

// unavailable returns the error of an operation that the database did not do.
func (n *Node) unavailable(ctx context.Context, doing string, err error) error {
	n.log.WarnContext(ctx, "the fleet's database does not answer", "doing", doing, "error", n.clean(err))
	return protocol.Errorf(protocol.FleetUnavailable, "the fleet's database does not answer")
}
