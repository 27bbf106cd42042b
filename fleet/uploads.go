package fleet

import (
	"context"
	"maps"

	"github.com/browserd/browserd/postgres"
)

// Uploads counts what the uploads of one agent take at all nodes: session.upload_bytes_per_agent is the fleet's.
// Files lie at the node of their session, and end with it: those of a node without a lease do not count.
type Uploads struct {
	n     *Node
	agent string
}

// UploadsOf returns the uploads of an agent.
func UploadsOf(n *Node, agent string) *Uploads { return &Uploads{n, agent} }

// change is how many bytes an agent's uploads take at this node from then on. A later one has a higher number.
type change struct{ bytes, number int64 }

// changes are those that the database has not seen yet.
type changes struct {
	unseen map[string]change // by agent
	last   int64             // number
}

// change numbers a change.
func (u *Uploads) change(bytes int64, later bool) change {
	u.n.record.mu.Lock()
	defer u.n.record.mu.Unlock()
	c := &u.n.record.upload
	c.last++
	made := change{bytes, c.last}
	if later {
		if c.unseen == nil {
			c.unseen = map[string]change{}
		}
		c.unseen[u.agent] = made
	}
	return made
}

// Keep notes that this node keeps so many bytes, and returns how many the others do. Where all together would be more
// than limit it notes nothing. After an error, fleet_unavailable, what it has noted is not known: say it with Free.
func (u *Uploads) Keep(bytes, limit int64) (others int64, err error) {
	if err := u.n.answers(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if others, err = u.keep(ctx, u.change(bytes, false), limit); err != nil {
		return 0, u.n.unavailable(ctx, "counting uploads", err)
	}
	return others, nil
}

func (u *Uploads) keep(ctx context.Context, c change, limit int64) (others int64, err error) {
	tx, err := u.n.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // of no effect after Commit
	// Of two nodes the second counts what the first keeps.
	if err := postgres.Lock(ctx, tx, agentLock(u.agent)); err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(sum(bytes), 0) FROM uploads WHERE agent = $1 AND node <> $2 AND "+alive("node"), u.agent, u.n.id).Scan(&others); err != nil {
		return 0, err
	}
	if c.bytes+others > limit {
		return others, nil
	}
	if err := noteUploads(ctx, u.n, tx, u.agent, c); err != nil {
		return 0, err
	}
	return others, tx.Commit()
}

// Free notes that this node keeps so many bytes. Where the database does not answer, it is told with the next beat
// that it answers.
func (u *Uploads) Free(bytes int64) {
	u.change(bytes, true)
	if u.n.answers() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := settleUploads(ctx, u.n); err != nil {
		u.n.log.WarnContext(ctx, "the fleet's database does not know yet that uploads were removed", "error", u.n.clean(err))
	}
}

// settleUploads notes what the database has not seen yet.
func settleUploads(ctx context.Context, n *Node) error {
	n.record.mu.Lock()
	unseen := maps.Clone(n.record.upload.unseen)
	n.record.mu.Unlock()
	for agent, c := range unseen {
		if err := noteUploads(ctx, n, n.db, agent, c); err != nil {
			return err
		}
		n.record.mu.Lock()
		if n.record.upload.unseen[agent] == c {
			delete(n.record.upload.unseen, agent)
		}
		n.record.mu.Unlock()
	}
	return nil
}

func noteUploads(ctx context.Context, n *Node, in execer, agent string, c change) error {
	_, err := in.ExecContext(ctx, `INSERT INTO uploads (agent, node, bytes, change) VALUES ($1, $2, $3, $4)
		ON CONFLICT (agent, node) DO UPDATE SET bytes = excluded.bytes, change = excluded.change WHERE uploads.change < excluded.change`, agent, n.id, c.bytes, c.number)
	return err
}
