package session

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/archive"
	"github.com/browserd/browserd/session/shelf"
)

// MinPassphrase is how many characters the passphrase of an exported profile has at least.
const MinPassphrase = 16

// keyOf returns the ciphers of a passphrase.
func keyOf(passphrase string) (*Store[struct{}], error) {
	if len([]rune(passphrase)) < MinPassphrase {
		return nil, protocol.Errorf(protocol.InvalidParams, "passphrase: accepts %d characters and more: who has the archive and guesses it has the logins", MinPassphrase).With("parameter", "passphrase")
	}
	return NewStore[struct{}](nil, Kind{Key: passphrase}, nil), nil
}

// Exported is a piece of an exported profile.
type Exported struct {
	ID      string // of the export, for the next piece; empty: there is none
	Content []byte
	Size    int64 // of the whole
	Next    int64 // where the next piece begins; 0: there is none
}

// Export returns the first piece of the agent's profile, sealed with a passphrase for Import: ExportOn returns the
// rest. The caller holds its name. Errors: invalid_params, too_large.
func (p *Profiles) Export(agent, name, passphrase string) (r Exported, err error) {
	if err := p.Usable(); err != nil {
		return r, err
	}
	key, err := keyOf(passphrase)
	if err != nil {
		return Exported{}, err
	}
	f, err := p.shelf.Open(agent, name+sealedExt)
	if errors.Is(err, fs.ErrNotExist) {
		return Exported{}, p.none(name)
	}
	if err != nil {
		return Exported{}, p.failed("exporting", err)
	}
	defer f.Close()
	var state []byte
	if p.Has(agent, name) {
		v, err := p.Load(agent, name)
		if err != nil {
			return Exported{}, err
		}
		if state, err = json.Marshal(v); err != nil {
			return Exported{}, err
		}
	}
	out, err := newTransfer(name, rand.Text())
	if err != nil {
		return Exported{}, err
	}
	defer func() {
		if r.ID == "" {
			out.close()
		}
	}()
	err = archive.Export(&limitedWriter{out, p.maxSealed()}, key.aead, key.salt(), state, f, p.aead, p.archiveOwner(agent, name), p.limit)
	switch {
	case errors.Is(err, errOverLimit):
		return Exported{}, p.large(name, p.limit+1)
	case errors.Is(err, archive.ErrSealed):
		return Exported{}, p.changed(name)
	case errors.Is(err, archive.ErrLarge):
		return Exported{}, p.large(name, p.limit+1)
	case err != nil:
		return Exported{}, p.failed("exporting", err)
	}
	if r.Content, err = io.ReadAll(io.NewSectionReader(out.f, 0, Piece)); err != nil {
		return Exported{}, p.failed("exporting", err)
	}
	if r.Size = out.size; r.Size > Piece {
		r.ID, r.Next = out.id, Piece
		p.exports.mu.Lock()
		defer p.exports.mu.Unlock()
		p.exports.keep(agent, out)
	}
	return r, nil
}

// remembering remembers the error of a writer.
type remembering struct {
	w   io.Writer
	err error
}

func (r *remembering) Write(b []byte) (int, error) {
	n, err := r.w.Write(b)
	if err != nil {
		r.err = err
	}
	return n, err
}

// Import keeps what Export and ExportOn have returned as the agent's profile, in the place of one of that name: content is
// the last piece of it, which begins at offset, and ImportOn was given those before, of the import of that id. The caller holds the name. Where it
// fails, what was kept stays as it is. Errors: invalid_params for what is no exported profile of that passphrase,
// too_large.
func (p *Profiles) Import(agent, name, id, passphrase string, offset int64, content []byte) error {
	if err := p.Usable(); err != nil {
		return err
	}
	key, err := keyOf(passphrase)
	if err != nil {
		return err
	}
	bad := func(why string) error {
		return protocol.Errorf(protocol.InvalidParams, "content: %s", why).With("parameter", "content").
			Then("pass the content that profile_export has answered, and the passphrase that it was given")
	}
	var exported io.Reader = bytes.NewReader(content)
	if offset > 0 {
		whole, closes, err := p.whole(agent, name, id, offset, content)
		if err != nil {
			return err
		}
		defer closes()
		exported = whole
	}
	var state *protocol.State
	err = p.put(agent, name, func(w io.Writer) (int64, error) {
		to := &remembering{w: w}
		text, size, err := archive.Import(to, p.aead, p.salt(), p.archiveOwner(agent, name), exported, key.aead, p.limit)
		switch {
		case err == nil && len(text) > 0:
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			state = new(protocol.State)
			if d.Decode(state) != nil || !p.valid(*state) {
				return 0, bad("its cookies are not of this version of browserd")
			}
		case err == nil || to.err != nil:
		case errors.Is(err, archive.ErrLarge):
			return 0, p.large(name, p.limit+1)
		case errors.Is(err, archive.ErrSealed):
			return 0, bad("it is no exported profile, was sealed with another passphrase, or changed since")
		default:
			return 0, bad("it is no profile: " + protocol.Cut(err.Error(), 200))
		}
		return size, err
	}, func(in shelf.Changes) error {
		if err := in.Remove(name + ext); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil || state == nil {
		return err
	}
	return p.Save(agent, name, *state)
}
