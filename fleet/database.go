package fleet

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/protocol"
)

// database is the fleet's database.
type database struct {
	dsn     string
	log     *slog.Logger
	db      *sql.DB
	shelfDB *sql.DB     // a pool of its own for shelves and recordings, so that long writes do not delay heartbeats
	down    atomic.Bool // the last heartbeat failed, and the log says so
}

// checkDatabase returns fleet_unavailable if the last heartbeat failed, so that commands do not each wait for
// databaseTimeout. It does not ask the database.
func (d *database) checkDatabase() error {
	if d.down.Load() {
		return protocol.Errorf(protocol.FleetUnavailable, "the fleet's database does not answer")
	}
	return nil
}

// open returns a handle to the fleet's database. It sends nothing yet.
func open(dsn string) (*sql.DB, error) {
	db, err := sql.Open(postgres.Driver, dsn)
	if err != nil { // the error may quote the address with its password
		return nil, fmt.Errorf("fleet.dsn: cannot be read: accepts postgres://USER:PASSWORD@HOST/DATABASE")
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(4)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}

// migrate creates the tables, or brings them to the newest version.
func (d *database) migrate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := postgres.Migrate(ctx, d.db, tablesLock, "fleet_steps", steps); err != nil {
		return d.unusable(err)
	}
	return nil
}

// unusable returns the error of Join for a database that answers with an error.
func (d *database) unusable(err error) error {
	return fmt.Errorf("fleet.dsn: the database cannot be used: %w: start it, or correct the address", d.clean(err))
}

// settingOr returns the fleet's setting of that name. If there is none, it stores value as the setting.
func (d *database) settingOr(ctx context.Context, name string, value []byte) ([]byte, error) {
	_, err := d.db.ExecContext(ctx, "INSERT INTO fleet_settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, value)
	if err == nil {
		err = d.db.QueryRowContext(ctx, "SELECT value FROM fleet_settings WHERE name = $1", name).Scan(&value)
	}
	if err != nil {
		return nil, fmt.Errorf("fleet.dsn: the database cannot be used: %w", d.clean(err))
	}
	return value, nil
}

// clean returns a database error without the DSN's password.
func (d *database) clean(err error) error { return postgres.Clean(d.dsn, err) }

// unavailable logs why a database operation failed, and returns fleet_unavailable. doing says what was attempted.
func (d *database) unavailable(ctx context.Context, doing string, err error) error {
	d.log.WarnContext(ctx, "the fleet's database does not answer", "doing", doing, "error", d.clean(err))
	return protocol.Errorf(protocol.FleetUnavailable, "the fleet's database does not answer")
}

// close closes both pools.
func (d *database) close() error { return errors.Join(d.db.Close(), d.shelfDB.Close()) }
