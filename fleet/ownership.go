package fleet

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/protocol"
)

// key names a session.
type key struct{ agent, name string }

// release names a session that has ended, so that its row can be deleted.
type release struct {
	key
	epoch int64
}

// ownership is which sessions this node owns.
type ownership struct {
	mu              sync.Mutex
	owned           map[key]int64 // the epochs of this node's sessions
	handingOver     map[key]bool  // sessions that are being handed over: nobody knows yet whose they are
	pendingReleases []release     // ended sessions whose rows could not be deleted yet
	left            atomic.Bool   // LeaveSessions was called
}

// Claim makes this node the owner of a new session and returns its epoch. An agent may have at most limit sessions
// in the whole fleet. checkpoint is the session's first checkpoint. Errors: invalid_params if the agent has a session of
// that name, session_limit, fleet_unavailable.
func (n *Node) Claim(ctx context.Context, agent, name string, limit int, checkpoint []byte) (epoch int64, err error) {
	if err := n.CheckAgent(agent); err != nil {
		return 0, err
	}
	if err := n.checkDatabase(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	epoch, err = n.claim(ctx, agent, name, limit, n.keys.sealCheckpoint(key{agent, name}, checkpoint))
	var e *protocol.Error
	switch {
	case err == nil:
		n.ownership.mu.Lock()
		n.owned[key{agent, name}] = epoch
		n.ownership.mu.Unlock()
		return epoch, nil
	case errors.As(err, &e):
		return 0, err
	}
	// The commit may have happened: the row has to be deleted later.
	n.ownership.mu.Lock()
	n.pendingReleases = append(n.pendingReleases, release{key{agent, name}, epoch})
	n.ownership.mu.Unlock()
	return 0, n.unavailable(ctx, "opening a session", err)
}

func (n *Node) claim(ctx context.Context, agent, name string, limit int, sealed []byte) (epoch int64, err error) {
	tx, err := n.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // of no effect after Commit
	// The lock makes two claims of one agent wait for each other: the second counts the first.
	if err := postgres.Lock(ctx, tx, agentLock(agent)); err != nil {
		return 0, err
	}
	var open int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sessions WHERE agent = $1 AND name <> $2", agent, name).Scan(&open); err != nil {
		return 0, err
	}
	if open >= limit {
		return 0, protocol.Errorf(protocol.SessionLimit, "this agent holds %d sessions in the fleet, as many as session.max_per_agent allows", open).
			With("quota", "session.max_per_agent").With("limit", limit).With("open", open)
	}
	// A row of this node is that of a session which has ended, and which could not be deleted yet.
	err = tx.QueryRowContext(ctx, `INSERT INTO sessions (agent, name, node, epoch, created, checkpoint) VALUES ($1, $2, $3, nextval('epochs'), clock_timestamp(), $4)
		ON CONFLICT (agent, name) DO UPDATE SET epoch = excluded.epoch, created = excluded.created, checkpoint = excluded.checkpoint, storage = NULL, answers = NULL, answered = 0
		WHERE sessions.node = $3 AND NOT sessions.moving RETURNING epoch`,
		agent, name, n.id, sealed).Scan(&epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, protocol.Errorf(protocol.InvalidParams, "name %q: you have a session of that name", protocol.Cut(name, 64)).
			With("parameter", "name").Then("choose another name, or close that session")
	}
	if err != nil {
		return 0, err
	}
	return epoch, tx.Commit()
}

// agentLock is the advisory lock of an agent's claims.
func agentLock(agent string) int64 {
	h := fnv.New64a()
	h.Write([]byte("browserd agent " + agent))
	return int64(h.Sum64())
}

// Release ends a session of this node and deletes its row. If the database does not answer, the row is deleted after
// a later heartbeat.
func (n *Node) Release(ctx context.Context, agent, name string, epoch int64) {
	r := release{key{agent, name}, epoch}
	n.ownership.mu.Lock()
	if n.owned[r.key] == epoch {
		delete(n.owned, r.key)
	}
	n.pendingReleases = append(n.pendingReleases, r)
	n.ownership.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	if err := deleteSession(ctx, n, r); err != nil {
		n.log.WarnContext(ctx, "an ended session is not deleted from the fleet's database yet", "session", name, "error", n.clean(err))
	}
}

// deleteSession deletes the row of an ended session. It leaves a row of another epoch or another node alone.
func deleteSession(ctx context.Context, n *Node, r release) error {
	_, err := n.db.ExecContext(ctx, "DELETE FROM sessions WHERE agent = $1 AND name = $2 AND epoch = $3 AND node = $4", r.agent, r.name, r.epoch, n.id)
	if err == nil {
		n.ownership.mu.Lock()
		n.pendingReleases = slices.DeleteFunc(n.pendingReleases, func(o release) bool { return o == r })
		n.ownership.mu.Unlock()
	}
	return err
}

// Owner describes the node that owns a session.
type Owner struct {
	Node   string // its ID
	Number int
	Name   string
	Epoch  int64
	Lost   bool // its lease has expired by the database's clock, or Moving is set
	Moving bool // it has handed the session over: any node may take it over at once
}

// Owner returns the owner of an agent's session; nil: there is no session of that name. Error: fleet_unavailable.
func (n *Node) Owner(ctx context.Context, agent, name string) (*Owner, error) {
	if err := n.checkDatabase(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	var o Owner
	err := n.db.QueryRowContext(ctx, `SELECT nodes.id, nodes.number, nodes.name, sessions.epoch, sessions.moving OR nodes.lease_until < clock_timestamp(), sessions.moving
		FROM sessions JOIN nodes ON nodes.id = sessions.node WHERE sessions.agent = $1 AND sessions.name = $2`, agent, name).
		Scan(&o.Node, &o.Number, &o.Name, &o.Epoch, &o.Lost, &o.Moving)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, n.unavailable(ctx, "looking for a session", err)
	}
	return &o, nil
}

// TakenOver is a session that TakeOver has made this node's.
type TakenOver struct {
	Epoch      int64
	Checkpoint []byte
	Storage    []byte // nil: none was kept
	Answers    []byte // what KeepAnswers was given last; nil: nothing
	Moved      bool   // the last owner handed it over, so the checkpoint is complete
}

// TakeOver makes this node the owner of a session if its owner, from, has handed it over or is lost, and no other
// node was faster. It returns nil without an error if this node is not the owner. The new epoch is higher than any
// before. from may be this node: if the answer to an earlier TakeOver was lost, the row names this node, and nobody
// serves the session. The caller runs at most one TakeOver of a session at a time. Error: fleet_unavailable.
func (n *Node) TakeOver(ctx context.Context, agent, name string, from Owner) (*TakenOver, error) {
	if err := n.CheckAgent(agent); err != nil {
		return nil, err
	}
	k := key{agent, name}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	next, err := nextEpoch(ctx, n, k, from.Epoch)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, n.unavailable(ctx, "taking a session over", err)
	}
	// The lock on the owner's row makes its heartbeat wait: either the heartbeat is first and it keeps the lease, or it
	// sees the new owner.
	t := TakenOver{Answers: next.answers}
	var sealed, storage []byte
	err = n.db.QueryRowContext(ctx, `WITH lost AS (SELECT id FROM nodes WHERE id = $4 AND lease_until < clock_timestamp() AND $6 AND `+hasLease("$3")+` FOR NO KEY UPDATE),
		was AS (SELECT moving FROM sessions WHERE agent = $1 AND name = $2)
		UPDATE sessions SET node = $3, epoch = $8, moving = false, answers = $9, answered = 0
		WHERE agent = $1 AND name = $2 AND node = $4 AND epoch = $5 AND answers IS NOT DISTINCT FROM $10 AND (moving OR EXISTS (SELECT FROM lost) OR $7)
		RETURNING epoch, checkpoint, storage, (SELECT moving FROM was)`,
		agent, name, n.id, from.Node, from.Epoch, n.lease.heldFor(n.now(), declareLostAfter), from.Node == n.id && n.unrecordedRow(k, from.Epoch), next.epoch, next.sealed, next.inRow).Scan(&t.Epoch, &sealed, &storage, &t.Moved)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, n.unavailable(ctx, "taking a session over", err)
	}
	n.ownership.mu.Lock()
	n.owned[k] = t.Epoch
	n.ownership.mu.Unlock()
	next.warn(n, k)
	t.Checkpoint, err = n.keys.unsealCheckpoint(k, sealed)
	if err == nil && storage != nil {
		t.Storage, err = n.keys.unsealStorage(k, storage)
	}
	if err != nil {
		n.Release(ctx, agent, name, t.Epoch) // no node could continue it
		return nil, protocol.Errorf(protocol.Internal, "the session's checkpoint cannot be read: %w", err)
	}
	return &t, nil
}

// unrecordedRow reports whether the row of a session that names this node as its owner is one that the node does not
// know: it took the session over, and the database's answer was lost.
func (r *ownership) unrecordedRow(k key, epoch int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, has := r.owned[k]
	return !has && !r.handingOver[k] && !slices.Contains(r.pendingReleases, release{k, epoch})
}

// Checkpoint stores, sealed, what another node can continue a session of this node from. storage is what the session's
// origins keep; nil leaves the last one in place. If another node owns the session by now, Options.OnTakenOver is
// called. Error: fleet_unavailable.
func (n *Node) Checkpoint(ctx context.Context, agent, name string, epoch int64, content, storage []byte) error {
	if err := n.checkDatabase(); err != nil {
		return err
	}
	written, err := writeCheckpoint(ctx, n, agent, name, epoch, content, storage, false)
	if err != nil {
		return n.unavailable(ctx, "keeping a session", err)
	}
	if !written {
		loseSession(n, key{agent, name}, epoch)
		return errNotOwner()
	}
	return nil
}

// HandOver stores the last checkpoint and lets any node take the session over. After fleet_unavailable the session is
// still this node's. After outcome_unknown it may have been handed over: call ResolveHandOver.
func (n *Node) HandOver(ctx context.Context, agent, name string, epoch int64, content []byte) error {
	if err := n.checkDatabase(); err != nil {
		return err
	}
	// Taken out of owned, so that no heartbeat reconciles it until the outcome is known.
	k := key{agent, name}
	n.ownership.mu.Lock()
	delete(n.owned, k)
	n.handingOver[k] = true
	n.ownership.mu.Unlock()
	handed, err := writeCheckpoint(ctx, n, agent, name, epoch, content, nil, true)
	switch {
	case err != nil:
		n.unavailable(ctx, "handing a session over", err)
		return protocol.Errorf(protocol.OutcomeUnknown, "the fleet's database did not say whether the session was handed over")
	case !handed:
		n.endHandOver(k, epoch)
		loseSession(n, k, epoch)
		return errNotOwner()
	}
	n.endHandOver(k, 0)
	return nil
}

// endHandOver ends a hand-over whose outcome is known: this node owns the session at that epoch; 0: it does not own it.
func (r *ownership) endHandOver(k key, epoch int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.handingOver, k)
	if epoch != 0 {
		r.owned[k] = epoch
	}
}

// errNotOwner returns the error of a write for a session that another node owns.
func errNotOwner() error {
	return protocol.Errorf(protocol.FleetUnavailable, "another node owns the session")
}

// writeCheckpoint writes a checkpoint for a session of that epoch, and with moving hands it over. written is false if
// the session is not this node's at that epoch.
func writeCheckpoint(ctx context.Context, n *Node, agent, name string, epoch int64, content, storage []byte, moving bool) (written bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	if storage != nil {
		storage = n.keys.sealStorage(key{agent, name}, storage)
	}
	// NOT moving: a checkpoint that was sent before the hand-over may arrive after it.
	r, err := n.db.ExecContext(ctx, `UPDATE sessions SET checkpoint = $5, moving = $6, kept = clock_timestamp(), storage = COALESCE($7, storage)
		WHERE agent = $1 AND name = $2 AND node = $3 AND epoch = $4 AND ($6 OR NOT moving)`,
		agent, name, n.id, epoch, n.keys.sealCheckpoint(key{agent, name}, content), moving, storage)
	if err != nil {
		return false, err
	}
	rows, err := r.RowsAffected()
	return rows > 0, err
}

// ResolveHandOver finds out what became of a HandOver that returned outcome_unknown. It asks the database until that
// answers. It returns 0 if the session was handed over. Otherwise this node keeps the session, and now is its new
// epoch: the hand-over, which is for the old one, can have no effect any more. Its only error is that of ctx: then the
// session has ended here. KeepAnswers must not be called meanwhile.
func (n *Node) ResolveHandOver(ctx context.Context, agent, name string, epoch int64) (now int64, err error) {
	k := key{agent, name}
	var next epochChange
	for {
		asking, cancel := context.WithTimeout(ctx, databaseTimeout)
		err = nil     // that of the last round
		if now == 0 { // chosen before the update: if its answer is lost too, the next round finds this epoch
			next, err = nextEpoch(asking, n, k, epoch)
			now = next.epoch
		}
		var rows int64
		if err == nil {
			var r sql.Result
			r, err = n.db.ExecContext(asking, `UPDATE sessions SET epoch = $5, answers = $6, answered = 0
				WHERE agent = $1 AND name = $2 AND node = $3 AND epoch IN ($4, $5) AND NOT moving`, agent, name, n.id, epoch, now, next.sealed)
			if err == nil {
				rows, err = r.RowsAffected()
			}
		}
		cancel()
		switch {
		case err == nil && rows == 0, errors.Is(err, sql.ErrNoRows):
			n.endHandOver(k, 0)
			return 0, nil
		case err == nil:
			next.warn(n, k)
			n.endHandOver(k, now)
			return now, nil
		}
		n.log.DebugContext(ctx, "asking whether a session was handed over", "session", name, "error", n.clean(err))
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			if !n.left.Load() {
				n.ownership.mu.Lock()
				n.pendingReleases = append(n.pendingReleases, release{k, now})
				n.ownership.mu.Unlock()
			}
			n.endHandOver(k, 0)
			return 0, context.Cause(ctx)
		}
	}
}

// loseSession notes that another node owns a session which this node owned at that epoch, and calls
// Options.OnTakenOver. It does nothing if this node knows that already.
func loseSession(n *Node, k key, epoch int64) {
	n.ownership.mu.Lock()
	was := n.owned[k] == epoch
	if was {
		delete(n.owned, k)
	}
	n.ownership.mu.Unlock()
	if was {
		n.log.Warn("another node has taken a session over", "session", k.name, "agent", k.agent)
		n.opts.OnTakenOver(k.agent, k.name)
	}
}
