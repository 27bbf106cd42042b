package fleet

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
)

// Home returns the session for a token's requests that name no session and belong to no connection, each of which may
// reach another node. It is the one of the last SetHome; empty: there was none. Error: fleet_unavailable.
func Home(ctx context.Context, n *Node, agent string, token int) (session string, err error) {
	if err := n.checkDatabase(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	err = n.db.QueryRowContext(ctx, "SELECT session FROM homes WHERE agent = $1 AND token = $2", agent, token).Scan(&session)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", n.unavailable(ctx, "looking for a token's session", err)
	}
	return session, nil
}

// importToken is the token under which the table homes keeps the ID of an agent's import of a profile.
const importToken = -1

// ImportID returns the ID of the import of a profile that an agent began last, at any node. The pieces that the agent
// sends belong to that import. Empty: there is none. Error: fleet_unavailable.
func ImportID(ctx context.Context, n *Node, agent string) (id string, err error) {
	return Home(ctx, n, agent, importToken)
}

// BeginImport starts an import of a profile by pieces, and returns its ID. Error: fleet_unavailable.
func BeginImport(ctx context.Context, n *Node, agent string) (id string, err error) {
	id = rand.Text()
	return id, SetHome(ctx, n, agent, importToken, id)
}

// SetHome sets the session that Home returns at all nodes. Error: fleet_unavailable.
func SetHome(ctx context.Context, n *Node, agent string, token int, session string) error {
	if err := n.checkDatabase(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	_, err := n.db.ExecContext(ctx, `INSERT INTO homes (agent, token, session) VALUES ($1, $2, $3)
		ON CONFLICT (agent, token) DO UPDATE SET session = excluded.session`, agent, token, session)
	if err != nil {
		return n.unavailable(ctx, "noting a token's session", err)
	}
	return nil
}
