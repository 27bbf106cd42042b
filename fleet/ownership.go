package fleet

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"slices"
	"time"

	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/protocol"
)

// Claim makes this node the owner of a new session and returns its epoch. An agent has at
// most limit sessions in the whole fleet. checkpoint is the first one. Errors: invalid_params where the agent has a session
// of that name, session_limit, fleet_unavailable.
func (n *Node) Claim(ctx context.Context, agent, name string, limit int, checkpoint []byte) (epoch int64, err error) {
	if err := n.CheckAgent(agent); err != nil {
		return 0, err
	}
	if err := n.answers(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	epoch, err = n.claim(ctx, agent, name, limit, n.keys.sealFor(key{agent, name}, checkpoint))
	var e *protocol.Error
	switch {
	case err == nil:
		n.record.mu.Lock()
		n.owned[key{agent, name}] = epoch
		n.record.mu.Unlock()
		return epoch, nil
	case errors.As(err, &e):
		return 0, err
	}
	// The commit may have happened: what it made must not stay.
	n.record.mu.Lock()
	n.unreleased = append(n.unreleased, release{key{agent, name}, epoch})
	n.record.mu.Unlock()
	return 0, n.unavailable(ctx, "opening a session", err)
}

// answers returns fleet_unavailable at once if the last beat failed, so that not each command
// waits to find that out.
func (n *Node) answers() error {
	n.record.mu.Lock()
	defer n.record.mu.Unlock()
	if n.silent {
		return protocol.Errorf(protocol.FleetUnavailable, "the fleet's database does not answer")
	}
	return nil
}

func (n *Node) claim(ctx context.Context, agent, name string, limit int, sealed []byte) (epoch int64, err error) {
	tx, err := n.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // of no effect after Commit
	// Of two claims of one agent the second counts the first.
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
	// A row of this node's own is one whose end the database has not seen yet.
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

// Release ends a session of this node. Where the database does not answer, the session's row
// is removed when it does.
func (n *Node) Release(ctx context.Context, agent, name string, epoch int64) {
	r := release{key{agent, name}, epoch}
	n.record.mu.Lock()
	if n.owned[r.key] == epoch {
		delete(n.owned, r.key)
	}
	n.unreleased = append(n.unreleased, r)
	n.record.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := remove(ctx, n, r); err != nil {
		n.log.WarnContext(ctx, "the fleet's database does not know yet that a session has ended", "session", name, "error", n.clean(err))
	}
}

// remove deletes the row of an ended session, if it has that epoch.
func remove(ctx context.Context, n *Node, r release) error {
	_, err := n.db.ExecContext(ctx, "DELETE FROM sessions WHERE agent = $1 AND name = $2 AND epoch = $3 AND node = $4", r.agent, r.name, r.epoch, n.id)
	if err == nil {
		n.record.mu.Lock()
		n.unreleased = slices.DeleteFunc(n.unreleased, func(o release) bool { return o == r })
		n.record.mu.Unlock()
	}
	return err
}

// Owner is who has a session.
type Owner struct {
	Node   string // its ID
	Number int
	Name   string
	Epoch  int64
	Lost   bool // its lease is over, by the database's clock, or it hands the session over
	Moving bool // it hands the session over: any node may have it at once
}

// Owner returns who has an agent's session, nil where there is no session of that name.
func (n *Node) Owner(ctx context.Context, agent, name string) (*Owner, error) {
	if err := n.answers(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
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

// Taken is a session that TakeOver took.
type Taken struct {
	Epoch      int64
	Checkpoint []byte
	Storage    []byte // nil: none was kept
	Answers    []byte // what KeepAnswers was given last; nil: nothing
	Moved      bool   // its owner handed it over: nothing of it is lost
}

// TakeOver makes this node the owner of a session whose owner was from, if from hands it over,
// or its lease is over, and nobody else was faster. from may be this node, where the answer to an
// earlier TakeOver was lost: nobody has the session then. The epoch is higher than any before. nil:
// it was not taken. Only one TakeOver of a session may run at a node.
func (n *Node) TakeOver(ctx context.Context, agent, name string, from Owner) (*Taken, error) {
	if err := n.CheckAgent(agent); err != nil {
		return nil, err
	}
	k := key{agent, name}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	next, err := renew(ctx, n, k, from.Epoch)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, n.unavailable(ctx, "taking a session over", err)
	}
	// The lock on the node's row makes its beat wait: it keeps its lease, or it learns of this.
	t := Taken{Answers: next.answers}
	var sealed, storage []byte
	err = n.db.QueryRowContext(ctx, `WITH lost AS (SELECT id FROM nodes WHERE id = $4 AND lease_until < clock_timestamp() AND $6 AND `+alive("$3")+` FOR NO KEY UPDATE),
		was AS (SELECT moving FROM sessions WHERE agent = $1 AND name = $2)
		UPDATE sessions SET node = $3, epoch = $8, moving = false, answers = $9, answered = 0
		WHERE agent = $1 AND name = $2 AND node = $4 AND epoch = $5 AND answers IS NOT DISTINCT FROM $10 AND (moving OR EXISTS (SELECT FROM lost) OR $7)
		RETURNING epoch, checkpoint, storage, (SELECT moving FROM was)`,
		agent, name, n.id, from.Node, from.Epoch, n.lease.steady(n.now(), steadyAfter), from.Node == n.id && n.unrecordedRow(k, from.Epoch), next.epoch, next.sealed, next.was).Scan(&t.Epoch, &sealed, &storage, &t.Moved)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, n.unavailable(ctx, "taking a session over", err)
	}
	n.record.mu.Lock()
	n.owned[k] = t.Epoch
	n.record.mu.Unlock()
	next.warn(n, k)
	t.Checkpoint, err = n.keys.unsealFor(k, sealed)
	if err == nil && storage != nil {
		t.Storage, err = n.keys.unsealStorage(k, storage)
	}
	if err != nil {
		n.Release(ctx, agent, name, t.Epoch) // nobody could go on with it
		return nil, protocol.Errorf(protocol.Internal, "what was kept of the session cannot be read: %w", err)
	}
	return &t, nil
}

// unrecordedRow reports whether a row names this node as owner of a session that it has no record
// of: it took the session over, and the database's answer was lost.
func (r *record) unrecordedRow(k key, epoch int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, has := r.owned[k]
	return !has && !r.handed[k] && !slices.Contains(r.unreleased, release{k, epoch})
}

// Checkpoint keeps what a session of this node can be continued from, sealed, and what its origins
// keep, unless that is nil. Where the session is another's by now, it says so to About.Taken.
func (n *Node) Checkpoint(ctx context.Context, agent, name string, epoch int64, content, storage []byte) error {
	if err := n.answers(); err != nil {
		return err
	}
	kept, err := keep(ctx, n, agent, name, epoch, content, storage, false)
	if err != nil {
		return n.unavailable(ctx, "keeping a session", err)
	}
	if !kept {
		lost(n, key{agent, name}, epoch)
		return errElsewhere()
	}
	return nil
}

// HandOver is the last Checkpoint: whoever asks for the session next takes it over. After
// fleet_unavailable the session is still this node's. After outcome_unknown it may have been
// handed over: ask Regain.
func (n *Node) HandOver(ctx context.Context, agent, name string, epoch int64, content []byte) error {
	if err := n.answers(); err != nil {
		return err
	}
	// Nothing judges the session while it is on its way.
	k := key{agent, name}
	n.record.mu.Lock()
	delete(n.owned, k)
	n.handed[k] = true
	n.record.mu.Unlock()
	handed, err := keep(ctx, n, agent, name, epoch, content, nil, true)
	switch {
	case err != nil:
		n.unavailable(ctx, "handing a session over", err)
		return protocol.Errorf(protocol.OutcomeUnknown, "the fleet's database did not say whether the session was handed over")
	case !handed:
		n.endHandOver(k, epoch)
		lost(n, k, epoch)
		return errElsewhere()
	}
	n.endHandOver(k, 0)
	return nil
}

// endHandOver ends a hand-over: the session is this node's with that epoch, or, with 0, it is not.
func (r *record) endHandOver(k key, epoch int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.handed, k)
	if epoch != 0 {
		r.owned[k] = epoch
	}
}

func errElsewhere() error {
	return protocol.Errorf(protocol.FleetUnavailable, "the session is another node's")
}

// keep writes what a session of that epoch can be continued from, and reports whether it is this
// node's.
func keep(ctx context.Context, n *Node, agent, name string, epoch int64, content, storage []byte, moving bool) (kept bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if storage != nil {
		storage = n.keys.sealStorage(key{agent, name}, storage)
	}
	// A checkpoint that was sent before the hand-over may arrive behind it.
	r, err := n.db.ExecContext(ctx, `UPDATE sessions SET checkpoint = $5, moving = $6, kept = clock_timestamp(), storage = COALESCE($7, storage)
		WHERE agent = $1 AND name = $2 AND node = $3 AND epoch = $4 AND ($6 OR NOT moving)`,
		agent, name, n.id, epoch, n.keys.sealFor(key{agent, name}, content), moving, storage)
	if err != nil {
		return false, err
	}
	rows, err := r.RowsAffected()
	return rows > 0, err
}

// Regain finds out what became of a HandOver that answered outcome_unknown, and waits for the
// database to say so. It returns the session's epoch from now on, with which nothing of that
// HandOver can happen any more, or 0 where the session was handed over. Its only error is that
// of ctx: the session has ended here. KeepAnswers must not be called meanwhile.
func (n *Node) Regain(ctx context.Context, agent, name string, epoch int64) (now int64, err error) {
	k := key{agent, name}
	var next renewal
	for {
		asking, cancel := context.WithTimeout(ctx, patience)
		err = nil     // of the round before
		if now == 0 { // chosen first, so that an answer may be lost once more
			next, err = renew(asking, n, k, epoch)
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
		n.log.DebugContext(ctx, "it is not known whether a session was handed over", "session", name, "error", n.clean(err))
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			n.record.mu.Lock()
			n.unreleased = append(n.unreleased, release{k, now})
			n.record.mu.Unlock()
			n.endHandOver(k, 0)
			return 0, context.Cause(ctx)
		}
	}
}

// lost says that a session which this node had at that epoch is another's, unless it knows so.
func lost(n *Node, k key, epoch int64) {
	n.record.mu.Lock()
	was := n.owned[k] == epoch
	if was {
		delete(n.owned, k)
	}
	n.record.mu.Unlock()
	if was {
		n.log.Warn("another node has taken a session over", "session", k.name, "agent", k.agent)
		n.about.Taken(k.agent, k.name)
	}
}
