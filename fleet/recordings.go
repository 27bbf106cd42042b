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

// recordings are what this node and the database have to tell each other of recordings. Files are at the node of their
// session: those of a node without a lease do not count, and count again when it has one.
type recordings struct {
	store atomic.Pointer[recording.Store] // nil: there is none yet
	all   atomic.Bool                     // each folder has to be settled
	gone  atomic.Bool                     // other nodes have chosen some of here

	mu        sync.Mutex
	unsettled map[string]bool // folders
	settling  bool
}

// KeepRecordings makes recording.bytes_per_agent and recording.count of a store the fleet's. Call it once.
func KeepRecordings(n *Node, store *recording.Store) {
	store.JoinFleet(fleetRecordings{n})
	n.recordings.all.Store(true)
	n.recordings.store.Store(store)
}

// fleetRecordings is a recording.Fleet.
type fleetRecordings struct{ n *Node }

// Fit is of recording.Fleet. Where the database does not answer, the folder is settled with the next beat that it
// answers.
func (f fleetRecordings) Fit(folder string, choose func([]recording.Noted) (here, gone []recording.Kept)) {
	n := f.n
	err := n.answers()
	if err == nil {
		ctx, cancel := context.WithTimeout(n.living, patience)
		defer cancel()
		if err = fitRecordings(ctx, n, folder, choose); err != nil {
			n.log.WarnContext(ctx, "the fleet's database does not know yet which recordings are kept", "error", n.clean(err))
		}
	}
	if err != nil {
		n.recordings.unsettle(folder)
	}
}

// Later is of recording.Fleet. What cannot be settled at once is with the next beat.
func (f fleetRecordings) Later(folder string) {
	f.n.recordings.unsettle(folder)
	settleRecordings(f.n)
}

// unsettle notes that a folder has to be settled.
func (r *recordings) unsettle(folder string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unsettled == nil {
		r.unsettled = map[string]bool{}
	}
	r.unsettled[folder] = true
}

func fitRecordings(ctx context.Context, n *Node, folder string, choose func([]recording.Noted) (here, gone []recording.Kept)) error {
	tx, err := n.saved.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // of no effect after Commit
	// Of two nodes the second counts what the first keeps.
	if err := postgres.Lock(ctx, tx, agentLock("recordings "+folder)); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, "SELECT name, ended, bytes, gone FROM recordings WHERE folder = $1 AND (gone OR node <> $2 AND "+alive("node")+")", folder, n.id)
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
	tell, err := markGone(ctx, tx, folder, gone)
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	n.links.mu.Lock()
	defer n.links.mu.Unlock()
	for node, removal := range tell {
		if o := n.links.open[node]; o != nil { // else with that node's next beat
			o.send(&frame{Remove: removal})
		}
	}
	return nil
}

// markGone notes that recordings of other nodes have to go, and returns what to tell which node.
func markGone(ctx context.Context, tx *sql.Tx, folder string, gone []recording.Kept) (tell map[string]*Removal, err error) {
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

func columns(kept []recording.Kept) (names []string, ended []time.Time, bytes []int64) {
	for _, k := range kept {
		names, ended, bytes = append(names, k.Name), append(ended, k.Ended), append(bytes, k.Bytes)
	}
	return names, ended, bytes
}

// settleRecordings begins to settle the folders that have to be, unless it does so already. It does not wait.
func settleRecordings(n *Node) {
	r, store := &n.recordings, n.recordings.store.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.living.Err() != nil || store == nil || r.settling || !r.all.Load() && !r.gone.Load() && len(r.unsettled) == 0 {
		return
	}
	r.settling = true
	n.running.Go(func() {
		for folder := range toSettle(n, store) {
			if n.living.Err() != nil {
				break
			}
			store.Settle(folder)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.settling = false
	})
}

// toSettle takes the folders that have to be settled.
func toSettle(n *Node, store *recording.Store) map[string]bool {
	r := &n.recordings
	r.mu.Lock()
	folders := r.unsettled
	r.unsettled = nil
	r.mu.Unlock()
	if folders == nil {
		folders = map[string]bool{}
	}
	if r.all.Swap(false) {
		for _, folder := range store.Folders() {
			folders[folder] = true
		}
	}
	if !r.gone.Swap(false) {
		return folders
	}
	ctx, cancel := context.WithTimeout(n.living, patience)
	defer cancel()
	rows, err := n.saved.QueryContext(ctx, "SELECT DISTINCT folder FROM recordings WHERE node = $1 AND gone", n.id)
	if err != nil {
		return folders // the next beat finds them again
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
