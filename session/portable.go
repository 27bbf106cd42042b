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

// MinPassphrase is the least length of the passphrase of an exported profile, in characters.
const MinPassphrase = 16

// passphraseKey returns a Store without a shelf whose key is the passphrase, for its ciphers. Errors:
// invalid_params for a passphrase that is too short.
func passphraseKey(passphrase string) (*Store[struct{}], error) {
	if len([]rune(passphrase)) < MinPassphrase {
		return nil, protocol.Errorf(protocol.InvalidParams, "passphrase: accepts %d characters and more: who has the archive and guesses it has the logins", MinPassphrase).With("parameter", "passphrase")
	}
	return NewStore[struct{}](nil, Kind{Key: passphrase}, nil), nil
}

// ExportPiece is one piece of an exported profile.
type ExportPiece struct {
	ID      string // names the export, to ask for the next piece; empty: this is the last one
	Content []byte
	Size    int64 // of the whole export, in bytes
	Next    int64 // offset of the next piece; 0: this is the last one
}

// Export seals the agent's profile with a passphrase, for Import, and returns the first piece. ExportNext
// returns the others. The caller holds the profile's name. Errors: invalid_params, too_large.
func (p *Profiles) Export(agent, name, passphrase string) (r ExportPiece, err error) {
	if err := p.Usable(); err != nil {
		return r, err
	}
	key, err := passphraseKey(passphrase)
	if err != nil {
		return ExportPiece{}, err
	}
	f, err := p.shelf.Open(agent, name+sealedExt)
	if errors.Is(err, fs.ErrNotExist) {
		return ExportPiece{}, p.notSavedError(name)
	}
	if err != nil {
		return ExportPiece{}, p.wrapError("exporting", err)
	}
	defer f.Close()
	var state []byte
	if p.Has(agent, name) {
		v, err := p.Load(agent, name)
		if err != nil {
			return ExportPiece{}, err
		}
		if state, err = json.Marshal(v); err != nil {
			return ExportPiece{}, err
		}
	}
	out, err := newTransfer(name, rand.Text())
	if err != nil {
		return ExportPiece{}, err
	}
	defer func() {
		if r.ID == "" {
			out.close()
		}
	}()
	err = archive.Export(&limitedWriter{out, p.maxSealed()}, key.aead, key.salt(), state, f, p.aead, p.archiveAdditionalData(agent, name), p.limit)
	switch {
	case errors.Is(err, errOverLimit):
		return ExportPiece{}, p.tooLargeError(name, p.limit+1)
	case errors.Is(err, archive.ErrSealed):
		return ExportPiece{}, p.unsealError(name)
	case errors.Is(err, archive.ErrLarge):
		return ExportPiece{}, p.tooLargeError(name, p.limit+1)
	case err != nil:
		return ExportPiece{}, p.wrapError("exporting", err)
	}
	if r.Content, err = io.ReadAll(io.NewSectionReader(out.f, 0, PieceBytes)); err != nil {
		return ExportPiece{}, p.wrapError("exporting", err)
	}
	if r.Size = out.size; r.Size > PieceBytes {
		r.ID, r.Next = out.id, PieceBytes
		p.exports.mu.Lock()
		defer p.exports.mu.Unlock()
		p.exports.keep(agent, out)
	}
	return r, nil
}

// errorRecorder passes writes on to w and records w's error, so that Import can tell it from an error of the
// archive.
type errorRecorder struct {
	w   io.Writer
	err error
}

func (r *errorRecorder) Write(b []byte) (int, error) {
	n, err := r.w.Write(b)
	if err != nil {
		r.err = err
	}
	return n, err
}

// Import stores an exported profile as the agent's profile, in place of an earlier one of that name. content is
// its last piece, which begins at offset. The pieces before it were passed to ImportPiece, under the same id.
// The caller holds the name. If Import fails, the earlier profile stays; if it fails in its last step, that profile
// counts as one in which JavaScript has run everywhere, and may have lost the cookies that end with a session. Errors: invalid_params if this is no
// profile that was exported with that passphrase, too_large.
func (p *Profiles) Import(agent, name, id, passphrase string, offset int64, content []byte) error {
	if err := p.Usable(); err != nil {
		return err
	}
	key, err := passphraseKey(passphrase)
	if err != nil {
		return err
	}
	bad := func(why string) error {
		return protocol.Errorf(protocol.InvalidParams, "content: %s", why).With("parameter", "content").
			Then("pass the content that profile_export has answered, and the passphrase that it was given")
	}
	var exported io.Reader = bytes.NewReader(content)
	if offset > 0 {
		whole, closes, err := p.finishImport(agent, name, id, offset, content)
		if err != nil {
			return err
		}
		defer closes()
		exported = whole
	}
	var state *protocol.State
	err = p.put(agent, name, func(w io.Writer) (int64, error) {
		to := &errorRecorder{w: w}
		text, size, err := archive.Import(to, p.aead, p.salt(), p.archiveAdditionalData(agent, name), exported, key.aead, p.limit)
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
			return 0, p.tooLargeError(name, p.limit+1)
		case errors.Is(err, archive.ErrSealed):
			return 0, bad("it is no exported profile, was sealed with another passphrase, or changed since")
		default:
			return 0, bad("it is no profile: " + protocol.Cut(err.Error(), 200))
		}
		return size, err
	}, func(in shelf.Changes) error {
		// Nobody here knows what ran where the profile was filled. This comes first: without a database what was
		// changed stays, whatever fails later.
		if err := p.putScripts(in, agent, name, scriptOrigins{Everywhere: true}); err != nil {
			return err
		}
		if err := in.Remove(name + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil || state == nil {
		return err
	}
	return p.Save(agent, name, *state)
}
