package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/archive"
	"github.com/browserd/browserd/session/shelf"
)

const (
	// MinPassphrase is how many characters the passphrase of an exported profile has at least.
	MinPassphrase = 16
	// MaxPortable is how many bytes an exported profile may have: in base64 it fits into one request
	// (server.read_limit).
	MaxPortable = 3_000_000
)

// keyOf returns the ciphers of a passphrase.
func keyOf(passphrase string) (*Store[struct{}], error) {
	if len([]rune(passphrase)) < MinPassphrase {
		return nil, protocol.Errorf(protocol.InvalidParams, "passphrase: accepts %d characters and more: who has the archive and guesses it has the logins", MinPassphrase).With("parameter", "passphrase")
	}
	return NewStore[struct{}](nil, Kind{Key: passphrase}, nil), nil
}

// limited is a buffer of at most MaxPortable bytes.
type limited struct{ bytes.Buffer }

var errPortable = errors.New("more than MaxPortable bytes")

func (b *limited) Write(p []byte) (int, error) {
	if b.Len()+len(p) > MaxPortable {
		return 0, errPortable
	}
	return b.Buffer.Write(p)
}

// Export returns the agent's profile sealed with a passphrase, for Import. The caller holds its name.
// Errors: invalid_params, too_large.
func (p *Profiles) Export(agent, name, passphrase string) ([]byte, error) {
	if err := p.Usable(); err != nil {
		return nil, err
	}
	key, err := keyOf(passphrase)
	if err != nil {
		return nil, err
	}
	f, err := p.shelf.Open(agent, name+sealedExt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.none(name)
	}
	if err != nil {
		return nil, p.failed("exporting", err)
	}
	defer f.Close()
	var state []byte
	if p.Has(agent, name) {
		v, err := p.Load(agent, name)
		if err != nil {
			return nil, err
		}
		if state, err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	var out limited
	err = archive.Export(&out, key.aead, key.salt(), state, f, p.aead, p.archiveOwner(agent, name), p.limit)
	switch {
	case errors.Is(err, errPortable):
		return nil, protocol.Errorf(protocol.TooLarge, "the profile %s has more bytes than an exported one may have", name).
			With("limit", MaxPortable).With("profile", name).Then("remove what its sites store and do not need, such as the caches of service workers, and export it again")
	case errors.Is(err, archive.ErrSealed):
		return nil, p.changed(name)
	case errors.Is(err, archive.ErrLarge):
		return nil, p.large(name, p.limit+1)
	case err != nil:
		return nil, p.failed("exporting", err)
	}
	return out.Bytes(), nil
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

// Import keeps what Export has returned as the agent's profile, in the place of one of that name. The
// caller holds the name. Where it fails, what was kept stays as it is. Errors: invalid_params for what
// is no exported profile of that passphrase, too_large.
func (p *Profiles) Import(agent, name, passphrase string, content []byte) error {
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
	var state *protocol.State
	err = p.put(agent, name, func(w io.Writer) (int64, error) {
		to := &remembering{w: w}
		text, size, err := archive.Import(to, p.aead, p.salt(), p.archiveOwner(agent, name), bytes.NewReader(content), key.aead, p.limit)
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
