package ledger

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/browserd/browserd/postgres"
)

// dialect holds the differences between SQLite and PostgreSQL.
type dialect struct {
	driver   string
	postgres bool
	conns    int
}

func dialectOf(dsn string) dialect {
	if postgres.Is(dsn) {
		return dialect{driver: postgres.Driver, postgres: true, conns: 8}
	}
	// SQLite allows one writer at a time. With a single connection, callers queue
	// fairly; several connections would poll for the lock.
	return dialect{driver: "sqlite", conns: 1}
}

// open returns the driver's data source name for dsn.
func (d dialect) open(dsn string) string {
	if d.postgres {
		return dsn
	}
	// Only the daemon's user may read who did what. SQLite gives its journal files the
	// mode of the database file.
	if f, err := os.OpenFile(dsn, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		f.Close()
	}
	// _txlock: a transaction that will write takes the lock at once, or two
	// that read first could not both go on. FULL: a charge survives the machine.
	return "file:" + (&url.URL{Path: dsn}).EscapedPath() + "?_txlock=immediate&_pragma=busy_timeout(" +
		strconv.FormatInt(busyTimeout.Milliseconds(), 10) + ")&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
}

// rebind rewrites the placeholders of a statement for the database.
func (d dialect) rebind(statement string) string {
	if !d.postgres {
		return statement
	}
	var b strings.Builder
	n := 0
	for _, r := range statement {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}

// tables returns the schema, one statement each. Times are microseconds since 1970, UTC.
func (d dialect) tables() []string {
	id := "INTEGER PRIMARY KEY AUTOINCREMENT"
	if d.postgres {
		id = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
	}
	return []string{
		`CREATE TABLE IF NOT EXISTS accounts (agent TEXT PRIMARY KEY, balance BIGINT NOT NULL CHECK (balance >= 0))`,
		`CREATE TABLE IF NOT EXISTS charges (id TEXT PRIMARY KEY, at BIGINT NOT NULL, agent TEXT NOT NULL, command TEXT NOT NULL,
			cost BIGINT NOT NULL, state TEXT NOT NULL CHECK (state IN ('taken', 'kept', 'refunded')))`,
		`CREATE INDEX IF NOT EXISTS charges_by_agent ON charges (agent, at)`,
		`CREATE TABLE IF NOT EXISTS trail (id ` + id + `, at BIGINT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, command TEXT NOT NULL,
			url TEXT NOT NULL, status BIGINT NOT NULL, bytes BIGINT NOT NULL, source TEXT NOT NULL, verdict TEXT NOT NULL, ms BIGINT NOT NULL, cost BIGINT NOT NULL)`,
		`CREATE INDEX IF NOT EXISTS trail_by_time ON trail (at)`,
		`CREATE INDEX IF NOT EXISTS trail_by_agent ON trail (agent, at)`,
	}
}

// tablesLock is the advisory lock under which the tables are made: two daemons
// that start together would both find them missing.
const tablesLock = 0x62726f77 // "brow"

// createTables creates the tables and the configured accounts, once for each database file.
// Every other use of the database calls it first.
func (l *Ledger) createTables(ctx context.Context) error {
	select {
	case <-l.ready:
		defer func() { l.ready <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	switch other, err := l.file.check(); {
	case err != nil:
		return err
	case other:
		l.log.Warn("another file was put in the place of the ledger: it is used from now on", "path", l.file.path)
		if err := l.reopen(ctx); err != nil {
			return err
		}
		l.tablesCreated = false
	}
	if l.tablesCreated {
		return nil
	}
	err := l.transact(ctx, func(tx *sql.Tx) error {
		if l.dialect.postgres {
			if err := postgres.Lock(ctx, tx, tablesLock); err != nil {
				return err
			}
		}
		for _, table := range l.dialect.tables() {
			if _, err := tx.ExecContext(ctx, table); err != nil {
				return err
			}
		}
		if err := l.addRunColumn(ctx, tx); err != nil {
			return err
		}
		for agent, credits := range l.initial {
			if err := l.addAccount(ctx, tx, agent, credits); err != nil {
				return err
			}
		}
		return nil
	})
	l.tablesCreated = err == nil
	return err
}

// addRunColumn adds the column run to a trail that an earlier version made without it.
func (l *Ledger) addRunColumn(ctx context.Context, tx *sql.Tx) error {
	const column = "run TEXT NOT NULL DEFAULT ''"
	if l.dialect.postgres {
		_, err := tx.ExecContext(ctx, "ALTER TABLE trail ADD COLUMN IF NOT EXISTS "+column)
		return err
	}
	var there bool
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM pragma_table_info('trail') WHERE name = 'run'").Scan(&there); err != nil || there {
		return err
	}
	_, err := tx.ExecContext(ctx, "ALTER TABLE trail ADD COLUMN "+column)
	return err
}

// errUncertain is a commit that failed: the transaction may have happened.
var errUncertain = errors.New("the commit was not confirmed")

// transact runs work in one transaction. After errUncertain the transaction may or may
// not have been committed; after any other error it has not been.
func (l *Ledger) transact(ctx context.Context, work func(tx *sql.Tx) error) error {
	c, tx, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := work(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return errors.Join(errUncertain, err)
	}
	return nil
}

// begin begins a transaction and returns it with its connection: one is held while it waits for a lock, so that callers
// keep their order.
func (l *Ledger) begin(ctx context.Context) (c *sql.Conn, tx *sql.Tx, err error) {
	err = l.whileClosed(func() (err error) {
		if c, err = l.conn(ctx); err != nil {
			return err
		}
		err = retryLocked(ctx, func() (err error) { tx, err = c.BeginTx(ctx, nil); return err })
		if err != nil {
			c.Close()
		}
		return err
	})
	return c, tx, err
}

// whileClosed does what has no effect where it fails, and does it again while its connection was one that PostgreSQL
// has closed: each says so only when it is used.
func (l *Ledger) whileClosed(do func() error) error {
	err := do()
	for tried := 0; postgres.Closed(err) && tried < l.dialect.conns; tried++ {
		err = do()
	}
	return err
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

// clean removes the database's address from an error, since it may hold a password.
func (l *Ledger) clean(err error) error { return postgres.Clean(l.cfg.DSN, err) }
