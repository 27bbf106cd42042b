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

// Answers keeps in the fleet's database what operators have answered for good, as policy.Answers: an
// answer about a command is known to all nodes when it is kept, and what was added to the policy holds
// at each of them with its next beat. A row counts only with its proof, which nobody can make
// without state.key: who may only write to the database allows nothing.
type Answers struct{ n *Node }

// AnswersOf returns the answers that the nodes have in common.
func AnswersOf(n *Node) *Answers { return &Answers{n} }

// errForged means that a row has no proof, and that there may have been another in its place.
var errForged = errors.New("the row of the answer has no proof")

// held is what this node knows of additions to the policy.
type held struct {
	reading  sync.Mutex // held while they are read: what is read last is newest
	mu       sync.Mutex
	settings []policy.Setting
	mark     string // of the rows that settings were read from; empty: they have to be read
	kept     int    // how many this node has kept itself
}

// settingsMark is an expression: it has another value when an addition has come or gone.
const settingsMark = "(SELECT encode(sha256(coalesce(string_agg(proof, ''::bytea ORDER BY key, entry), '')), 'hex') FROM confirmed_settings)"

// Command is of policy.Answers. It asks the database each time: a node that remembered an answer would
// not know of a later one. Errors: fleet_unavailable, errForged.
func (a *Answers) Command(ctx context.Context, agent, command, place string) (allow, known bool, err error) {
	if err := a.n.answers(); err != nil {
		return false, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var proof []byte
	err = a.n.db.QueryRowContext(ctx, "SELECT allow, proof FROM confirmed_commands WHERE id = $1", commandID(agent, command, place)).Scan(&allow, &proof)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, false, nil
	case err != nil:
		return false, false, a.n.unavailable(ctx, "reading what an operator has answered for good", err)
	case !proven(a.n.keys, proof, agent, command, place, allow):
		a.n.log.WarnContext(ctx, "a row of confirmed_commands was written by nobody who has state.key: it does not count", "agent", agent, "command", command, "place", place)
		return false, false, errForged
	}
	return allow, true, nil
}

// KeepCommand is of policy.Answers. Error: fleet_unavailable; the answer may have been kept.
func (a *Answers) KeepCommand(ctx context.Context, agent, command, place string, allow bool) error {
	return a.keep(ctx, `INSERT INTO confirmed_commands (id, agent, command, place, allow, proof) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET allow = excluded.allow, proof = excluded.proof, confirmed = excluded.confirmed`,
		commandID(agent, command, place), agent, command, printable(place), allow, prove(a.n.keys, agent, command, place, allow))
}

// KeepSetting is of policy.Answers. Error: fleet_unavailable; the addition may have been kept, and then
// the next beat finds it.
func (a *Answers) KeepSetting(ctx context.Context, s policy.Setting) error {
	for _, entry := range s.Add {
		if err := a.keep(ctx, `INSERT INTO confirmed_settings (key, entry, proof) VALUES ($1, $2, $3)
			ON CONFLICT (key, entry) DO UPDATE SET proof = excluded.proof, confirmed = excluded.confirmed`, s.Key, entry, prove(a.n.keys, s.Key, entry)); err != nil {
			return err
		}
	}
	h := &a.n.held
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept++
	h.mark = "" // there may be more than this one
	h.settings = append(slices.Clone(h.settings), s)
	a.n.about.Hold(h.settings)
	return nil
}

// keep writes an answer. It does not end with who gave it, so that the answer is kept wherever it can be.
func (a *Answers) keep(ctx context.Context, query string, args ...any) error {
	if err := a.n.answers(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if _, err := a.n.db.ExecContext(ctx, query, args...); err != nil {
		return a.n.unavailable(ctx, "keeping an operator's answer", err)
	}
	return nil
}

// follow has the policy hold what operators have added to it for good, where that is not what it was when it
// was read last.
func follow(ctx context.Context, n *Node) error {
	n.held.reading.Lock()
	defer n.held.reading.Unlock()
	n.roster.mu.Lock()
	mark := n.roster.settings
	n.roster.mu.Unlock()
	n.held.mu.Lock()
	same, kept := n.held.mark == mark, n.held.kept
	n.held.mu.Unlock()
	if same {
		return nil
	}
	settings, err := readSettings(ctx, n)
	if err != nil {
		return err
	}
	n.held.mu.Lock()
	defer n.held.mu.Unlock()
	if n.held.kept != kept { // what was read may be without it: the next beat reads again
		return nil
	}
	n.held.settings, n.held.mark = settings, mark
	n.about.Hold(settings)
	return nil
}

func readSettings(ctx context.Context, n *Node) (settings []policy.Setting, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
		if !proven(n.keys, proof, key, entry) {
			n.log.WarnContext(ctx, "a row of confirmed_settings was written by nobody who has state.key: it does not count", "key", key, "entry", entry)
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

// commandID is the key of an answer: a place may be longer than PostgreSQL's index allows.
func commandID(agent, command, place string) []byte {
	id := sha256.Sum256([]byte(purposeOf(agent, command, place)))
	return id[:]
}

// prove makes the proof that a node wrote these values, and proven checks it.
func prove(k *keys, values ...any) []byte { return k.seal(purposeOf(values...), nil) }

func proven(k *keys, proof []byte, values ...any) bool {
	_, err := k.unseal(purposeOf(values...), proof)
	return err == nil
}

func purposeOf(values ...any) string {
	text, _ := json.Marshal(values) // of strings and bools alone
	return "confirmed " + string(text)
}

// printable is a text without what PostgreSQL does not take.
func printable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
