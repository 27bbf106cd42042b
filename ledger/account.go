package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Account is an agent and the credits it has left.
type Account struct {
	Agent   string `json:"agent"`
	Balance int    `json:"balance"`
}

// addAccount opens an account with the given credits. It leaves an existing account unchanged.
func (l *Ledger) addAccount(ctx context.Context, tx *sql.Tx, agent string, credits int) error {
	if credits == 0 {
		credits = l.cfg.Initial
	}
	_, err := tx.ExecContext(ctx, l.dialect.rebind("INSERT INTO accounts (agent, balance) VALUES (?, ?) ON CONFLICT (agent) DO NOTHING"), agent, credits)
	return err
}

// Accounts lists the agents in the order of their names.
func (l *Ledger) Accounts(ctx context.Context) ([]Account, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	rows, err := l.query(ctx, "SELECT agent, balance FROM accounts ORDER BY agent")
	if err != nil {
		return nil, l.clean(err)
	}
	defer rows.Close()
	list := []Account{}
	for rows.Next() {
		var a Account
		if err := rows.Scan(&a.Agent, &a.Balance); err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, rows.Err()
}

// Balance returns the credits that agent has left. An agent that has never called
// has the credits that it would start with.
func (l *Ledger) Balance(ctx context.Context, agent string) (int, error) {
	if err := l.usable(ctx); err != nil {
		return 0, err
	}
	var credits int
	err := l.whileClosed(func() error {
		return retryLocked(ctx, func() (err error) {
			credits, err = l.balance(ctx, l.db, agent)
			return err
		})
	})
	return credits, err
}

func (l *Ledger) balance(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, agent string) (int, error) {
	var balance int
	err := db.QueryRowContext(ctx, l.dialect.rebind("SELECT balance FROM accounts WHERE agent = ?"), agent).Scan(&balance)
	if errors.Is(err, sql.ErrNoRows) {
		if own := l.initial[agent]; own > 0 {
			return own, nil
		}
		return l.cfg.Initial, nil
	}
	return balance, err
}

// SetBalance sets agent's balance to credits. It opens the account if there is none.
func (l *Ledger) SetBalance(ctx context.Context, agent string, credits int) error {
	if credits < 0 {
		return fmt.Errorf("credits: %d: accepts 0 or more", credits)
	}
	if err := l.usable(ctx); err != nil {
		return err
	}
	return l.transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, l.dialect.rebind("INSERT INTO accounts (agent, balance) VALUES (?, ?) ON CONFLICT (agent) DO UPDATE SET balance = excluded.balance"), agent, credits)
		return err
	})
}

// AddCredits changes agent's balance by credits, which may be negative, and returns
// the new balance. If the balance would fall below 0, it changes nothing and returns
// an error.
func (l *Ledger) AddCredits(ctx context.Context, agent string, credits int) (int, error) {
	if err := l.usable(ctx); err != nil {
		return 0, err
	}
	var balance int
	err := l.transact(ctx, func(tx *sql.Tx) error {
		if err := l.addAccount(ctx, tx, agent, l.initial[agent]); err != nil {
			return err
		}
		row := tx.QueryRowContext(ctx, l.dialect.rebind("UPDATE accounts SET balance = balance + ? WHERE agent = ? AND balance + ? >= 0 RETURNING balance"), credits, agent, credits)
		err := row.Scan(&balance)
		if errors.Is(err, sql.ErrNoRows) {
			left, err := l.balance(ctx, tx, agent)
			if err != nil {
				return err
			}
			return fmt.Errorf("%s has %d credits: %d cannot be taken from them", agent, left, -credits)
		}
		return err
	})
	return balance, err
}

// usable returns an error if the ledger is off or its tables cannot be created.
func (l *Ledger) usable(ctx context.Context) error {
	if l.db == nil {
		return errors.New("the ledger is off: set ledger.credits, ledger.web_per_hour or ledger.audit")
	}
	if err := l.createTables(ctx); err != nil {
		return l.clean(err)
	}
	return nil
}
