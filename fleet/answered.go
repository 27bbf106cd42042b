package fleet

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// What operators have answered for the life of a session lies in its row, sealed for its epoch: who may only write to
// the database answers nothing, and an answer of another session, or of an earlier one of that name, is none.

// KeepAnswers keeps what operators have answered for a session of that epoch, all of it, unless what has a higher number
// is kept. Error: fleet_unavailable; it may have been kept.
func (n *Node) KeepAnswers(ctx context.Context, agent, name string, epoch, number int64, content []byte) error {
	if err := n.answers(); err != nil {
		return err
	}
	k := key{agent, name}
	// It does not end with who answered, so that the answer is kept wherever it can be.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
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
	lost(n, k, epoch)
	return errElsewhere()
}

// renewal is a session's next epoch, with what operators have answered for it.
type renewal struct {
	epoch   int64
	answers []byte // nil: nothing
	sealed  []byte // the answers for that epoch
	was     []byte // as the row has them
}

// warn says that the answers in the row cannot be read, if they cannot.
func (r *renewal) warn(n *Node, k key) {
	if r.was != nil && r.sealed == nil {
		n.log.Warn("operators are asked again in a session: a node of a version that takes no answers along had it since they answered, or somebody who has no state.key changed its row", "session", k.name, "agent", k.agent)
	}
}

// renew chooses the next epoch of a session of that epoch. sql.ErrNoRows: there is none.
func renew(ctx context.Context, n *Node, k key, epoch int64) (r renewal, err error) {
	err = n.db.QueryRowContext(ctx, "SELECT nextval('epochs'), answers FROM sessions WHERE agent = $1 AND name = $2 AND epoch = $3", k.agent, k.name, epoch).Scan(&r.epoch, &r.was)
	if err != nil || r.was == nil {
		return r, err
	}
	if r.answers, err = n.keys.unsealAnswers(k, epoch, r.was); err != nil {
		return renewal{epoch: r.epoch, was: r.was}, nil
	}
	r.sealed = n.keys.sealAnswers(k, r.epoch, r.answers)
	return r, nil
}
