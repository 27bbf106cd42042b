package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/archive"
)

const (
	// Piece is how many bytes of an exported profile an answer has, and a request may have: in base64 they
	// fit into one request (server.read_limit).
	Piece = 3_000_000
	// transferIdleTimeout is how long a transfer waits for its next piece before it is dropped.
	transferIdleTimeout = 10 * time.Minute
)

// transfer is a profile that is exported or imported piece by piece. Its temporary file is unlinked, so that it
// disappears with the daemon, even if that is killed.
type transfer struct {
	name string // of the profile
	id   string // each of several daemons may have another one; empty: an import of a daemon that serves alone
	f    *os.File
	size int64
	idle *time.Timer // drops it
}

// transfers are the transfers of one kind that are under way: one for each agent. A new one replaces the one before.
type transfers struct {
	mu sync.Mutex
	of map[string]*transfer // by agent
}

// newTransfer returns a transfer with a new, unlinked temporary file.
func newTransfer(name, id string) (*transfer, error) {
	f, err := os.CreateTemp("", "browserd-*.profile")
	if err != nil {
		return nil, fmt.Errorf("a profile by pieces: %w", err)
	}
	os.Remove(f.Name()) // Windows has no files without a name: drop does it there
	return &transfer{name: name, id: id, f: f}, nil
}

// close ends it.
func (of *transfer) close() error {
	err := of.f.Close()
	os.Remove(of.f.Name())
	return err
}

// keep keeps it for the next piece. The caller holds mu.
func (u *transfers) keep(agent string, of *transfer) {
	u.drop(agent)
	if u.of == nil {
		u.of = map[string]*transfer{}
	}
	u.of[agent] = of
	of.idle = time.AfterFunc(transferIdleTimeout, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.of[agent] == of {
			u.drop(agent)
		}
	})
}

// drop ends what an agent has under way. The caller holds mu.
func (u *transfers) drop(agent string) {
	if of := u.of[agent]; of != nil {
		of.idle.Stop()
		of.close()
		delete(u.of, agent)
	}
}

// ErrNoTransfer is the cause of the error of a piece of what is not under way in this daemon.
var ErrNoTransfer = errors.New("it is not under way here")

// at returns what an agent has under way with a profile, of that id. The caller holds mu. Errors: invalid_params.
func (u *transfers) at(agent, name, id, what string) (*transfer, error) {
	of := u.of[agent]
	if of == nil || of.name != name || of.id != id {
		e := protocol.Errorf(protocol.InvalidParams, "offset: no %s of the profile %s is under way: it has ended, took more than %v between two pieces, or another one was begun", what, name, transferIdleTimeout)
		e.Cause = ErrNoTransfer
		return nil, e.With("parameter", "offset").Then("begin the %s again, without offset", what)
	}
	of.idle.Reset(transferIdleTimeout)
	return of, nil
}

// ExportOn returns the piece which begins at offset of the export of that id, which Export has begun. With the last
// one the export ends. Errors: invalid_params.
func (p *Profiles) ExportOn(agent, name, id string, offset int64) (Exported, error) {
	if err := p.Usable(); err != nil {
		return Exported{}, err
	}
	u := &p.exports
	u.mu.Lock()
	defer u.mu.Unlock()
	of, err := u.at(agent, name, id, "export")
	if err != nil {
		return Exported{}, err
	}
	if offset >= of.size {
		return Exported{}, protocol.Errorf(protocol.InvalidParams, "offset: the export has %d bytes", of.size).With("parameter", "offset").Then("pass the next_offset of the answer before")
	}
	content, err := io.ReadAll(io.NewSectionReader(of.f, offset, Piece))
	if err != nil {
		return Exported{}, fmt.Errorf("exporting a profile: %w", err)
	}
	r := Exported{ID: id, Content: content, Size: of.size, Next: offset + int64(len(content))}
	if r.Next == of.size {
		u.drop(agent)
		r.ID, r.Next = "", 0
	}
	return r, nil
}

// maxSealed is how many bytes an exported profile of an agent may have: what sealing adds is less than a
// hundredth, and what does not compress grows by less.
func (p *Profiles) maxSealed() int64 { return p.limit + p.limit/50 + 2*archive.MaxState }

// ImportOn keeps a piece of what Export has returned, which begins at offset, until the rest has come; Import is for
// the last one. id returns the import's in a fleet; for the first piece it is asked when nothing is left that could refuse
// it, so that an import under way goes on. ImportOn returns how many bytes there are now. Errors: invalid_params, with the
// offset that is expected, too_large, those of id.
func (p *Profiles) ImportOn(agent, name string, id func() (string, error), passphrase string, offset int64, content []byte) (size int64, err error) {
	if err := p.Usable(); err != nil {
		return 0, err
	}
	if err := p.Check(name); err != nil {
		return 0, err
	}
	if _, err := keyOf(passphrase); err != nil { // before the rest comes
		return 0, err
	}
	var first *transfer
	if offset == 0 {
		if first, err = newTransfer(name, ""); err != nil {
			return 0, err
		}
		defer func() {
			if err != nil {
				first.close()
			}
		}()
		if err := first.add(0, content, p.maxSealed()); err != nil {
			return 0, err
		}
	}
	is, err := id()
	if err != nil {
		return 0, err
	}
	u := &p.imports
	u.mu.Lock()
	defer u.mu.Unlock()
	if first != nil {
		first.id = is
		u.keep(agent, first)
		return first.size, nil
	}
	of, err := u.at(agent, name, is, "import")
	if err != nil {
		return 0, err
	}
	if err := of.add(offset, content, p.maxSealed()); err != nil {
		return 0, err
	}
	return of.size, nil
}

// add adds a piece. Errors: invalid_params, too_large.
func (of *transfer) add(offset int64, content []byte, limit int64) error {
	if offset != of.size {
		return protocol.Errorf(protocol.InvalidParams, "offset: %d bytes have come, and the next piece begins there", of.size).
			With("parameter", "offset").With("offset", of.size).Then("send the piece that begins at %d, or begin again with offset 0", of.size)
	}
	if of.size+int64(len(content)) > limit {
		return protocol.Errorf(protocol.TooLarge, "content: an exported profile has more bytes than profile.bytes allows").With("quota", "profile.bytes").With("limit", limit)
	}
	if _, err := of.f.WriteAt(content, of.size); err != nil {
		return fmt.Errorf("importing a profile: %w", err)
	}
	of.size += int64(len(content))
	return nil
}

// Importing returns nil if the agent's import of that id is under way in this daemon. Errors: invalid_params.
func (p *Profiles) Importing(agent, name, id string) error {
	u := &p.imports
	u.mu.Lock()
	defer u.mu.Unlock()
	_, err := u.at(agent, name, id, "import")
	return err
}

// whole returns all that has come of an import, its last piece among it, and what closes it. The import has ended then.
func (p *Profiles) whole(agent, name, id string, offset int64, last []byte) (io.Reader, func() error, error) {
	u := &p.imports
	u.mu.Lock()
	defer u.mu.Unlock()
	of, err := u.at(agent, name, id, "import")
	if err != nil {
		return nil, nil, err
	}
	if err := of.add(offset, last, p.maxSealed()); err != nil {
		return nil, nil, err
	}
	of.idle.Stop()
	delete(u.of, agent)
	return io.NewSectionReader(of.f, 0, of.size), of.close, nil
}

// limitedWriter writes to the file of a transfer, and fails with errOverLimit after left bytes.
type limitedWriter struct {
	of   *transfer
	left int64
}

var errOverLimit = errors.New("more bytes than it may have")

func (b *limitedWriter) Write(content []byte) (int, error) {
	if int64(len(content)) > b.left {
		return 0, errOverLimit
	}
	n, err := b.of.f.Write(content)
	b.left -= int64(n)
	b.of.size += int64(n)
	return n, err
}
