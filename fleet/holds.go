package fleet

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
)

// holdKey identifies a hold.
type holdKey struct{ kind, agent, base string }

// holds are the holds of this node: the names under which it may write on the fleet's shelves.
type holds struct {
	mu       sync.Mutex
	tokens   map[holdKey]string // of those that are not released; the node may have lost some with its lease
	released []string           // tokens whose rows are not deleted yet
}

// add notes a hold, and returns false if there is one of that name already. A hold that was lost with the lease counts
// until its holder releases it.
func (h *holds) add(name holdKey, token string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tokens[name] != "" {
		return false
	}
	if h.tokens == nil {
		h.tokens = map[holdKey]string{}
	}
	h.tokens[name] = token
	return true
}

// token returns the token of the hold of a name; empty: there is none.
func (h *holds) token(name holdKey) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tokens[name]
}

// remove removes a hold that was not granted.
func (h *holds) remove(name holdKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tokens, name)
}

// release removes a hold whose row has to be deleted.
func (h *holds) release(name holdKey, token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tokens[name] == token { // a second release must not end a later hold
		delete(h.tokens, name)
	}
	h.released = append(h.released, token)
}

// toDelete returns the tokens whose rows are not deleted yet.
func (h *holds) toDelete() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.released)
}

// deleted notes that the row of a token is deleted.
func (h *holds) deleted(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = slices.DeleteFunc(h.released, func(t string) bool { return t == token })
}

// Hold implements shelf.Shelf.
func (r *dbShelf) Hold(agent, base string) (release func(), ok bool, err error) {
	if err := r.n.CheckLease(); err != nil {
		return nil, false, err
	}
	if err := r.n.checkDatabase(); err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseTimeout)
	defer cancel()
	token, name := rand.Text(), holdKey{r.kind, agent, base}
	if !r.n.holds.add(name, token) {
		return nil, false, nil
	}
	// As with sessions, a node declares others lost only after declareLostAfter.
	result, err := r.n.db.ExecContext(ctx, `INSERT INTO saved_holds (kind, agent, name, node, token) SELECT $1, $2, $3, $4, $5 WHERE `+hasLease("$4")+`
		ON CONFLICT (kind, agent, name) DO UPDATE SET node = excluded.node, token = excluded.token
		WHERE NOT EXISTS (SELECT FROM nodes WHERE id = saved_holds.node AND (lease_until > clock_timestamp() OR NOT $6 AND state <> $7))`,
		r.kind, agent, base, r.n.id, token, r.n.lease.heldFor(r.n.now(), declareLostAfter), stateGone)
	var taken int64
	if err == nil {
		taken, err = result.RowsAffected()
	}
	if err != nil { // the row may have been written all the same
		r.n.holds.release(name, token)
		return nil, false, r.n.unavailable(ctx, "reserving a name", err)
	}
	if taken == 0 {
		r.n.holds.remove(name)
		return nil, false, nil
	}
	return func() { releaseHold(r.n, name, token) }, true, nil
}

// releaseHold releases a hold. If the database does not answer, its row is deleted after a later heartbeat.
func releaseHold(n *Node, name holdKey, token string) {
	n.holds.release(name, token)
	ctx, cancel := context.WithTimeout(context.Background(), databaseTimeout)
	defer cancel()
	if err := deleteHold(ctx, n, token); err != nil {
		n.log.WarnContext(ctx, "a released hold is not deleted from the fleet's database yet", "error", n.clean(err))
	}
}

// deleteHold deletes the row of a released hold.
func deleteHold(ctx context.Context, n *Node, token string) error {
	_, err := n.db.ExecContext(ctx, "DELETE FROM saved_holds WHERE token = $1", token)
	if err == nil {
		n.holds.deleted(token)
	}
	return err
}
