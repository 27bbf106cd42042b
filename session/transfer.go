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
	// PieceBytes is the size of a piece of an exported profile in an answer or a request: in base64 it fits
	// into one request (server.read_limit).
	PieceBytes = 3_000_000
	// transferIdleTimeout is how long a transfer waits for its next piece before it is dropped.
	transferIdleTimeout = 10 * time.Minute
)

// transfer is a profile that is being exported or imported piece by piece. Its temporary file has no name, so
// that it disappears with the daemon even if that is killed.
type transfer struct {
	name string // of the profile
	id   string // tells it apart from transfers at other daemons; empty: an import at a daemon without a fleet
	f    *os.File
	size int64
	idle *time.Timer // drops the transfer
}

// transfers are the exports or the imports that are under way: at most one for each agent. A new one replaces
// the agent's earlier one.
type transfers struct {
	mu      sync.Mutex
	byAgent map[string]*transfer // by agent
}

// newTransfer returns a transfer with a new, unlinked temporary file.
func newTransfer(name, id string) (*transfer, error) {
	f, err := os.CreateTemp("", "browserd-*.profile")
	if err != nil {
		return nil, fmt.Errorf("a profile by pieces: %w", err)
	}
	os.Remove(f.Name()) // Windows cannot remove an open file: close removes it there
	return &transfer{name: name, id: id, f: f}, nil
}

// close closes the temporary file, and removes it where newTransfer could not.
func (t *transfer) close() error {
	err := t.f.Close()
	os.Remove(t.f.Name())
	return err
}

// keep stores a transfer until its next piece is asked for or sent. The caller holds mu.
func (u *transfers) keep(agent string, t *transfer) {
	u.drop(agent)
	if u.byAgent == nil {
		u.byAgent = map[string]*transfer{}
	}
	u.byAgent[agent] = t
	t.idle = time.AfterFunc(transferIdleTimeout, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.byAgent[agent] == t {
			u.drop(agent)
		}
	})
}

// drop ends the agent's transfer, if there is one. The caller holds mu.
func (u *transfers) drop(agent string) {
	if t := u.byAgent[agent]; t != nil {
		t.idle.Stop()
		t.close()
		delete(u.byAgent, agent)
	}
}

// ErrNoTransfer is the cause of the error for a piece of a transfer that this daemon does not have.
var ErrNoTransfer = errors.New("it is not under way here")

// at returns the agent's transfer of that profile and id, and restarts its idle time. The caller holds mu.
// Errors: invalid_params.
func (u *transfers) at(agent, name, id, what string) (*transfer, error) {
	t := u.byAgent[agent]
	if t == nil || t.name != name || t.id != id {
		e := protocol.Errorf(protocol.InvalidParams, "offset: no %s of the profile %s is under way: it has ended, took more than %v between two pieces, or another one was begun", what, name, transferIdleTimeout)
		e.Cause = ErrNoTransfer
		return nil, e.With("parameter", "offset").Then("begin the %s again, without offset", what)
	}
	t.idle.Reset(transferIdleTimeout)
	return t, nil
}

// ExportNext returns the piece at offset of an export that Export has begun under that id. The export ends with
// the last piece. Errors: invalid_params.
func (p *Profiles) ExportNext(agent, name, id string, offset int64) (ExportPiece, error) {
	if err := p.Usable(); err != nil {
		return ExportPiece{}, err
	}
	u := &p.exports
	u.mu.Lock()
	defer u.mu.Unlock()
	t, err := u.at(agent, name, id, "export")
	if err != nil {
		return ExportPiece{}, err
	}
	if offset >= t.size {
		return ExportPiece{}, protocol.Errorf(protocol.InvalidParams, "offset: the export has %d bytes", t.size).With("parameter", "offset").Then("pass the next_offset of the answer before")
	}
	content, err := io.ReadAll(io.NewSectionReader(t.f, offset, PieceBytes))
	if err != nil {
		return ExportPiece{}, fmt.Errorf("exporting a profile: %w", err)
	}
	r := ExportPiece{ID: id, Content: content, Size: t.size, Next: offset + int64(len(content))}
	if r.Next == t.size {
		u.drop(agent)
		r.ID, r.Next = "", 0
	}
	return r, nil
}

// maxSealed is the limit on the size of an exported profile. Sealing adds less than 1 percent, and content that
// cannot be compressed grows by less than another.
func (p *Profiles) maxSealed() int64 { return p.limit + p.limit/50 + 2*archive.MaxState }

// ImportPiece stores a piece of an exported profile, which begins at offset. The last piece goes to Import
// instead. id returns the import's id in a fleet. For the first piece it is called only after all other checks,
// so that a piece that is refused does not end an import that is under way. ImportPiece returns how many bytes
// have arrived. Errors: invalid_params (with the offset that is expected), too_large, those of id.
func (p *Profiles) ImportPiece(agent, name string, id func() (string, error), passphrase string, offset int64, content []byte) (size int64, err error) {
	if err := p.Usable(); err != nil {
		return 0, err
	}
	if err := p.Check(name); err != nil {
		return 0, err
	}
	if _, err := passphraseKey(passphrase); err != nil { // report a bad passphrase before the client sends the other pieces
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
	t, err := u.at(agent, name, is, "import")
	if err != nil {
		return 0, err
	}
	if err := t.add(offset, content, p.maxSealed()); err != nil {
		return 0, err
	}
	return t.size, nil
}

// add appends a piece. Errors: invalid_params, too_large.
func (t *transfer) add(offset int64, content []byte, limit int64) error {
	if offset != t.size {
		return protocol.Errorf(protocol.InvalidParams, "offset: %d bytes have come, and the next piece begins there", t.size).
			With("parameter", "offset").With("offset", t.size).Then("send the piece that begins at %d, or begin again with offset 0", t.size)
	}
	if t.size+int64(len(content)) > limit {
		return protocol.Errorf(protocol.TooLarge, "content: an exported profile has more bytes than profile.bytes allows").With("quota", "profile.bytes").With("limit", limit)
	}
	if _, err := t.f.WriteAt(content, t.size); err != nil {
		return fmt.Errorf("importing a profile: %w", err)
	}
	t.size += int64(len(content))
	return nil
}

// CheckImport returns nil if this daemon has the agent's import of that id. Errors: invalid_params.
func (p *Profiles) CheckImport(agent, name, id string) error {
	u := &p.imports
	u.mu.Lock()
	defer u.mu.Unlock()
	_, err := u.at(agent, name, id, "import")
	return err
}

// finishImport adds the last piece, ends the import, and returns its whole content with a func that closes it.
func (p *Profiles) finishImport(agent, name, id string, offset int64, last []byte) (io.Reader, func() error, error) {
	u := &p.imports
	u.mu.Lock()
	defer u.mu.Unlock()
	t, err := u.at(agent, name, id, "import")
	if err != nil {
		return nil, nil, err
	}
	if err := t.add(offset, last, p.maxSealed()); err != nil {
		return nil, nil, err
	}
	t.idle.Stop()
	delete(u.byAgent, agent)
	return io.NewSectionReader(t.f, 0, t.size), t.close, nil
}

// limitedWriter writes to the file of a transfer, and fails with errOverLimit after left bytes.
type limitedWriter struct {
	t    *transfer
	left int64
}

var errOverLimit = errors.New("more bytes than it may have")

func (b *limitedWriter) Write(content []byte) (int, error) {
	if int64(len(content)) > b.left {
		return 0, errOverLimit
	}
	n, err := b.t.f.Write(content)
	b.left -= int64(n)
	b.t.size += int64(n)
	return n, err
}
