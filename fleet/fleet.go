// Package fleet lets daemons that share a PostgreSQL database serve as one. A daemon of a fleet is a node.
//
// The package owns these tables:
//   - nodes: the daemons, each with its lease
//   - sessions: which node owns each session, with the checkpoint from which another node continues it
//   - saved, saved_parts, saved_holds: what agents save under names, and who may write it
//   - uploads, recordings: how much of an agent's files lies at which node
//   - homes: the session of a token's requests that name none
//   - confirmed_commands, confirmed_settings: operators' answers for good
//   - given: secrets that no node may show an agent
//   - fleet_settings: what all nodes share, such as the certificate authority and the salt, sealed or not secret
//
// A session has one owner at a time. Each ownership has an epoch, the fencing token: a number that no other
// ownership of any session has.
//
// A node sends a heartbeat every two seconds: it writes its row, which extends its lease to ten seconds from then.
// The node counts its lease from before it sent the heartbeat, by its monotonic clock. The other nodes go by the
// database's clock, which is read later. So the node stops acting before another node may take its sessions over
// (TakeOver), however wrong the machines' clocks are. A node that reaches the database again keeps the sessions that
// nobody took over, with their epochs, and closes the others (Options.OnTakenOver).
//
// The package never runs a command and never reads a session's content. A checkpoint is sealed with a key that is
// derived from state.key. Tokens are not stored. Operators' answers are kept, for good (Answers) or for a session's
// life (KeepAnswers); the package decides nothing by them.
//
// A Node is safe for concurrent use. Its goroutines end with Close: one for the heartbeat, one while recordings are
// synchronized, two for each connection to or from another node, and one for each card that another node shows.
package fleet

import (
	"context"
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

// Config is the part of the configuration that makes a daemon a node.
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

const (
	heartbeatInterval = 2 * time.Second
	leaseDuration     = 10 * time.Second
	databaseTimeout   = 3 * time.Second        // for what a client waits for
	retryInterval     = 500 * time.Millisecond // after a heartbeat that failed
	sweepInterval     = 30 * time.Second
)

// Options are what the daemon tells its node, and what the node calls in the daemon. None of the functions may block.
type Options struct {
	Version  string
	Capacity int           // how many sessions the daemon holds at most
	Idle     time.Duration // a session that is unused for so long ends; so does one that nobody takes over
	// StateKey is state.key, which all nodes must share: it seals what they keep in the database.
	StateKey string
	// Sessions returns how many sessions the daemon holds or opens now. Each heartbeat calls it.
	Sessions func() int
	// OnTakenOver is called with each session that another node owns by now: this node took too long to renew its lease.
	OnTakenOver func(agent, name string)
	// ExpectTakeOvers is called when the number changes of sessions that this node will probably take over soon, from
	// nodes that have missed heartbeats. nil: it is not called.
	ExpectTakeOvers func(sessions int)
	// SetPolicyAdditions is called with all that operators have added to the policy for good: before Join returns, and
	// after each change.
	SetPolicyAdditions func([]policy.Setting)
}

// Node is this daemon's place in the fleet.
type Node struct {
	cfg  Config
	opts Options
	log  *slog.Logger
	now  clock
	keys *keys
	salt []byte // with which shelves derive their keys from state.key

	self
	lifetime
	database
	lease lease
	ownership
	membership
	links
	peerServer
	holds      holds
	uploads    uploadChanges
	given      givenSecrets
	additions  policyAdditions
	recordings recordingSync

	draining atomic.Bool
}

// lifetime is from Join to Close.
type lifetime struct {
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup // the goroutines of the node
}

// self is how the nodes table describes this node. It does not change after Join.
type self struct {
	id      string // of this process: each start of a daemon has a new one
	number  int
	address string    // at which other nodes reach it
	began   time.Time // by the database's clock
}

// peerServer serves the connections of other nodes.
type peerServer struct {
	identity   *identity
	listener   net.Listener
	handshakes handshakes
	handler    Handler
	serving    atomic.Bool // handler is set
}

// Join makes this daemon a node. It creates missing tables. If the daemon cannot be a node, the error names
// fleet.dsn, fleet.listen or state.key.
func Join(ctx context.Context, cfg Config, opts Options, log *slog.Logger) (*Node, error) {
	return join(ctx, cfg, opts, log, machineClock())
}

func join(ctx context.Context, cfg Config, opts Options, log *slog.Logger, now clock) (*Node, error) {
	db, err := open(cfg.DSN)
	if err != nil {
		return nil, err
	}
	saved, err := open(cfg.DSN)
	if err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, opts: opts, database: database{dsn: cfg.DSN, log: log, db: db, shelfDB: saved}, log: log, now: now, self: self{id: newID()},
		ownership: ownership{owned: map[key]int64{}, handingOver: map[key]bool{}}, membership: membership{reading: make(turn, 1), placements: map[string]int{}, owners: map[key]Owner{}},
		links: links{open: map[string]*outbound{}, attempts: map[string]*attempt{}}, additions: policyAdditions{reading: make(turn, 1)},
	}
	if n.cfg.Name == "" {
		n.cfg.Name, _ = os.Hostname()
	}
	if n.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		n.database.close()
		return nil, fmt.Errorf("fleet.listen: %q: %w: stop what listens there, or choose another address", cfg.Listen, err)
	}
	n.address = advertised(n.cfg, n.listener.Addr())
	n.ctx, n.stop = context.WithCancel(context.Background())
	if err := n.register(ctx); err != nil {
		n.stop()
		n.listener.Close()
		n.database.close()
		return nil, err
	}
	n.running.Go(func() { n.heartbeatLoop(n.ctx) })
	log.Info("joined the fleet", "node", n.number, "name", n.cfg.Name)
	return n, nil
}

// register creates the tables, checks state.key and sends the first heartbeat.
func (n *Node) register(ctx context.Context) error {
	if err := n.migrate(ctx); err != nil {
		return err
	}
	var err error
	if n.keys, err = n.openKeys(ctx); err != nil { // PBKDF2 takes a while
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
	if err := n.insertRow(ctx); err != nil {
		return n.unusable(err)
	}
	n.lease.extend(sent)
	if err := n.refresh(ctx); err != nil {
		return n.unusable(err)
	}
	return nil
}

// insertRow chooses the node's number and writes its row for the first time. The number is that of the last node
// of the same name, or else the lowest; numbers of nodes that have a lease are left out.
func (n *Node) insertRow(ctx context.Context) error {
	tx, err := n.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // of no effect after Commit
	if err := postgres.Lock(ctx, tx, tablesLock); err != nil {
		return err
	}
	const liveNumbers = "(SELECT number FROM nodes WHERE lease_until > clock_timestamp())"
	err = tx.QueryRowContext(ctx, `SELECT COALESCE(
		(SELECT number FROM nodes WHERE name = $1 AND number NOT IN `+liveNumbers+` ORDER BY began DESC LIMIT 1),
		(SELECT min(i) FROM generate_series(1, (SELECT count(*) + 1 FROM nodes)) AS i WHERE i NOT IN `+liveNumbers+`)), clock_timestamp()`, n.cfg.Name).Scan(&n.number, &n.began)
	if err != nil {
		return err
	}
	if _, err = n.writeRow(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// ID returns the node's ID. Each start of a daemon has a new one.
func (n *Node) ID() string { return n.id }

// Number returns the node's number, from 1.
func (n *Node) Number() int { return n.number }

// CheckLease returns nil while the node may act, else fleet_unavailable. It does not ask the database.
func (n *Node) CheckLease() error {
	if n.lease.held(n.now()) {
		return nil
	}
	return protocol.Errorf(protocol.FleetUnavailable, "this node has not reached the fleet's database for %v, and may not act without it", leaseDuration)
}

// LeaveSessions has Close leave the node's sessions to the other nodes, which continue them from their checkpoints. The
// daemon calls it when it stops and could not hand them over: the database may answer again before Close.
func (n *Node) LeaveSessions() { n.left.Store(true) }

// Close deletes the node's sessions from the database, except those that are handed over or left (LeaveSessions), and
// ends its lease, so that other nodes do not wait for it to expire. A node without a lease leaves its rows to them.
func (n *Node) Close(ctx context.Context) error {
	n.stop()
	n.listener.Close()
	for _, mu := range []*sync.Mutex{&n.links.mu, &n.recordings.mu, &n.membership.shared.mu} {
		// A goroutine that holds the lock has called running.Go already. Later ones see that ctx has ended.
		mu.Lock()
		mu.Unlock()
	}
	n.running.Wait()
	if n.CheckLease() != nil {
		return n.database.close()
	}
	if n.left.Load() { // or others would continue sessions that have ended
		if err := flushPending(ctx, n); err != nil {
			n.log.Warn("leaving the fleet: what could not be written while the database did not answer is not written", "error", n.clean(err))
		}
	}
	_, err := n.db.ExecContext(ctx, "WITH ended AS (DELETE FROM sessions WHERE node = $1 AND NOT moving AND NOT $3), free AS (DELETE FROM saved_holds WHERE node = $1) UPDATE nodes SET state = $2, sessions = 0, lease_until = clock_timestamp() WHERE id = $1", n.id, stateGone, n.left.Load())
	if err != nil {
		n.log.Warn("leaving the fleet: the database does not answer, so the other nodes wait until this node's lease expires", "error", n.clean(err))
	}
	return n.database.close()
}

func portOf(a *net.TCPAddr) string { return strconv.Itoa(a.Port) }
