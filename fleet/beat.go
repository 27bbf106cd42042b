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

// execer is a database or a transaction in it.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// write writes the node's row with a new lease. The row may have been removed.
func (n *Node) write(ctx context.Context, in execer) (sql.Result, error) {
	return in.ExecContext(ctx, `INSERT INTO nodes (id, number, name, address, version, protocol, state, capacity, sessions, began, lease_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp() + $11 * interval '1 microsecond')
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, sessions = excluded.sessions, lease_until = excluded.lease_until`,
		n.id, n.number, n.cfg.Name, n.address, n.about.Version, protocol.Version, stateOf(n), n.about.Capacity, n.about.Sessions(), n.began, leaseFor.Microseconds())
}

// stateOf is the node's state as others see it.
func stateOf(n *Node) string {
	if n.draining.Load() {
		return stateDraining
	}
	return stateUp
}

// Drain has no further session placed at this node. Others know of it when Drain returns, or,
// after an error, when the database answers again.
func (n *Node) Drain(ctx context.Context) error {
	n.draining.Store(true)
	return n.beat(ctx)
}

// beats is the goroutine that keeps the lease, until ctx ends. It beats at once when another node's
// lease is over, so that what waits for an answer of that node waits no longer.
func (n *Node) beats(ctx context.Context) {
	due := time.Now().Add(beatEvery) // an early beat does not move it, or all nodes would beat together from then on
	next := time.NewTimer(beatEvery)
	defer next.Stop()
	swept := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		err := n.beat(ctx)
		if err == nil && time.Since(swept) > sweepEvery {
			swept, err = time.Now(), sweep(ctx, n)
		}
		if now := time.Now(); !now.Before(due) {
			due = now.Add(beatEvery)
		}
		wait := n.untilLeaseEnds(time.Until(due))
		if err != nil && ctx.Err() == nil {
			wait = retryEvery
		}
		tell(ctx, n, err)
		next.Reset(wait)
	}
}

// beat asks for a new lease. If the last one had ended, other nodes may have taken sessions, and
// somebody may have restored the database: the node goes on only when it knows which are its own.
func (n *Node) beat(living context.Context) error {
	ctx, cancel := context.WithTimeout(living, patience)
	defer cancel()
	sent := n.now()
	if !n.lease.held(sent) { // meanwhile others may have kept more than fits with what is here
		n.recordings.all.Store(true)
	}
	if _, err := n.write(ctx, n.db); err != nil {
		return err
	}
	over, unread := !n.lease.held(n.now()), unreadAgents(n)
	if over {
		if err := learnGiven(living, n); err != nil {
			return err
		}
		ctx, cancel = context.WithTimeout(living, patience)
		defer cancel()
	}
	tell(ctx, n, nil) // commands that come when the lease is back ask the database
	if err := compare(ctx, n); err != nil {
		return err
	}
	n.lease.extend(sent)
	err := errors.Join(settle(ctx, n), n.look(ctx))
	settleRecordings(n)
	if !over && len(unread) > 0 {
		learnUnread(living, n, unread)
	}
	return err
}

// learnUnread is learnGiven for agents for whom the node does not act. What it cannot read, or not soon, costs others nothing:
// the lease is extended by then.
func learnUnread(ctx context.Context, n *Node, agents []string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := learnGiven(ctx, n, agents...); err != nil {
		n.log.WarnContext(ctx, "what agents were given of their secrets cannot be read: this node does and shows nothing for them yet", "agents", agents, "error", n.clean(err))
	}
}

// compare forgets the sessions that are another's by now. Nobody can take one meanwhile: the
// node's row has a new lease.
func compare(ctx context.Context, n *Node) error {
	n.record.mu.Lock()
	owned := maps.Clone(n.owned) // what is claimed from now on may not be among the rows yet
	n.record.mu.Unlock()
	if len(owned) == 0 {
		return nil
	}
	rows, err := n.db.QueryContext(ctx, "SELECT agent, name, epoch FROM sessions WHERE node = $1", n.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	still := map[key]int64{}
	for rows.Next() {
		var k key
		var epoch int64
		if err := rows.Scan(&k.agent, &k.name, &epoch); err != nil {
			return err
		}
		still[k] = epoch
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for k, epoch := range owned {
		if still[k] != epoch {
			lost(n, k, epoch)
		}
	}
	return nil
}

// settle removes the sessions, and gives up the names, that ended while the database did not answer.
func settle(ctx context.Context, n *Node) error {
	n.record.mu.Lock()
	unreleased, freed := slices.Clone(n.unreleased), slices.Clone(n.freed)
	n.record.mu.Unlock()
	for _, token := range freed {
		if err := free(ctx, n, token); err != nil {
			return err
		}
	}
	for _, r := range unreleased {
		if err := remove(ctx, n, r); err != nil {
			return err
		}
	}
	return settleUploads(ctx, n)
}

// alive is a condition: by the database's clock, the node of that ID has its lease. One that was
// frozen between its beat and a statement does not judge others by a clock that ran meanwhile.
func alive(id string) string {
	return "EXISTS (SELECT FROM nodes WHERE id = " + id + " AND lease_until > clock_timestamp())"
}

// sweep removes sessions whose node has been lost, or has handed them over, for as long as a
// session may be idle, nodes that are long gone, and what need not be hidden any more. A node that was frozen, perhaps with all
// others, waits until they can have beaten.
func sweep(ctx context.Context, n *Node) error {
	if !n.lease.steady(n.now(), leaseFor) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := n.db.ExecContext(ctx, `WITH lost AS (SELECT id FROM nodes WHERE lease_until < clock_timestamp() - $1 * interval '1 microsecond' FOR NO KEY UPDATE)
		DELETE FROM sessions WHERE (node IN (SELECT id FROM lost) OR moving AND kept < clock_timestamp() - $1 * interval '1 microsecond')
		AND `+alive("$2"), n.about.Idle.Microseconds(), n.id); err != nil {
		return err
	}
	_, err := n.db.ExecContext(ctx, `WITH gone AS (DELETE FROM nodes WHERE lease_until < clock_timestamp() - interval '1 day' AND NOT EXISTS (SELECT FROM sessions WHERE node = nodes.id) RETURNING id),
		forgotten AS (`+forgetGiven+`)
		DELETE FROM saved_holds WHERE node IN (SELECT id FROM gone)`, stateGone)
	return err
}

// tell logs once that the database is silent, and once that it answers again.
func tell(ctx context.Context, n *Node, err error) {
	n.record.mu.Lock()
	was := n.silent
	n.silent = err != nil
	n.record.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err != nil && !was:
		n.log.Warn("the fleet's database does not answer: this node stops acting when its lease is over", "error", n.clean(err))
	case err == nil && was:
		n.log.Info("the fleet's database answers again")
	}
}
