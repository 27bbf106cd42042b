package fleet

import (
	"context"
	"maps"
	"sync"

	"github.com/browserd/browserd/postgres"
)

// Uploads counts the bytes of one agent's uploads at all nodes, for session.upload_bytes_per_agent. The files are at the
// node of their session, and end with the session: those of a node without a lease do not count.
type Uploads struct {
	n     *Node
	agent string
}

// UploadsOf returns the uploads of an agent.
func UploadsOf(n *Node, agent string) *Uploads { return &Uploads{n, agent} }

// uploadChange is a new size of an agent's uploads at this node. A later change has a higher number.
type uploadChange struct{ bytes, number int64 }

// uploadChanges are the changes that are not in the database yet.
type uploadChanges struct {
	mu        sync.Mutex
	unwritten map[string]uploadChange // by agent
	last      int64                   // the number of the last change
}

// newChange returns a change with the next number. later: it is written with a later heartbeat at the latest.
func (u *Uploads) newChange(bytes int64, later bool) uploadChange {
	c := &u.n.uploads
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	made := uploadChange{bytes, c.last}
	if later {
		if c.unwritten == nil {
			c.unwritten = map[string]uploadChange{}
		}
		c.unwritten[u.agent] = made
	}
	return made
}

// Keep sets how many bytes the agent's uploads take at this node, and returns how many they take at the others. If the sum
// exceeds limit it sets nothing. After an error, fleet_unavailable, it may have been set or not: call Free with what holds.
func (u *Uploads) Keep(bytes, limit int64) (others int64, err error) {
	if err := u.n.checkDatabase(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseTimeout)
	defer cancel()
	if others, err = u.tryKeep(ctx, u.newChange(bytes, false), limit); err != nil {
		return 0, u.n.unavailable(ctx, "counting uploads", err)
	}
	return others, nil
}

func (u *Uploads) tryKeep(ctx context.Context, c uploadChange, limit int64) (others int64, err error) {
	tx, err := u.n.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // of no effect after Commit
	// The lock makes two nodes wait for each other: the second counts what the first has set.
	if err := postgres.Lock(ctx, tx, agentLock(u.agent)); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(sum(bytes), 0) FROM uploads WHERE agent = $1 AND node <> $2 AND "+hasLease("node"), u.agent, u.n.id).Scan(&others); err != nil {
		return 0, err
	}
	if c.bytes+others > limit {
		return others, nil
	}
	if err := writeUploads(ctx, u.n, tx, u.agent, c); err != nil {
		return 0, err
	}
	return others, tx.Commit()
}

// Free sets how many bytes the agent's uploads take at this node, after some were removed. If the database does not answer,
// that is written with a later heartbeat.
func (u *Uploads) Free(bytes int64) {
	u.newChange(bytes, true)
	if u.n.checkDatabase() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseTimeout)
	defer cancel()
	if err := flushUploads(ctx, u.n); err != nil {
		u.n.log.WarnContext(ctx, "the size of an agent's uploads is not written to the fleet's database yet", "error", u.n.clean(err))
	}
}

// flushUploads writes the changes that are not in the database yet.
func flushUploads(ctx context.Context, n *Node) error {
	n.uploads.mu.Lock()
	unwritten := maps.Clone(n.uploads.unwritten)
	n.uploads.mu.Unlock()
	for agent, c := range unwritten {
		if err := writeUploads(ctx, n, n.db, agent, c); err != nil {
			return err
		}
		n.uploads.mu.Lock()
		if n.uploads.unwritten[agent] == c {
			delete(n.uploads.unwritten, agent)
		}
		n.uploads.mu.Unlock()
	}
	return nil
}

// writeUploads writes a change, unless a later one is there already.
func writeUploads(ctx context.Context, n *Node, in execer, agent string, c uploadChange) error {
	_, err := in.ExecContext(ctx, `INSERT INTO uploads (agent, node, bytes, change) VALUES ($1, $2, $3, $4)
		ON CONFLICT (agent, node) DO UPDATE SET bytes = excluded.bytes, change = excluded.change WHERE uploads.change < excluded.change`, agent, n.id, c.bytes, c.number)
	return err
}
