// Package postgres opens PostgreSQL databases and lays out tables in them. It promises that
// daemons that start together lay out each table once, and that no error shows a
// password of the address. It knows no table.
//
// Any goroutine may call its functions.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // registers Driver
)

// Driver is the name of the driver in database/sql.
const Driver = "pgx"

// Is reports whether a data source name is the address of a PostgreSQL database.
func Is(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// Lock waits for an advisory lock, which the transaction holds until it ends. Daemons that
// lay out the same tables use the same key: two that start together would both find the
// tables missing. The transaction ends, too, if its daemon is stopped or cut off and says nothing in it for
// 15 s: others wait for the lock.
func Lock(ctx context.Context, tx *sql.Tx, key int64) error {
	_, err := tx.ExecContext(ctx, "SELECT set_config('idle_in_transaction_session_timeout', '15s', true), pg_advisory_xact_lock($1)", key)
	return err
}

// Migrate runs the steps that the database has not seen, in their order, in one transaction
// under the advisory lock key. table is where it keeps how many it has seen. Steps are only
// ever appended. A database that has seen more steps is a later version's, and stays as it is.
func Migrate(ctx context.Context, db *sql.DB, key int64, table string, steps []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // of no effect after Commit
	if err := Lock(ctx, tx, key); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+table+" (step INT PRIMARY KEY, at TIMESTAMPTZ NOT NULL)"); err != nil {
		return err
	}
	var seen int
	if err := tx.QueryRowContext(ctx, "SELECT COALESCE(max(step), 0) FROM "+table).Scan(&seen); err != nil {
		return err
	}
	for i := seen; i < len(steps); i++ {
		if _, err := tx.ExecContext(ctx, steps[i]); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+table+" VALUES ($1, clock_timestamp())", i+1); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Closed reports whether err says that the connection was closed by the server before the statement was run, or as
// the first thing of a transaction: on another connection it may be run again.
func Closed(err error) bool {
	for _, closed := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, closed) {
			return true
		}
	}
	said := (*pgconn.PgError)(nil)
	if errors.As(err, &said) {
		return said.Code == "57P01" || said.Code == "57P02" // admin_shutdown, crash_shutdown (PostgreSQL, appendix A)
	}
	return err != nil && pgconn.SafeToRetry(err)
}

// Clean removes the database's address from an error, since it may hold a password.
func Clean(dsn string, err error) error {
	if u, parsed := url.Parse(dsn); err != nil && parsed == nil && u.User != nil {
		if password, ok := u.User.Password(); ok && password != "" {
			return errors.New(strings.ReplaceAll(strings.ReplaceAll(err.Error(), dsn, "postgres://…"), password, "…"))
		}
	}
	return err
}
