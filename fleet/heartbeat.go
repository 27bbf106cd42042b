package fleet

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/browserd/browserd/protocol"
)

// execer is a *sql.DB or a *sql.Tx.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// writeRow writes the node's row with a new lease. It inserts the row again if somebody has deleted it.
func (n *Node) writeRow(ctx context.Context, in execer) (sql.Result, error) {
	return in.ExecContext(ctx, `INSERT INTO nodes (id, number, name, address, version, protocol, state, capacity, sessions, began, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp() + $11 * interval '1 microsecond')
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, sessions = excluded.sessions, lease_until = excluded.lease_until`,
		n.id, n.number, n.cfg.Name, n.address, n.opts.Version, protocol.Version, stateOf(n), n.opts.Capacity, n.opts.Sessions(), n.began, leaseDuration.Microseconds())
}

// stateOf is the state that the node's row shows.
func stateOf(n *Node) string {
	if n.draining.Load() {
		return stateDraining
	}
	return stateUp
}

// Drain marks the node as draining: no further session is placed here. The row says so when Drain returns, or,
// after an error, when the database answers again. The other nodes read it with their next heartbeat.
func (n *Node) Drain(ctx context.Context) error {
	n.draining.Store(true)
	return n.heartbeat(ctx)
}

// heartbeatLoop is the goroutine that renews the lease until ctx ends. When another node's lease expires it sends
// a heartbeat early: that reads the nodes, and commands that wait for an answer of the lost node fail at once.
func (n *Node) heartbeatLoop(ctx context.Context) {
	due := time.Now().Add(heartbeatInterval) // an early heartbeat does not move it, or all nodes would send theirs together from then on
	next := time.NewTimer(heartbeatInterval)
	defer next.Stop()
	swept := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		err := n.heartbeat(ctx)
		if err == nil && time.Since(swept) > sweepInterval {
			swept, err = time.Now(), sweep(ctx, n)
		}
		if now := time.Now(); !now.Before(due) {
			due = now.Add(heartbeatInterval)
		}
		wait := n.untilNextExpiry(time.Until(due))
		if err != nil && ctx.Err() == nil {
			wait = retryInterval
		}
		setDatabaseState(ctx, n, err)
		next.Reset(wait)
	}
}

// readingTimeout is how long a heartbeat may take to read the nodes. Other readings may be under way: it waits for them,
// and then has time for its own. But the next heartbeat comes after it, before the lease ends.
const readingTimeout = 2 * databaseTimeout

// heartbeat renews the lease. If the last lease has expired, other nodes may have taken sessions over, or somebody
// may have restored an old database: the lease begins only after reconcile. parent ends with the node.
func (n *Node) heartbeat(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, databaseTimeout)
	defer cancel()
	sent := n.now()
	if !n.lease.held(sent) { // this node's recordings did not count meanwhile: others may have filled the quota
		n.recordings.syncAll.Store(true)
	}
	if _, err := n.writeRow(ctx, n.db); err != nil {
		return err
	}
	expired, unreadable := !n.lease.held(n.now()), unreadableAgents(n)
	if expired {
		if err := loadGiven(parent, n); err != nil {
			return err
		}
		ctx, cancel = context.WithTimeout(parent, databaseTimeout)
		defer cancel()
	}
	setDatabaseState(ctx, n, nil) // so that commands that arrive once the lease is extended ask the database
	if err := reconcile(ctx, n); err != nil {
		return err
	}
	n.lease.extend(sent)
	reading, cancel := context.WithTimeout(parent, readingTimeout)
	defer cancel()
	err := errors.Join(flushPending(ctx, n), n.refresh(reading))
	startRecordingSync(n)
	if !expired && len(unreadable) > 0 {
		reloadUnreadable(parent, n, unreadable)
	}
	return err
}

// reloadUnreadable tries loadGiven again for the agents whose rows could not be read. A failure or a delay does not
// affect other agents: the heartbeat has extended the lease before.
func reloadUnreadable(ctx context.Context, n *Node, agents []string) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	if err := loadGiven(ctx, n, agents...); err != nil {
		n.log.WarnContext(ctx, "the table given was not read again: this node still does not act for these agents, and shows them nothing", "agents", agents, "error", n.clean(err))
	}
}

// reconcile compares the sessions that this node believes to own with the database, and closes those that belong to
// another node by now. No session can be taken over meanwhile: the node's row has a new lease.
func reconcile(ctx context.Context, n *Node) error {
	n.ownership.mu.Lock()
	owned := maps.Clone(n.owned) // copied before the query, which may not see what is claimed from now on
	n.ownership.mu.Unlock()
	if len(owned) == 0 {
		return nil
	}
	rows, err := n.db.QueryContext(ctx, "SELECT agent, name, epoch FROM sessions WHERE node = $1", n.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	inDatabase := map[key]int64{}
	for rows.Next() {
		var k key
		var epoch int64
		if err := rows.Scan(&k.agent, &k.name, &epoch); err != nil {
			return err
		}
		inDatabase[k] = epoch
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for k, epoch := range owned {
		if inDatabase[k] != epoch {
			loseSession(n, k, epoch)
		}
	}
	return nil
}

// flushPending writes what could not be written while the database did not answer: ended sessions, released holds and
// the sizes of uploads.
func flushPending(ctx context.Context, n *Node) error {
	n.ownership.mu.Lock()
	releases := slices.Clone(n.pendingReleases)
	n.ownership.mu.Unlock()
	for _, token := range n.holds.toDelete() {
		if err := deleteHold(ctx, n, token); err != nil {
			return err
		}
	}
	for _, r := range releases {
		if err := deleteSession(ctx, n, r); err != nil {
			return err
		}
	}
	return flushUploads(ctx, n)
}

// hasLease is an SQL condition: by the database's clock, the node of that ID has its lease. id is an SQL expression.
// A node puts its own ID into statements that act on lost nodes: it may have been suspended since its last heartbeat,
// and then its own lease has expired too.
func hasLease(id string) string {
	return "EXISTS (SELECT FROM nodes WHERE id = " + id + " AND lease_until > clock_timestamp())"
}

// sweep deletes sessions that nobody took over within Options.Idle after their node was lost or handed them over,
// nodes whose lease expired a day ago, and secrets that need not be hidden any more. It does nothing until this
// node has held its lease for leaseDuration: if all nodes were suspended together, the others need time to renew.
func sweep(ctx context.Context, n *Node) error {
	if !n.lease.heldFor(n.now(), leaseDuration) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	if _, err := n.db.ExecContext(ctx, `WITH lost AS (SELECT id FROM nodes WHERE lease_until < clock_timestamp() - $1 * interval '1 microsecond' FOR NO KEY UPDATE)
		DELETE FROM sessions WHERE (node IN (SELECT id FROM lost) OR moving AND kept < clock_timestamp() - $1 * interval '1 microsecond')
		AND `+hasLease("$2"), n.opts.Idle.Microseconds(), n.id); err != nil {
		return err
	}
	_, err := n.db.ExecContext(ctx, `WITH gone AS (DELETE FROM nodes WHERE lease_until < clock_timestamp() - interval '1 day' AND NOT EXISTS (SELECT FROM sessions WHERE node = nodes.id) RETURNING id),
		forgotten AS (`+deleteExpiredGiven+`)
		DELETE FROM saved_holds WHERE node IN (SELECT id FROM gone)`, stateGone)
	return err
}

// setDatabaseState notes whether the database answers: err is that of the last heartbeat. It logs each change once.
func setDatabaseState(ctx context.Context, n *Node, err error) {
	was := n.down.Swap(err != nil)
	switch {
	case ctx.Err() != nil:
	case err != nil && !was:
		n.log.Warn("the fleet's database does not answer: this node stops acting when its lease expires", "error", n.clean(err))
	case err == nil && was:
		n.log.Info("the fleet's database answers again")
	}
}
