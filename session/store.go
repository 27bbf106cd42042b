package session

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"sync"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/shelf"
)

// Kind describes what a Store keeps: its limits, and the words for it in errors.
type Kind struct {
	Noun     string // as in "you have saved no state of that name"
	Key      string // the passphrase with which files are sealed; empty: files that only browserd's user can read
	Count    int    // limit of values of one agent
	Bytes    int    // limit of all values of one agent together
	MaxBytes int    // of one
	// Config is the part of the configuration that has the keys count and bytes.
	Config string
	// SaveAgain, SeeAll and Free are the next steps that errors name.
	SaveAgain, SeeAll, Free string
	// AdditionalData is part of the additional data with which files are sealed, besides agent and name, so
	// that a file of one kind cannot be opened as one of another kind.
	AdditionalData string
}

// Store keeps values of one kind that agents have saved under names, on a shelf. Each agent has its own names.
// Any goroutine may call its methods.
type Store[T any] struct {
	Kind
	shelf shelf.Shelf
	valid func(T) bool
	keys  struct {
		sync.Mutex
		bySalt map[string]cipher.AEAD // derived keys, by salt
		salt   []byte                 // salt for what this process seals; see the method salt
	}
}

// NewStore returns a Store on a shelf. If the shelf is nil, saving is unsupported. valid reports whether a
// value that was read has this version's format.
func NewStore[T any](on shelf.Shelf, k Kind, valid func(T) bool) *Store[T] {
	return &Store[T]{Kind: k, shelf: on, valid: valid}
}

var savedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) })

// sealedMagic begins an encrypted file. It is followed by 16 bytes of salt, the nonce, and
// the encrypted content.
const sealedMagic = "browserd state 1\n"

// pbkdf2Iterations is the number of iterations of PBKDF2-HMAC-SHA256 that OWASP recommended in 2023. The tests,
// which derive many keys under the race detector, set a lower one.
var pbkdf2Iterations = 600_000

// Check returns an error unless name is a valid name. A valid name cannot be a path.
func (*Store[T]) Check(name string) error {
	if !savedName().MatchString(name) {
		return protocol.Errorf(protocol.InvalidParams, "name %q: accepts a small letter or a digit, then small letters, digits, '.', '_' and '-', at most 64", truncateName(name)).
			With("parameter", "name")
	}
	return nil
}

// Save stores a value under a name. It replaces the agent's earlier value of that name.
func (st *Store[T]) Save(agent, name string, v T) error {
	content, err := st.content(agent, name, v)
	if err != nil {
		return err
	}
	return st.change(agent, "saving", func(in shelf.Changes) error { return st.put(in, name, content) })
}

// Update replaces the value under a name by what change returns for it. If there is none, change gets the zero
// value. Nobody else writes in between, in this process or another.
func (st *Store[T]) Update(agent, name string, change func(T) (T, error)) error {
	return st.change(agent, "saving", func(in shelf.Changes) error {
		v, err := st.read(agent, name, in.Open)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err == nil {
			v, err = change(v)
		}
		if err != nil {
			return err
		}
		content, err := st.content(agent, name, v)
		if err != nil {
			return err
		}
		return st.put(in, name, content)
	})
}

// change runs do while nobody else changes the agent's values. doing is the verb for errors, such as "saving".
func (st *Store[T]) change(agent, doing string, do func(shelf.Changes) error) error {
	if err := st.usable(); err != nil {
		return err
	}
	return st.wrapError(doing, st.shelf.Change(agent, do))
}

// wrapError adds to an error what was being done, unless it is a *protocol.Error.
func (st *Store[T]) wrapError(doing string, err error) error {
	if e := (*protocol.Error)(nil); err == nil || errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("%s a %s: %w", doing, st.Noun, err)
}

// usable returns unsupported if there is no shelf.
func (st *Store[T]) usable() error {
	if st.shelf == nil {
		return protocol.Errorf(protocol.Unsupported, "the daemon has no state directory to keep a %s in", st.Noun).
			Then("ask the operator to give browserd a state directory (XDG_STATE_HOME)")
	}
	return nil
}

// content returns the content of a value's file: JSON, sealed if there is a key.
func (st *Store[T]) content(agent, name string, v T) ([]byte, error) {
	if err := st.Check(name); err != nil {
		return nil, err
	}
	content, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(content) > st.MaxBytes {
		return nil, protocol.Errorf(protocol.TooLarge, "the %s has %d bytes", st.Noun, len(content)).With("limit", st.MaxBytes).With("size", len(content))
	}
	if st.Key == "" {
		return content, nil
	}
	return st.seal(agent, name, content)
}

// ext is the extension of a Store's files.
const ext = ".json"

// put stores content under a name, within the quota.
func (st *Store[T]) put(in shelf.Changes, name string, content []byte) error {
	list, err := in.List()
	if err == nil {
		err = st.checkQuota(savedItems(list), name, int64(len(content)))
	}
	if err == nil {
		err = in.Put(name+ext, content)
	}
	return err
}

// Load reads what the agent saved under a name. Errors: invalid_params if there is none of that
// name or the file is not one that Save wrote, too_large.
func (st *Store[T]) Load(agent, name string) (T, error) {
	var none T
	if err := st.Check(name); err != nil {
		return none, err
	}
	if err := st.usable(); err != nil {
		return none, err
	}
	v, err := st.read(agent, name, func(name string) (io.ReadCloser, error) { return st.shelf.Open(agent, name) })
	if errors.Is(err, fs.ErrNotExist) {
		return none, st.notSavedError(name)
	}
	return v, err
}

// read is Load with a func that opens the file. If there is no such file, the error wraps fs.ErrNotExist.
func (st *Store[T]) read(agent, name string, open func(name string) (io.ReadCloser, error)) (T, error) {
	var v, none T
	bad := func(why string) error {
		return protocol.Errorf(protocol.InvalidParams, "name %s: %s", name, why).With("parameter", "name").Then("%s", st.SaveAgain)
	}
	f, err := open(name + ext)
	if errors.Is(err, shelf.ErrNoFile) {
		return none, bad("it is not a file")
	}
	if err != nil {
		return none, st.wrapError("loading", err)
	}
	content, err := io.ReadAll(io.LimitReader(f, int64(st.MaxBytes)+1024))
	if err = errors.Join(err, f.Close()); err != nil {
		return none, st.wrapError("loading", err)
	}
	sealed := bytes.HasPrefix(content, []byte(sealedMagic))
	switch {
	case len(content) > st.MaxBytes+512:
		return none, protocol.Errorf(protocol.TooLarge, "the %s %s is larger than one may be", st.Noun, name).With("limit", st.MaxBytes)
	case sealed && st.Key == "":
		return none, bad("it is encrypted, and state.key is not set")
	case !sealed && st.Key != "":
		return none, bad("it is not encrypted, although state.key is set")
	case sealed:
		if content, err = st.unseal(agent, name, content); err != nil {
			return none, bad("it was encrypted with another state.key, or changed since")
		}
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil || !st.valid(v) {
		return none, bad("it is not a " + st.Noun + " of this version of browserd")
	}
	return v, nil
}

// notSavedError returns the error of a name under which the agent has saved nothing.
func (st *Store[T]) notSavedError(name string) error {
	return protocol.Errorf(protocol.InvalidParams, "name %s: you have saved no %s of that name", name, st.Noun).With("parameter", "name").Then("%s", st.SeeAll)
}

// Has reports whether the agent has saved something under the name. It also returns true if that cannot be
// found out: Load then returns the error.
func (st *Store[T]) Has(agent, name string) bool {
	if st.usable() != nil {
		return true
	}
	_, err := st.shelf.Stat(agent, name+ext)
	return !errors.Is(err, fs.ErrNotExist)
}

// maxKeys is how many derived keys a store remembers, each for the salt of a file.
const maxKeys = 32

// aead returns the cipher of files with that salt. Its key is cached, since deriving it takes 0.2 s.
func (st *Store[T]) aead(salt []byte) (cipher.AEAD, error) {
	st.keys.Lock()
	defer st.keys.Unlock()
	if a := st.keys.bySalt[string(salt)]; a != nil {
		return a, nil
	}
	key, err := pbkdf2.Key(sha256.New, st.Key, salt, pbkdf2Iterations, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	a, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	if len(st.keys.bySalt) >= maxKeys || st.keys.bySalt == nil {
		st.keys.bySalt = map[string]cipher.AEAD{}
	}
	st.keys.bySalt[string(salt)] = a
	return a, nil
}

// additionalData returns the additional data that binds a sealed file to its agent, name and kind, so that
// it cannot be opened as another's.
func (st *Store[T]) additionalData(agent, name string) []byte {
	return []byte(agent + "\x00" + name + st.AdditionalData)
}

const saltSize = 16

// salt returns the salt for what this process seals. One is enough, since the nonces are random. It is the salt
// of the first file that the process opened, if any, so that only one key has to be derived. In a fleet all
// nodes use one salt, so that no node has to derive a key for what another one wrote.
func (st *Store[T]) salt() []byte {
	st.keys.Lock()
	defer st.keys.Unlock()
	if st.keys.salt == nil && st.shelf != nil {
		st.keys.salt = st.shelf.Salt()
	}
	if st.keys.salt == nil {
		st.keys.salt = make([]byte, saltSize)
		rand.Read(st.keys.salt)
	}
	return st.keys.salt
}

func (st *Store[T]) seal(agent, name string, content []byte) ([]byte, error) {
	out := append([]byte(sealedMagic), make([]byte, saltSize)...)
	salt := out[len(sealedMagic):]
	copy(salt, st.salt())
	a, err := st.aead(salt)
	if err != nil {
		return nil, err
	}
	return a.Seal(out, nil, content, st.additionalData(agent, name)), nil
}

func (st *Store[T]) unseal(agent, name string, content []byte) ([]byte, error) {
	content = content[len(sealedMagic):]
	if len(content) < saltSize {
		return nil, errors.New("too short")
	}
	salt, content := content[:saltSize], content[saltSize:]
	a, err := st.aead(salt)
	if err != nil {
		return nil, err
	}
	plain, err := a.Open(nil, nil, content, st.additionalData(agent, name))
	if err == nil && (st.shelf == nil || st.shelf.Salt() == nil) {
		st.keys.Lock()
		defer st.keys.Unlock()
		if st.keys.salt == nil {
			st.keys.salt = bytes.Clone(salt)
		}
	}
	return plain, err
}
