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

// SQLite does not notice that its file was removed: it goes on writing to the unlinked
// file, and everything is lost when the process ends. So browserd checks before each
// write that the file is still there. SQLite also ignores the caller's context while it
// waits for another process's lock. So browserd does the waiting itself.

// file is the ledger's SQLite file. It is the zero value for PostgreSQL.
type file struct {
	path   string
	opened os.FileInfo // nil until the file exists
}

// check returns an error if the file was removed. replaced reports whether another
// file now stands in its place.
func (f *file) check() (replaced bool, err error) {
	if f.path == "" {
		return false, nil
	}
	now, err := os.Stat(f.path)
	switch {
	case f.opened == nil:
		f.opened = now // stays nil if there is no file: SQLite creates it, or returns the error
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s was removed while it was in use: put it back, or start browserd again with a new one: %w", f.path, err)
	}
	replaced = !os.SameFile(f.opened, now)
	f.opened = now
	return replaced, nil
}

// reopen closes the connection to a file that was replaced. There is at most one
// connection: see dialectOf.
func (l *Ledger) reopen(ctx context.Context) error {
	c, err := l.conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	c.Raw(func(any) error { return driver.ErrBadConn }) // tells database/sql to close it
	return nil
}

const (
	// lockTimeout is how long browserd waits for another process's lock on the database.
	lockTimeout = 10 * time.Second
	// busyTimeout is how long SQLite waits in one attempt. It ignores contexts meanwhile.
	busyTimeout = 100 * time.Millisecond
	// lockRetryInterval is the pause between attempts, for the cases in which SQLite does not
	// wait at all, such as a switch to WAL mode.
	lockRetryInterval = 10 * time.Millisecond
)

// retryLocked repeats try until the database is no longer locked, for at most lockTimeout or
// until ctx ends. Any use of the database may open a connection, and so may find it
// locked: all of them go through here.
func retryLocked(ctx context.Context, try func() error) error {
	for end := time.Now().Add(lockTimeout); ; {
		err := try()
		if !locked(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lockRetryInterval):
		}
	}
}

// conn returns a connection. It opens one if there is none.
func (l *Ledger) conn(ctx context.Context) (c *sql.Conn, err error) {
	err = retryLocked(ctx, func() error {
		c, err = l.db.Conn(ctx)
		return err
	})
	return c, err
}

// query runs a statement. The rows hold the connection until they are closed.
func (l *Ledger) query(ctx context.Context, statement string, args ...any) (rows *sql.Rows, err error) {
	err = l.whileClosed(func() error {
		return retryLocked(ctx, func() error {
			rows, err = l.db.QueryContext(ctx, l.dialect.rebind(statement), args...)
			return err
		})
	})
	return rows, err
}

// locked reports whether err means that another process holds the database's lock.
func locked(err error) bool { return codeOf(err) == sqlite3.SQLITE_BUSY }

// full reports whether err means that the disk is full.
func full(err error) bool { return codeOf(err) == sqlite3.SQLITE_FULL }

// damaged reports whether err means that the file is not, or no longer, an SQLite database.
func damaged(err error) bool {
	code := codeOf(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// codeOf returns SQLite's primary result code, or 0 for any other error.
func codeOf(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return sqlite3.SQLITE_OK
	}
	return e.Code() & 0xff
}
