package fleet

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// Operators' answers for the life of a session are in the session's row, sealed for its epoch. Somebody who can only
// write to the database cannot forge an answer, or move it to another session or to a later one of the same name.

// KeepAnswers stores all that operators have answered for a session of that epoch. A call with a higher number wins.
// Error: fleet_unavailable; the answers may have been stored all the same.
func (n *Node) KeepAnswers(ctx context.Context, agent, name string, epoch, number int64, content []byte) error {
	if err := n.checkDatabase(); err != nil {
		return err
	}
	k := key{agent, name}
	// WithoutCancel: the answer is stored even if the operator's connection ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), databaseTimeout)
	defer cancel()
	r, err := n.db.ExecContext(ctx, `UPDATE sessions SET answers = $5, answered = $6
		WHERE agent = $1 AND name = $2 AND node = $3 AND epoch = $4 AND NOT moving AND answered < $6`, agent, name, n.id, epoch, n.keys.sealAnswers(k, epoch, content), number)
	var rows int64
	if err == nil {
		rows, err = r.RowsAffected()
	}
	switch {
	case err != nil:
		return n.unavailable(ctx, "keeping what an operator has answered for a session", err)
	case rows > 0:
		return nil
	}
	var here bool
	err = n.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM sessions WHERE agent = $1 AND name = $2 AND node = $3 AND epoch = $4 AND NOT moving)",
		agent, name, n.id, epoch).Scan(&here)
	switch {
	case err != nil:
		return n.unavailable(ctx, "keeping what an operator has answered for a session", err)
	case here:
		return protocol.Errorf(protocol.FleetUnavailable, "what an operator has answered for a session is not kept: the database has what was answered later")
	}
	loseSession(n, k, epoch)
	return errNotOwner()
}

// epochChange is a session's next epoch, with the operators' answers sealed for it.
type epochChange struct {
	epoch   int64
	answers []byte // nil: there are none
	sealed  []byte // the answers, sealed for epoch
	inRow   []byte // the answers as the row has them, sealed for the epoch before
}

// warn logs if the answers in the row could not be read.
func (r *epochChange) warn(n *Node, k key) {
	if r.inRow != nil && r.sealed == nil {
		n.log.Warn("operators' answers for a session cannot be read, so operators are asked again: the session was at a node of an older version, or somebody without state.key changed its row", "session", k.name, "agent", k.agent)
	}
}

// nextEpoch chooses the next epoch of a session, without writing it. sql.ErrNoRows: no session has that epoch.
func nextEpoch(ctx context.Context, n *Node, k key, epoch int64) (r epochChange, err error) {
	err = n.db.QueryRowContext(ctx, "SELECT nextval('epochs'), answers FROM sessions WHERE agent = $1 AND name = $2 AND epoch = $3", k.agent, k.name, epoch).Scan(&r.epoch, &r.inRow)
	if err != nil || r.inRow == nil {
		return r, err
	}
	if r.answers, err = n.keys.unsealAnswers(k, epoch, r.inRow); err != nil {
		return epochChange{epoch: r.epoch, inRow: r.inRow}, nil
	}
	r.sealed = n.keys.sealAnswers(k, r.epoch, r.answers)
	return r, nil
}
