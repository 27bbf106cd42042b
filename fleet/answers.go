package fleet

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/browserd/browserd/policy"
)

// Answers stores operators' answers for good in the fleet's database. It is a policy.Answers. An answer about a
// command holds at all nodes once it is stored. An addition to the policy holds at the other nodes with their next
// heartbeat. A row counts only with its proof, for which one needs state.key: somebody who can only write to the
// database cannot allow anything.
type Answers struct{ n *Node }

// AnswersOf returns the answers of a node's fleet.
func AnswersOf(n *Node) *Answers { return &Answers{n} }

// errForged means that a row has no valid proof. It may have replaced a valid row.
var errForged = errors.New("the row of the answer has no valid proof")

// policyAdditions is what this node knows of operators' additions to the policy.
type policyAdditions struct {
	reading   turn // held while the table is read, so that the last reading to be stored is the newest
	mu        sync.Mutex
	settings  []policy.Setting
	digest    string // policyDigestQuery of the rows in settings; empty: read them again
	ownWrites int    // how many additions this node has stored itself
}

// policyDigestQuery is an SQL expression for a digest of all additions to the policy.
const policyDigestQuery = "(SELECT encode(sha256(coalesce(string_agg(proof, ''::bytea ORDER BY key, entry), '')), 'hex') FROM confirmed_settings)"

// Command implements policy.Answers. It asks the database each time: with a cache a node would not see a later answer.
// Errors: fleet_unavailable, errForged.
func (a *Answers) Command(ctx context.Context, agent, command, place string) (allow, known bool, err error) {
	if err := a.n.checkDatabase(); err != nil {
		return false, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	var proof []byte
	err = a.n.db.QueryRowContext(ctx, "SELECT allow, proof FROM confirmed_commands WHERE id = $1", commandID(agent, command, place)).Scan(&allow, &proof)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, false, nil
	case err != nil:
		return false, false, a.n.unavailable(ctx, "reading what an operator has answered for good", err)
	case !validProof(a.n.keys, proof, agent, command, place, allow):
		a.n.log.WarnContext(ctx, "ignored a row of confirmed_commands that was written without state.key", "agent", agent, "command", command, "place", place)
		return false, false, errForged
	}
	return allow, true, nil
}

// KeepCommand implements policy.Answers. Error: fleet_unavailable; the answer may have been stored all the same.
func (a *Answers) KeepCommand(ctx context.Context, agent, command, place string, allow bool) error {
	return a.keep(ctx, `INSERT INTO confirmed_commands (id, agent, command, place, allow, proof) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET allow = excluded.allow, proof = excluded.proof, confirmed = excluded.confirmed`,
		commandID(agent, command, place), agent, command, storable(place), allow, makeProof(a.n.keys, agent, command, place, allow))
}

// KeepSetting implements policy.Answers. Error: fleet_unavailable; the addition may have been stored all the same, and
// then the next heartbeat applies it.
func (a *Answers) KeepSetting(ctx context.Context, s policy.Setting) error {
	for _, entry := range s.Add {
		if err := a.keep(ctx, `INSERT INTO confirmed_settings (key, entry, proof) VALUES ($1, $2, $3)
			ON CONFLICT (key, entry) DO UPDATE SET proof = excluded.proof, confirmed = excluded.confirmed`, s.Key, entry, makeProof(a.n.keys, s.Key, entry)); err != nil {
			return err
		}
	}
	p := &a.n.additions
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ownWrites++
	p.digest = "" // the table may have other new rows too
	p.settings = append(slices.Clone(p.settings), s)
	a.n.opts.SetPolicyAdditions(p.settings)
	return nil
}

// keep writes an answer, even if the operator's connection ends meanwhile.
func (a *Answers) keep(ctx context.Context, query string, args ...any) error {
	if err := a.n.checkDatabase(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), databaseTimeout)
	defer cancel()
	if _, err := a.n.db.ExecContext(ctx, query, args...); err != nil {
		return a.n.unavailable(ctx, "keeping an operator's answer", err)
	}
	return nil
}

// applyPolicyAdditions reads operators' additions to the policy and applies them, if they have changed since they were
// read last.
func applyPolicyAdditions(ctx context.Context, n *Node) error {
	if err := n.additions.reading.lock(ctx); err != nil {
		return err
	}
	defer n.additions.reading.unlock()
	n.membership.mu.Lock()
	digest := n.membership.policyDigest
	n.membership.mu.Unlock()
	n.additions.mu.Lock()
	same, ownWrites := n.additions.digest == digest, n.additions.ownWrites
	n.additions.mu.Unlock()
	if same {
		return nil
	}
	settings, err := readSettings(ctx, n)
	if err != nil {
		return err
	}
	n.additions.mu.Lock()
	defer n.additions.mu.Unlock()
	if n.additions.ownWrites != ownWrites { // this node has stored one meanwhile, which the reading may not have: the next heartbeat reads again
		return nil
	}
	n.additions.settings, n.additions.digest = settings, digest
	n.opts.SetPolicyAdditions(settings)
	return nil
}

func readSettings(ctx context.Context, n *Node) (settings []policy.Setting, err error) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	rows, err := n.db.QueryContext(ctx, "SELECT key, entry, proof FROM confirmed_settings ORDER BY key, entry")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key, entry string
		var proof []byte
		if err := rows.Scan(&key, &entry, &proof); err != nil {
			return nil, err
		}
		if !validProof(n.keys, proof, key, entry) {
			n.log.WarnContext(ctx, "ignored a row of confirmed_settings that was written without state.key", "key", key, "entry", entry)
			continue
		}
		if last := len(settings) - 1; last >= 0 && settings[last].Key == key {
			settings[last].Add = append(settings[last].Add, entry)
		} else {
			settings = append(settings, policy.Setting{Key: key, Add: []string{entry}})
		}
	}
	return settings, rows.Err()
}

// commandID is the primary key of an answer. It is a hash because a place may be longer than a PostgreSQL index allows.
func commandID(agent, command, place string) []byte {
	id := sha256.Sum256([]byte(proofPurpose(agent, command, place)))
	return id[:]
}

// makeProof returns a proof that somebody with state.key wrote these values. validProof checks it.
func makeProof(k *keys, values ...any) []byte { return k.seal(proofPurpose(values...), nil) }

func validProof(k *keys, proof []byte, values ...any) bool {
	_, err := k.unseal(proofPurpose(values...), proof)
	return err == nil
}

func proofPurpose(values ...any) string {
	text, _ := json.Marshal(values) // strings and bools only
	return "confirmed " + string(text)
}

// storable replaces what a PostgreSQL text cannot hold: invalid UTF-8 and NUL.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
