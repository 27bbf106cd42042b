package fleet

import (
	"context"
	"crypto/rand"
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

// rows is a shelf in the fleet's database: what lies on it is the same at all nodes. Who has a name
// reserved loses it with the node's lease, and another node may then have it: from then on this
// one changes nothing under it.
type rows struct {
	n    *Node
	kind string
	salt []byte
}

// Shelf returns what the fleet of a node keeps of a kind. Its errors are *protocol.Error, or wrap
// fs.ErrNotExist.
func Shelf(n *Node, kind string) shelf.Shelf { return &rows{n, kind, n.salt} }

// OpenShelf is Shelf for a program that is no node, and that reserves no name. The caller closes
// what is returned second.
func OpenShelf(ctx context.Context, cfg Config, kind string, log *slog.Logger) (shelf.Shelf, io.Closer, error) {
	db, err := open(cfg.DSN)
	if err != nil {
		return nil, nil, err
	}
	n := &Node{cfg: cfg, db: db, saved: db, log: log}
	if err = migrate(ctx, n); err == nil {
		err = openSalt(ctx, n)
	}
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return Shelf(n, kind), db, nil
}

// How long the database may take: for a change, with those of the same agent before it, and for
// something large.
const (
	changeFor = 10 * time.Second
	placeFor  = 2 * time.Minute
)

// failed returns the error of what the database did not do.
func (r *rows) failed(ctx context.Context, doing string, err error) error {
	var e *protocol.Error
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist) || errors.As(err, &e):
		return err
	}
	return r.n.unavailable(ctx, doing, err)
}

// queryer is a database or a transaction in it.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// List is of shelf.Shelf.
func (r *rows) List(agent string) ([]shelf.Item, error) {
	if err := r.n.answers(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := r.list(ctx, r.n.saved, agent)
	return list, r.failed(ctx, "listing what is saved", err)
}

func (r *rows) list(ctx context.Context, in queryer, agent string) (list []shelf.Item, err error) {
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

// Stat is of shelf.Shelf.
func (r *rows) Stat(agent, name string) (shelf.Item, error) {
	if err := r.n.answers(); err != nil {
		return shelf.Item{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	i := shelf.Item{Name: name}
	err := r.n.saved.QueryRowContext(ctx, "SELECT bytes, saved FROM saved WHERE kind = $1 AND agent = $2 AND name = $3", r.kind, agent, name).Scan(&i.Bytes, &i.Saved)
	if errors.Is(err, sql.ErrNoRows) {
		return i, fs.ErrNotExist
	}
	i.Saved = i.Saved.UTC()
	return i, r.failed(ctx, "looking for what is saved", err)
}

// Open is of shelf.Shelf.
func (r *rows) Open(agent, name string) (io.ReadCloser, error) {
	if err := r.n.answers(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), placeFor)
	first := time.AfterFunc(patience, cancel)
	in, err := r.open(ctx, r.n.saved, agent, name)
	first.Stop()
	if err != nil {
		cancel()
		return nil, r.failed(ctx, "reading what is saved", err)
	}
	in.end = cancel
	return in, nil
}

// parts reads what lies under a name. One statement reads all of it, so that all is of one time.
type parts struct {
	of    *rows
	ctx   context.Context
	found *sql.Rows
	rest  []byte
	end   func()
}

func (r *rows) open(ctx context.Context, in queryer, agent, name string) (*parts, error) {
	found, err := in.QueryContext(ctx, "SELECT content FROM saved_parts WHERE kind = $1 AND agent = $2 AND name = $3 ORDER BY part", r.kind, agent, name)
	if err != nil {
		return nil, err
	}
	p := &parts{of: r, ctx: ctx, found: found, end: func() {}}
	switch err := p.next(); {
	case err == io.EOF:
		found.Close()
		return nil, fs.ErrNotExist // each has a part, be it empty
	case err != nil:
		found.Close()
		return nil, err
	}
	return p, nil
}

func (p *parts) next() error {
	if !p.found.Next() {
		if err := p.found.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	return p.found.Scan(&p.rest)
}

func (p *parts) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if err := p.next(); err == io.EOF {
			return 0, err
		} else if err != nil {
			return 0, p.of.failed(p.ctx, "reading what is saved", err)
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *parts) Close() error {
	defer p.end()
	return p.found.Close()
}

// Change is of shelf.Shelf.
func (r *rows) Change(agent string, do func(shelf.Changes) error) error {
	if err := r.n.answers(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	limit := time.AfterFunc(changeFor, cancel)
	defer limit.Stop()
	tx, err := r.n.saved.BeginTx(ctx, nil)
	if err != nil {
		return r.failed(ctx, "saving", err)
	}
	defer tx.Rollback() // of no effect after Commit
	if err := postgres.Lock(ctx, tx, shelfLock(r.kind, agent)); err != nil {
		return r.failed(ctx, "saving", err)
	}
	c := &changing{rows: r, ctx: ctx, tx: tx, agent: agent, limit: limit}
	if err := do(c); err != nil {
		return err
	}
	for _, base := range c.written { // it may have taken long; from here to the commit no other node takes one
		if err := c.mayWrite(base, "FOR SHARE"); err != nil {
			return err
		}
	}
	return r.failed(ctx, "saving", tx.Commit())
}

// shelfLock is the advisory lock of changes of what an agent keeps.
func shelfLock(kind, agent string) int64 {
	h := fnv.New64a()
	h.Write([]byte("browserd saved " + kind + "\x00" + agent))
	return int64(h.Sum64())
}

// changing is a transaction, as shelf.Changes.
type changing struct {
	*rows
	ctx   context.Context
	tx    *sql.Tx
	agent string
	limit *time.Timer // ends the transaction

	written []string // the bases of what it changes
}

func (c *changing) List() ([]shelf.Item, error) {
	list, err := c.list(c.ctx, c.tx, c.agent)
	return list, c.failed(c.ctx, "listing what is saved", err)
}

func (c *changing) Open(name string) (io.ReadCloser, error) {
	in, err := c.open(c.ctx, c.tx, c.agent, name)
	if err != nil {
		return nil, c.failed(c.ctx, "reading what is saved", err)
	}
	return in, nil
}

// mayWrite returns in_use if this node may not write what has a base: it had the name, and lost it with
// its lease, be it free again by now; or it never had it, and another node has. lock is that of the
// reservation, until the transaction ends.
func (c *changing) mayWrite(base, lock string) error {
	var node, token string
	err := c.tx.QueryRowContext(c.ctx, "SELECT node, token FROM saved_holds WHERE kind = $1 AND agent = $2 AND name = $3 "+lock, c.kind, c.agent, base).Scan(&node, &token)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return c.failed(c.ctx, "saving", err)
	}
	switch own := tokenOf(c.n, reservedName{c.kind, c.agent, base}); {
	case own != "" && token != own:
		return protocol.Errorf(protocol.InUse, "%s was lost to the other nodes of the fleet while this one did not reach the database", base).
			Then("it is as they left it; close the session that keeps it, and open it again")
	case own == "" && node != "" && node != c.n.id:
		return protocol.Errorf(protocol.InUse, "%s is being written at another node of the fleet", base)
	}
	return nil
}

// changes is mayWrite at the beginning of a change of a name.
func (c *changing) changes(name string) error {
	base := strings.TrimSuffix(name, filepath.Ext(name))
	if !slices.Contains(c.written, base) {
		c.written = append(c.written, base)
	}
	return c.mayWrite(base, "")
}

// begin makes the row of a name anew, without content.
func (c *changing) begin(name string) error {
	if err := c.changes(name); err != nil {
		return err
	}
	_, err := c.tx.ExecContext(c.ctx, "DELETE FROM saved WHERE kind = $1 AND agent = $2 AND name = $3", c.kind, c.agent, name)
	if err == nil {
		_, err = c.tx.ExecContext(c.ctx, "INSERT INTO saved (kind, agent, name, bytes, saved) VALUES ($1, $2, $3, 0, clock_timestamp())", c.kind, c.agent, name)
	}
	return c.failed(c.ctx, "saving", err)
}

// add adds the next part of a name's content.
func (c *changing) add(name string, number int, part []byte) error {
	_, err := c.tx.ExecContext(c.ctx, `WITH more AS (UPDATE saved SET bytes = bytes + $6 WHERE kind = $1 AND agent = $2 AND name = $3)
		INSERT INTO saved_parts (kind, agent, name, part, content) VALUES ($1, $2, $3, $4, $5)`, c.kind, c.agent, name, number, append([]byte{}, part...), len(part)) // not nil, which is NULL
	return c.failed(c.ctx, "saving", err)
}

// partSize is how many bytes of something saved lie in one row.
const partSize = 1 << 20

func (c *changing) Put(name string, content []byte) error {
	if err := c.begin(name); err != nil {
		return err
	}
	for number := 0; ; number++ {
		part := content[:min(len(content), partSize)]
		if err := c.add(name, number, part); err != nil {
			return err
		}
		if content = content[len(part):]; len(content) == 0 {
			return nil
		}
	}
}

func (c *changing) Place(d shelf.Draft, name string) error {
	from := d.(*draft).File
	c.limit.Reset(placeFor)
	if err := c.begin(name); err != nil {
		return err
	}
	buffer := make([]byte, partSize)
	for at, number := int64(0), 0; ; number++ {
		n, err := from.ReadAt(buffer, at)
		if err != nil && err != io.EOF {
			return err
		}
		if n > 0 || number == 0 {
			if err := c.add(name, number, buffer[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		at += int64(n)
	}
}

func (c *changing) Remove(name string) error {
	if err := c.changes(name); err != nil {
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
	return c.failed(c.ctx, "removing what is saved", err)
}

// draft is a file of this machine until it is placed. What is written to it is sealed.
type draft struct{ *os.File }

// Draft is of shelf.Shelf.
func (r *rows) Draft(string, string) (shelf.Draft, error) {
	f, err := os.CreateTemp("", "browserd-draft-")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // where that can be, it ends with the process at the latest
	return &draft{f}, nil
}

func (d *draft) Finish() error { return nil }

func (d *draft) Discard() {
	d.Close()
	os.Remove(d.Name())
}

// Tidy is of shelf.Shelf.
func (r *rows) Tidy(string, string) {}

// Salt is of shelf.Shelf.
func (r *rows) Salt() []byte { return r.salt }

// Hold is of shelf.Shelf.
func (r *rows) Hold(agent, base string) (release func(), ok bool, err error) {
	if err := r.n.CheckLease(); err != nil {
		return nil, false, err
	}
	if err := r.n.answers(); err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	token, name := rand.Text(), reservedName{r.kind, agent, base}
	if !reserve(r.n, name, token) {
		return nil, false, nil
	}
	// As with sessions, a node judges others only when it has had its lease for a while.
	result, err := r.n.db.ExecContext(ctx, `INSERT INTO saved_holds (kind, agent, name, node, token) SELECT $1, $2, $3, $4, $5 WHERE `+alive("$4")+`
		ON CONFLICT (kind, agent, name) DO UPDATE SET node = excluded.node, token = excluded.token
		WHERE NOT EXISTS (SELECT FROM nodes WHERE id = saved_holds.node AND (lease_until > clock_timestamp() OR NOT $6 AND state <> $7))`,
		r.kind, agent, base, r.n.id, token, r.n.lease.steady(r.n.now(), steadyAfter), stateGone)
	var taken int64
	if err == nil {
		taken, err = result.RowsAffected()
	}
	if err != nil { // it may have been reserved
		r.n.record.mu.Lock()
		delete(r.n.names, name)
		r.n.freed = append(r.n.freed, token)
		r.n.record.mu.Unlock()
		return nil, false, r.n.unavailable(ctx, "reserving a name", err)
	}
	if taken == 0 {
		r.n.record.mu.Lock()
		delete(r.n.names, name)
		r.n.record.mu.Unlock()
		return nil, false, nil
	}
	return func() { giveUp(r.n, name, token) }, true, nil
}

// reservedName is a name that is reserved.
type reservedName struct{ kind, agent, base string }

// reserve notes a reservation of this node's, unless it has one of the name: one that it lost, too,
// until who has it gives it up.
func reserve(n *Node, name reservedName, token string) bool {
	n.record.mu.Lock()
	defer n.record.mu.Unlock()
	if n.names[name] != "" {
		return false
	}
	n.names[name] = token
	return true
}

// tokenOf is that of this node's reservation of a name; empty: it has none.
func tokenOf(n *Node, name reservedName) string {
	n.record.mu.Lock()
	defer n.record.mu.Unlock()
	return n.names[name]
}

// giveUp ends a reservation. Where the database does not answer, it ends when it does.
func giveUp(n *Node, name reservedName, token string) {
	n.record.mu.Lock()
	if n.names[name] == token { // who gives it up twice takes nobody else's
		delete(n.names, name)
	}
	n.freed = append(n.freed, token)
	n.record.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := free(ctx, n, token); err != nil {
		n.log.WarnContext(ctx, "the fleet's database does not know yet that a name is free", "error", n.clean(err))
	}
}

// free ends a reservation in the database.
func free(ctx context.Context, n *Node, token string) error {
	_, err := n.db.ExecContext(ctx, "DELETE FROM saved_holds WHERE token = $1", token)
	if err == nil {
		n.record.mu.Lock()
		n.freed = slices.DeleteFunc(n.freed, func(t string) bool { return t == token })
		n.record.mu.Unlock()
	}
	return err
}
