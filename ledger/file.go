package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite goes on with a file that has no name any more as if nothing were, and
// all that is written is lost with the process: who writes looks first whether
// the file is where it was. And while another process has its lock SQLite waits
// without looking at the caller's context: browserd waits itself.

// file is the SQLite file that the ledger works with; the zero value is that of
// PostgreSQL, which needs none of this.
type file struct {
	path   string
	opened os.FileInfo // nil: not made yet
}

// look says whether the file is there: an error where it was removed. other says
// that it is not the one that was opened.
func (f *file) look() (other bool, err error) {
	if f.path == "" {
		return false, nil
	}
	now, err := os.Stat(f.path)
	switch {
	case f.opened == nil:
		f.opened = now // nil again where there is none: SQLite makes it, or says why not
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s was removed while it was in use: put it back, or start browserd again with a new one: %w", f.path, err)
	}
	other = !os.SameFile(f.opened, now)
	f.opened = now
	return other, nil
}

// reopen gives the connection to a file up that is not there any more. There is
// one at most: see dialectOf.
func (l *Ledger) reopen(ctx context.Context) error {
	c, err := l.conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	c.Raw(func(any) error { return driver.ErrBadConn }) // which is how database/sql is told to close it
	return nil
}

// busyFor is how long another process may have the database's lock, busyTimeout
// how long SQLite waits for it at a time, looking at nobody's context, and
// busyPause how long browserd leaves it alone where SQLite does not wait itself:
// it does not where it must not, as while a file is put into WAL mode.
const (
	busyFor     = 10 * time.Second
	busyTimeout = 100 * time.Millisecond
	busyPause   = 10 * time.Millisecond
)

// patiently tries until the database is not locked: in SQLite itself a tenth of
// a second at a time, until ctx ends. A connection is opened by the first that
// uses it, which is why every use of the database is tried so.
func patiently(ctx context.Context, try func() error) error {
	for end := time.Now().Add(busyFor); ; {
		err := try()
		if !locked(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(busyPause):
		}
	}
}

// conn is a connection, opened where there is none.
func (l *Ledger) conn(ctx context.Context) (c *sql.Conn, err error) {
	err = patiently(ctx, func() error {
		c, err = l.db.Conn(ctx)
		return err
	})
	return c, err
}

// query asks the database, whose connection the rows keep until they are closed.
func (l *Ledger) query(ctx context.Context, statement string, args ...any) (rows *sql.Rows, err error) {
	err = patiently(ctx, func() error {
		rows, err = l.db.QueryContext(ctx, l.dialect.q(statement), args...)
		return err
	})
	return rows, err
}

// locked says whether an error is that another process has the database's lock.
func locked(err error) bool { return codeOf(err) == sqlite3.SQLITE_BUSY }

// full says whether an error is that there is no room for the database.
func full(err error) bool { return codeOf(err) == sqlite3.SQLITE_FULL }

// damaged says whether an error is that the file is no database of SQLite's, or no longer.
func damaged(err error) bool {
	code := codeOf(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// codeOf is SQLite's primary result code; 0 where the error is not SQLite's.
func codeOf(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return sqlite3.SQLITE_OK
	}
	return e.Code() & 0xff
}
