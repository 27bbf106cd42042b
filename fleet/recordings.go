package fleet

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/recording"
)

// recordingSync is what this node still has to synchronize between its recordings and the table recordings. The files are
// at the node of their session. Those of a node without a lease do not count; they count again when it has one.
type recordingSync struct {
	store       atomic.Pointer[recording.Store] // nil until ShareRecordingLimits
	syncAll     atomic.Bool                     // all folders have to be synchronized
	removalsDue atomic.Bool                     // other nodes have marked recordings of this node as gone

	mu      sync.Mutex
	dirty   map[string]bool // folders that have to be synchronized
	syncing bool
}

// ShareRecordingLimits makes recording.bytes_per_agent and recording.count limits of the whole fleet, for the recordings of
// this node's store. Call it once.
func ShareRecordingLimits(n *Node, store *recording.Store) {
	store.JoinFleet(fleetRecordings{n})
	n.recordings.syncAll.Store(true)
	n.recordings.store.Store(store)
}

// fleetRecordings is a recording.Fleet.
type fleetRecordings struct{ n *Node }

// Fit implements recording.Fleet. If the database does not answer, the folder is synchronized after a later heartbeat.
func (f fleetRecordings) Fit(folder string, choose func([]recording.Noted) (here, gone []recording.Kept)) {
	n := f.n
	err := n.checkDatabase()
	if err == nil {
		ctx, cancel := context.WithTimeout(n.ctx, databaseTimeout)
		defer cancel()
		if err = enforceRecordingLimits(ctx, n, folder, choose); err != nil {
			n.log.WarnContext(ctx, "the rows of recordings in the fleet's database are not up to date yet", "error", n.clean(err))
		}
	}
	if err != nil {
		n.recordings.markDirty(folder)
	}
}

// Later implements recording.Fleet. It starts to synchronize the folder now; what fails is retried after a heartbeat.
func (f fleetRecordings) Later(folder string) {
	f.n.recordings.markDirty(folder)
	startRecordingSync(f.n)
}

// markDirty notes that a folder has to be synchronized.
func (r *recordingSync) markDirty(folder string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dirty == nil {
		r.dirty = map[string]bool{}
	}
	r.dirty[folder] = true
}

// enforceRecordingLimits calls choose with the recordings of a folder that count at the other nodes. Those that choose
// returns as here are written to the table, and those that it returns as gone are marked, so that their nodes remove them.
func enforceRecordingLimits(ctx context.Context, n *Node, folder string, choose func([]recording.Noted) (here, gone []recording.Kept)) error {
	tx, err := n.shelfDB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // of no effect after Commit
	// The lock makes two nodes wait for each other: the second counts what the first has written.
	if err := postgres.Lock(ctx, tx, agentLock("recordings "+folder)); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, "SELECT name, ended, bytes, gone FROM recordings WHERE folder = $1 AND (gone OR node <> $2 AND "+hasLease("node")+")", folder, n.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	var noted []recording.Noted
	for rows.Next() {
		var r recording.Noted
		if err := rows.Scan(&r.Name, &r.Ended, &r.Bytes, &r.Gone); err != nil {
			return err
		}
		noted = append(noted, r)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	here, gone := choose(noted)
	names, ended, bytes := columns(here)
	if _, err := tx.ExecContext(ctx, `DELETE FROM recordings WHERE folder = $1 AND node = $2
		AND (name, ended) NOT IN (SELECT * FROM unnest($3::text[], $4::timestamptz[]))`, folder, n.id, names, ended); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO recordings (folder, node, name, ended, bytes) SELECT $1, $2, * FROM unnest($3::text[], $4::timestamptz[], $5::bigint[])
		ON CONFLICT (folder, name, ended) DO UPDATE SET node = excluded.node WHERE recordings.node <> excluded.node`, folder, n.id, names, ended, bytes); err != nil {
		return err
	}
	tell, err := markForRemoval(ctx, tx, folder, gone)
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	n.links.mu.Lock()
	defer n.links.mu.Unlock()
	for node, removal := range tell {
		if o := n.links.open[node]; o != nil { // else the node reads it with its next heartbeat
			o.send(&frame{Remove: removal})
		}
	}
	return nil
}

// markForRemoval marks recordings of other nodes as gone, and returns by node what it has to remove.
func markForRemoval(ctx context.Context, tx *sql.Tx, folder string, gone []recording.Kept) (tell map[string]*Removal, err error) {
	if len(gone) == 0 {
		return nil, nil
	}
	names, ended, _ := columns(gone)
	rows, err := tx.QueryContext(ctx, `UPDATE recordings SET gone = true WHERE folder = $1
		AND (name, ended) IN (SELECT * FROM unnest($2::text[], $3::timestamptz[])) RETURNING node, name, ended`, folder, names, ended)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tell = map[string]*Removal{}
	for rows.Next() {
		var node string
		var k recording.Kept
		if err := rows.Scan(&node, &k.Name, &k.Ended); err != nil {
			return nil, err
		}
		if tell[node] == nil {
			tell[node] = &Removal{Folder: folder}
		}
		tell[node].Gone = append(tell[node].Gone, k)
	}
	return tell, rows.Err()
}

// columns returns the columns of the recordings, for unnest.
func columns(kept []recording.Kept) (names []string, ended []time.Time, bytes []int64) {
	for _, k := range kept {
		names, ended, bytes = append(names, k.Name), append(ended, k.Ended), append(bytes, k.Bytes)
	}
	return names, ended, bytes
}

// startRecordingSync starts a goroutine that synchronizes the dirty folders, unless one runs. It does not wait.
func startRecordingSync(n *Node) {
	r, store := &n.recordings, n.recordings.store.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.ctx.Err() != nil || store == nil || r.syncing || !r.syncAll.Load() && !r.removalsDue.Load() && len(r.dirty) == 0 {
		return
	}
	r.syncing = true
	n.running.Go(func() {
		for folder := range takeDirty(n, store) {
			if n.ctx.Err() != nil {
				break
			}
			store.Settle(folder)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.syncing = false
	})
}

// takeDirty returns the folders that have to be synchronized, and resets them.
func takeDirty(n *Node, store *recording.Store) map[string]bool {
	r := &n.recordings
	r.mu.Lock()
	folders := r.dirty
	r.dirty = nil
	r.mu.Unlock()
	if folders == nil {
		folders = map[string]bool{}
	}
	if r.syncAll.Swap(false) {
		for _, folder := range store.Folders() {
			folders[folder] = true
		}
	}
	if !r.removalsDue.Swap(false) {
		return folders
	}
	ctx, cancel := context.WithTimeout(n.ctx, databaseTimeout)
	defer cancel()
	rows, err := n.shelfDB.QueryContext(ctx, "SELECT DISTINCT folder FROM recordings WHERE node = $1 AND gone", n.id)
	if err != nil {
		return folders // the next heartbeat sets removalsDue again
	}
	defer rows.Close()
	for rows.Next() {
		var folder string
		if rows.Scan(&folder) == nil {
			folders[folder] = true
		}
	}
	return folders
}
