package fleet

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
)

// Home returns the session that a token's requests are for where they name none and belong to no
// connection, so that each may come to another node: the one that SetHome named last, empty if it never did.
// Error: fleet_unavailable.
func Home(ctx context.Context, n *Node, agent string, token int) (session string, err error) {
	if err := n.answers(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = n.db.QueryRowContext(ctx, "SELECT session FROM homes WHERE agent = $1 AND token = $2", agent, token).Scan(&session)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", n.unavailable(ctx, "looking for a token's session", err)
	}
	return session, nil
}

// importToken stands in Home for the import of a profile that an agent has under way.
const importToken = -1

// Import returns the id of the import of a profile that an agent has begun last, at whichever node, by pieces: a piece is
// of that one. Empty: there is none. Error: fleet_unavailable.
func Import(ctx context.Context, n *Node, agent string) (id string, err error) {
	return Home(ctx, n, agent, importToken)
}

// BeginImport notes that an agent begins an import of a profile by pieces, and returns its id. Error: fleet_unavailable.
func BeginImport(ctx context.Context, n *Node, agent string) (id string, err error) {
	id = rand.Text()
	return id, SetHome(ctx, n, agent, importToken, id)
}

// SetHome names the session that Home returns from now on, at each node. Error: fleet_unavailable.
func SetHome(ctx context.Context, n *Node, agent string, token int, session string) error {
	if err := n.answers(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := n.db.ExecContext(ctx, `INSERT INTO homes (agent, token, session) VALUES ($1, $2, $3)
		ON CONFLICT (agent, token) DO UPDATE SET session = excluded.session`, agent, token, session)
	if err != nil {
		return n.unavailable(ctx, "noting a token's session", err)
	}
	return nil
}
