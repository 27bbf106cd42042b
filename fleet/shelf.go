package fleet

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/postgres"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/shelf"
)

// dbShelf is a shelf in the fleet's database, which all nodes share. A hold ends with its node's lease. Another node may
// then hold the name, and this node can no longer change what is saved under it.
type dbShelf struct {
	n    *Node
	kind string
	salt []byte
}

// Shelf returns the shelf for a kind of things, such as states, of a node's fleet. Its errors are *protocol.Error, or wrap
// fs.ErrNotExist.
func Shelf(n *Node, kind string) shelf.Shelf { return &dbShelf{n, kind, n.salt} }

// OpenShelf is Shelf for a program that is not a node. Hold must not be called. The caller closes the second result.
func OpenShelf(ctx context.Context, cfg Config, kind string, log *slog.Logger) (shelf.Shelf, io.Closer, error) {
	db, err := open(cfg.DSN)
	if err != nil {
		return nil, nil, err
	}
	n := &Node{cfg: cfg, database: database{dsn: cfg.DSN, log: log, db: db, shelfDB: db}, log: log}
	if err = n.migrate(ctx); err == nil {
		err = openSalt(ctx, n)
	}
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return Shelf(n, kind), db, nil
}

const (
	changeTimeout = 10 * time.Second // for Change, with the wait for earlier changes of the same agent
	placeTimeout  = 2 * time.Minute  // for reading or placing something large
)

// wrapError returns fleet_unavailable for an error of the database, and other errors as they are.
func (r *dbShelf) wrapError(ctx context.Context, doing string, err error) error {
	var e *protocol.Error
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist) || errors.As(err, &e):
		return err
	}
	return r.n.unavailable(ctx, doing, err)
}

// queryer is a *sql.DB or a *sql.Tx.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// List implements shelf.Shelf.
func (r *dbShelf) List(agent string) ([]shelf.Item, error) {
	if err := r.n.checkDatabase(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseTimeout)
	defer cancel()
	list, err := r.list(ctx, r.n.shelfDB, agent)
	return list, r.wrapError(ctx, "listing what is saved", err)
}

func (r *dbShelf) list(ctx context.Context, in queryer, agent string) (list []shelf.Item, err error) {
	found, err := in.QueryContext(ctx, `SELECT name, bytes, saved FROM saved WHERE kind = $1 AND agent = $2 ORDER BY name COLLATE "C"`, r.kind, agent)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var i shelf.Item
		if err := found.Scan(&i.Name, &i.Bytes, &i.Saved); err != nil {
			return nil, err
		}
		i.Saved = i.Saved.UTC()
		list = append(list, i)
	}
	return list, found.Err()
}

// Stat implements shelf.Shelf.
func (r *dbShelf) Stat(agent, name string) (shelf.Item, error) {
	if err := r.n.checkDatabase(); err != nil {
		return shelf.Item{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseTimeout)
	defer cancel()
	i := shelf.Item{Name: name}
	err := r.n.shelfDB.QueryRowContext(ctx, "SELECT bytes, saved FROM saved WHERE kind = $1 AND agent = $2 AND name = $3", r.kind, agent, name).Scan(&i.Bytes, &i.Saved)
	if errors.Is(err, sql.ErrNoRows) {
		return i, fs.ErrNotExist
	}
	i.Saved = i.Saved.UTC()
	return i, r.wrapError(ctx, "looking for what is saved", err)
}

// Open implements shelf.Shelf.
func (r *dbShelf) Open(agent, name string) (io.ReadCloser, error) {
	if err := r.n.checkDatabase(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), placeTimeout)
	first := time.AfterFunc(databaseTimeout, cancel)
	in, err := r.open(ctx, r.n.shelfDB, agent, name)
	first.Stop()
	if err != nil {
		cancel()
		return nil, r.wrapError(ctx, "reading what is saved", err)
	}
	in.cancel = cancel
	return in, nil
}

// partReader reads what is saved under a name. It is one statement, so that all parts are of the same version.
type partReader struct {
	shelf  *dbShelf
	ctx    context.Context
	rows   *sql.Rows
	unread []byte
	cancel func()
}

func (r *dbShelf) open(ctx context.Context, in queryer, agent, name string) (*partReader, error) {
	found, err := in.QueryContext(ctx, "SELECT content FROM saved_parts WHERE kind = $1 AND agent = $2 AND name = $3 ORDER BY part", r.kind, agent, name)
	if err != nil {
		return nil, err
	}
	p := &partReader{shelf: r, ctx: ctx, rows: found, cancel: func() {}}
	switch err := p.next(); {
	case err == io.EOF:
		found.Close()
		return nil, fs.ErrNotExist // even something empty has one part
	case err != nil:
		found.Close()
		return nil, err
	}
	return p, nil
}

// next reads the next part. io.EOF: there is none.
func (p *partReader) next() error {
	if !p.rows.Next() {
		if err := p.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	return p.rows.Scan(&p.unread)
}

func (p *partReader) Read(b []byte) (int, error) {
	for len(p.unread) == 0 {
		if err := p.next(); err == io.EOF {
			return 0, err
		} else if err != nil {
			return 0, p.shelf.wrapError(p.ctx, "reading what is saved", err)
		}
	}
	n := copy(b, p.unread)
	p.unread = p.unread[n:]
	return n, nil
}

func (p *partReader) Close() error {
	defer p.cancel()
	return p.rows.Close()
}

// Change implements shelf.Shelf.
func (r *dbShelf) Change(agent string, do func(shelf.Changes) error) error {
	if err := r.n.checkDatabase(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	limit := time.AfterFunc(changeTimeout, cancel)
	defer limit.Stop()
	tx, err := r.n.shelfDB.BeginTx(ctx, nil)
	if err != nil {
		return r.wrapError(ctx, "saving", err)
	}
	defer tx.Rollback() // of no effect after Commit
	if err := postgres.Lock(ctx, tx, shelfLock(r.kind, agent)); err != nil {
		return r.wrapError(ctx, "saving", err)
	}
	c := &shelfTx{dbShelf: r, ctx: ctx, tx: tx, agent: agent, limit: limit}
	if err := do(c); err != nil {
		return err
	}
	for _, base := range c.bases { // a hold may have been lost meanwhile; FOR SHARE keeps other nodes from taking one before the commit
		if err := c.checkHold(base, "FOR SHARE"); err != nil {
			return err
		}
	}
	return r.wrapError(ctx, "saving", tx.Commit())
}

// shelfLock is the advisory lock of changes to an agent's things of one kind.
func shelfLock(kind, agent string) int64 {
	h := fnv.New64a()
	h.Write([]byte("browserd saved " + kind + "\x00" + agent))
	return int64(h.Sum64())
}

// shelfTx is a transaction on a shelf. It implements shelf.Changes.
type shelfTx struct {
	*dbShelf
	ctx   context.Context
	tx    *sql.Tx
	agent string
	limit *time.Timer // cancels the transaction

	bases []string // base names of what the transaction has changed, for checkHold
}

func (c *shelfTx) List() ([]shelf.Item, error) {
	list, err := c.list(c.ctx, c.tx, c.agent)
	return list, c.wrapError(c.ctx, "listing what is saved", err)
}

func (c *shelfTx) Open(name string) (io.ReadCloser, error) {
	in, err := c.open(c.ctx, c.tx, c.agent, name)
	if err != nil {
		return nil, c.wrapError(c.ctx, "reading what is saved", err)
	}
	return in, nil
}

// checkHold returns in_use if this node may not write under a base name: it has held the name and lost it with its lease,
// even if nobody holds it now; or another node holds it. lock is the locking clause for the row of the hold.
func (c *shelfTx) checkHold(base, lock string) error {
	var node, token string
	err := c.tx.QueryRowContext(c.ctx, "SELECT node, token FROM saved_holds WHERE kind = $1 AND agent = $2 AND name = $3 "+lock, c.kind, c.agent, base).Scan(&node, &token)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return c.wrapError(c.ctx, "saving", err)
	}
	switch own := c.n.holds.token(holdKey{c.kind, c.agent, base}); {
	case own != "" && token != own:
		return protocol.Errorf(protocol.InUse, "%s was lost to the other nodes of the fleet while this one did not reach the database", base).
			Then("it is as they left it; close the session that keeps it, and open it again")
	case own == "" && node != "" && node != c.n.id:
		return protocol.Errorf(protocol.InUse, "%s is being written at another node of the fleet", base)
	}
	return nil
}

// noteWrite notes that the transaction changes a name, and returns checkHold's error.
func (c *shelfTx) noteWrite(name string) error {
	base := strings.TrimSuffix(name, filepath.Ext(name))
	if !slices.Contains(c.bases, base) {
		c.bases = append(c.bases, base)
	}
	return c.checkHold(base, "")
}

// replace replaces the row of a name by one without content.
func (c *shelfTx) replace(name string) error {
	if err := c.noteWrite(name); err != nil {
		return err
	}
	_, err := c.tx.ExecContext(c.ctx, "DELETE FROM saved WHERE kind = $1 AND agent = $2 AND name = $3", c.kind, c.agent, name)
	if err == nil {
		_, err = c.tx.ExecContext(c.ctx, "INSERT INTO saved (kind, agent, name, bytes, saved) VALUES ($1, $2, $3, 0, clock_timestamp())", c.kind, c.agent, name)
	}
	return c.wrapError(c.ctx, "saving", err)
}

// addPart appends a part to a name's content.
func (c *shelfTx) addPart(name string, number int, part []byte) error {
	_, err := c.tx.ExecContext(c.ctx, `WITH more AS (UPDATE saved SET bytes = bytes + $6 WHERE kind = $1 AND agent = $2 AND name = $3)
		INSERT INTO saved_parts (kind, agent, name, part, content) VALUES ($1, $2, $3, $4, $5)`, c.kind, c.agent, name, number, append([]byte{}, part...), len(part)) // not nil, which is NULL
	return c.wrapError(c.ctx, "saving", err)
}

// partSize is how many bytes one row of saved_parts holds.
const partSize = 1 << 20

func (c *shelfTx) Put(name string, content []byte) error {
	if err := c.replace(name); err != nil {
		return err
	}
	for number := 0; ; number++ {
		part := content[:min(len(content), partSize)]
		if err := c.addPart(name, number, part); err != nil {
			return err
		}
		if content = content[len(part):]; len(content) == 0 {
			return nil
		}
	}
}

func (c *shelfTx) Place(d shelf.Draft, name string) error {
	from := d.(*draft).File
	c.limit.Reset(placeTimeout)
	if err := c.replace(name); err != nil {
		return err
	}
	buffer := make([]byte, partSize)
	for at, number := int64(0), 0; ; number++ {
		n, err := from.ReadAt(buffer, at)
		if err != nil && err != io.EOF {
			return err
		}
		if n > 0 || number == 0 {
			if err := c.addPart(name, number, buffer[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		at += int64(n)
	}
}

func (c *shelfTx) Remove(name string) error {
	if err := c.noteWrite(name); err != nil {
		return err
	}
	result, err := c.tx.ExecContext(c.ctx, "DELETE FROM saved WHERE kind = $1 AND agent = $2 AND name = $3", c.kind, c.agent, name)
	var gone int64
	if err == nil {
		gone, err = result.RowsAffected()
	}
	if err == nil && gone == 0 {
		return fs.ErrNotExist
	}
	return c.wrapError(c.ctx, "removing what is saved", err)
}

// draft is a temporary file at this machine, until it is placed. What is written to it is sealed already.
type draft struct{ *os.File }

// Draft implements shelf.Shelf.
func (r *dbShelf) Draft(string, string) (shelf.Draft, error) {
	f, err := os.CreateTemp("", "browserd-draft-")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // on Unix the file then ends with the process at the latest
	return &draft{f}, nil
}

func (d *draft) Finish() error { return nil }

func (d *draft) Discard() {
	d.Close()
	os.Remove(d.Name())
}

// Tidy implements shelf.Shelf.
func (r *dbShelf) Tidy(string, string) {}

// Salt implements shelf.Shelf.
func (r *dbShelf) Salt() []byte { return r.salt }
