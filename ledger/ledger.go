// Package ledger counts what agents spend and records what they do: credits, rates and
// the audit trail. It owns the database: SQLite by default, PostgreSQL if several
// daemons share one. It promises that a credit is spent once, however many calls ask
// for it at the same time, and that a charge survives a crash of the daemon. It never
// stores a request or response body, a password, a token or the text of a page.
//
// A call is charged before its work begins (Begin) and settled after it
// (Charge.Settle). A call that was refused, or that failed before it did anything, is
// refunded. If the daemon dies in between, the call stays charged.
//
// A Ledger is safe for concurrent use.
package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/protocol"
)

// Config configures the ledger.
type Config struct {
	DSN     string        `koanf:"dsn" secret:"true" doc:"a postgres:// address, or the path of a SQLite file; empty: the database of fleet.dsn, or without a fleet ledger.db in the state directory"`
	Credits bool          `koanf:"credits" default:"false" doc:"whether the web tools cost credits"`
	Initial int           `koanf:"initial" default:"100" doc:"credits that a new agent gets, unless auth.tokens gives it its own"`
	Costs   Costs         `koanf:"costs"`
	PerHour int           `koanf:"web_per_hour" default:"0" doc:"calls of the web tools that an agent may make in any hour; 0: no limit"`
	Audit   bool          `koanf:"audit" default:"true" doc:"whether an audit trail is kept of what agents opened, did and were refused"`
	Keep    time.Duration `koanf:"keep" default:"2160h" doc:"how long the trail and the settled charges are kept"`
}

// Costs are credits per call.
type Costs struct {
	WebSearch   int `koanf:"web_search" default:"2" doc:"credits for a web_search"`
	WebFetch    int `koanf:"web_fetch" default:"1" doc:"credits for a web_fetch"`
	HTTPRequest int `koanf:"http_request" default:"1" doc:"credits for an http_request"`
	Render      int `koanf:"render" default:"0" doc:"credits on top where Chromium rendered the page for a web_fetch"`
}

// Check returns an error that names the first invalid value.
func (c Config) Check() error {
	for _, n := range []struct {
		key   string
		value int
	}{
		{"initial", c.Initial}, {"web_per_hour", c.PerHour}, {"costs.web_search", c.Costs.WebSearch},
		{"costs.web_fetch", c.Costs.WebFetch}, {"costs.http_request", c.Costs.HTTPRequest}, {"costs.render", c.Costs.Render},
	} {
		if n.value < 0 {
			return fmt.Errorf("ledger.%s: %d: accepts 0 or more", n.key, n.value)
		}
	}
	if c.Keep < time.Hour {
		return fmt.Errorf("ledger.keep: %v: accepts an hour or more, such as 2160h", c.Keep)
	}
	if scheme, _, ok := strings.Cut(c.DSN, "://"); ok && !postgres.Is(c.DSN) {
		return fmt.Errorf("ledger.dsn: a %s:// address: accepts postgres://… or the path of a SQLite file", scheme)
	}
	return nil
}

// limits reports whether a call has to ask the database before it begins.
func (c Config) limits() bool { return c.Credits || c.PerHour > 0 }

// Price names the configured cost that a command is charged.
type Price int

// The prices. A command's row names its own.
const (
	Free       Price = iota
	PerSearch        // ledger.costs.web_search
	PerFetch         // ledger.costs.web_fetch, and ledger.costs.render where Chromium renders the page
	PerRequest       // ledger.costs.http_request
)

// cost returns the credits deducted before the command begins. charged is false for a
// free command. The price of rendering is included, and refunded by Settle if Chromium
// did not render.
func (c Config) cost(price Price) (cost int, charged bool) {
	switch price {
	case PerSearch:
		return c.Costs.WebSearch, true
	case PerFetch:
		return c.Costs.WebFetch + c.Costs.Render, true
	case PerRequest:
		return c.Costs.HTTPRequest, true
	}
	return 0, false
}

// Ledger is an open ledger. Make one with Open; any goroutine may use it. Open
// starts one goroutine, which writes the audit trail until Close.
type Ledger struct {
	cfg     Config
	db      *sql.DB
	dialect dialect
	initial map[string]int // credits by agent, from auth.tokens
	log     *slog.Logger
	now     func() time.Time

	ready         chan struct{} // a semaphore of one; its holder may create the tables and use file
	tablesCreated bool
	file          file // guarded by ready

	trail chan *Entry
	flush chan chan struct{}
	// unsettled are the settlements that are not written yet, because the database failed.
	mu        sync.Mutex
	unsettled []settlement
	dropped   int
	metrics   Metrics

	stop context.CancelFunc
	done chan struct{}
}

// Open opens the ledger. stateDir holds the SQLite file if cfg.DSN is empty. initial has
// the starting credits of agents whose token sets its own, by the agent's name. If
// credits or rates are on and the database cannot be reached, Open returns an error that
// names ledger.dsn. If only the audit trail is on, the database is opened with the first
// entry, and retried after a failure.
//
// If credits, rates and trail are all off, or if only the trail is on and there is no
// place to keep it, Open returns a Ledger that allows everything and opens no database.
func Open(ctx context.Context, cfg Config, stateDir string, initial map[string]int, log *slog.Logger) (*Ledger, error) {
	l := &Ledger{cfg: cfg, initial: initial, log: log, now: time.Now, done: make(chan struct{}), stop: func() {}, metrics: newMetrics()}
	nowhere := cfg.DSN == "" && stateDir == ""
	if nowhere && cfg.Audit && !cfg.limits() {
		log.Warn("there is no state directory to keep ledger.db in: no trail is kept", "next", "set HOME, XDG_STATE_HOME or ledger.dsn, or ledger.audit to false")
	}
	if !cfg.limits() && (!cfg.Audit || nowhere) {
		close(l.done)
		return l, nil
	}
	if err := l.connect(stateDir); err != nil {
		return nil, err
	}
	if cfg.limits() {
		if err := l.createTables(ctx); err != nil {
			l.db.Close()
			next := "start it, or correct the address"
			switch {
			case full(err):
				next = "make room on its disk"
			case damaged(err):
				next = "put a copy of " + l.file.path + " in its place, or move it away to begin anew"
			}
			return nil, fmt.Errorf("ledger.dsn: the database cannot be used: %w: %s", l.clean(err), next)
		}
	}
	var writing context.Context
	writing, l.stop = context.WithCancel(context.Background())
	l.trail, l.flush = make(chan *Entry, trailBuffer), make(chan chan struct{})
	go l.write(writing)
	return l, nil
}

// connect creates the database handle. It sends nothing yet.
func (l *Ledger) connect(stateDir string) error {
	dsn := l.cfg.DSN
	if dsn == "" {
		if stateDir == "" {
			return fmt.Errorf("ledger.dsn: there is no state directory to keep ledger.db in: name a file or a postgres:// address")
		}
		dsn = filepath.Join(stateDir, "ledger.db")
	}
	l.dialect = dialectOf(dsn)
	db, err := sql.Open(l.dialect.driver, l.dialect.open(dsn))
	if err != nil {
		// The driver's error may quote the address, password and all.
		return fmt.Errorf("ledger.dsn: cannot be read: accepts postgres://USER:PASSWORD@HOST/DATABASE or the path of a SQLite file")
	}
	db.SetMaxOpenConns(l.dialect.conns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	l.db, l.ready = db, make(chan struct{}, 1)
	if !l.dialect.postgres {
		l.file.path = dsn
		l.file.check()
	}
	l.ready <- struct{}{}
	return nil
}

// Close writes what is still queued, until ctx ends, and closes the database. Do not
// call Begin after it.
func (l *Ledger) Close(ctx context.Context) error {
	if l.db == nil {
		return nil
	}
	l.Flush(ctx)
	l.stop()
	<-l.done
	l.mu.Lock()
	lost, dropped := len(l.unsettled), l.dropped
	l.mu.Unlock()
	if lost > 0 || dropped > 0 {
		l.log.Warn("the ledger's database did not come back: these were not written", "settlements", lost, "entries", dropped)
	}
	return l.db.Close()
}

// unavailable returns the error for a database that does not answer. A call that may cost
// credits does not begin without it.
func (l *Ledger) unavailable(ctx context.Context, err error) error {
	l.log.ErrorContext(ctx, "the ledger's database does not answer", "error", l.clean(err))
	return protocol.Errorf(protocol.LedgerUnavailable, "the ledger's database does not answer, and without it no call can be charged")
}
