package session

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/hold"
)

// Kind is what a Store keeps, how much of it, and how errors speak of it.
type Kind struct {
	Noun     string // as in "you have saved no state of that name"
	Key      string // the passphrase with which files are sealed; empty: files that only browserd's user can read
	Count    int    // how many one agent may keep
	Bytes    int    // of all that one agent keeps
	MaxBytes int    // of one
	// Config is the part of the configuration that has the keys count and bytes.
	Config string
	// SaveAgain, SeeAll and Free are the next steps that errors name.
	SaveAgain, SeeAll, Free string
	// Bound is part of what a sealed file is bound to, beside agent and name: none can be opened as
	// one of another kind.
	Bound string
}

// Store keeps what agents have saved by name, of one kind: one directory for each agent, which
// no other agent can name, with one file (mode 0600) for each name. Any goroutine may call its
// methods.
type Store[T any] struct {
	Kind
	dir    string
	valid  func(T) bool
	saving sync.Mutex // held in this process by who holds the lock of a directory: see lock
	keys   struct {
		sync.Mutex
		of   map[string]cipher.AEAD // by salt
		salt []byte                 // see salt
	}
}

// NewStore keeps values below dir, which is created with the first one. If dir is empty,
// saving is unsupported. valid reports whether a value that was read is of this version.
func NewStore[T any](dir string, k Kind, valid func(T) bool) *Store[T] {
	return &Store[T]{Kind: k, dir: dir, valid: valid}
}

var savedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) })

// sealedMagic begins an encrypted file. It is followed by 16 bytes of salt, the nonce, and
// the encrypted content.
const sealedMagic = "browserd state 1\n"

// rounds of PBKDF2-HMAC-SHA256, by OWASP's advice of 2023.
const rounds = 600_000

// Check returns an error unless name is a valid name. A valid name cannot be a path.
func (*Store[T]) Check(name string) error {
	if !savedName().MatchString(name) {
		return protocol.Errorf(protocol.InvalidParams, "name %q: accepts a small letter or a digit, then small letters, digits, '.', '_' and '-', at most 64", short(name)).
			With("parameter", "name")
	}
	return nil
}

// Save stores a value under a name. It replaces an earlier one of the agent.
func (st *Store[T]) Save(agent, name string, v T) error {
	content, err := st.content(agent, name, v)
	if err != nil {
		return err
	}
	root, err := st.open(agent, true)
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := st.lock(root)
	if err != nil {
		return err
	}
	defer unlock()
	return st.write(root, name, content)
}

// Update stores what change makes of the value under a name, of the zero value where there is
// none. Nobody else writes in between, in this process or another.
func (st *Store[T]) Update(agent, name string, change func(T) (T, error)) error {
	root, err := st.open(agent, true)
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := st.lock(root)
	if err != nil {
		return err
	}
	defer unlock()
	var v T
	if st.Has(agent, name) {
		if v, err = st.Load(agent, name); err != nil {
			return err
		}
	}
	if v, err = change(v); err != nil {
		return err
	}
	content, err := st.content(agent, name, v)
	if err != nil {
		return err
	}
	return st.write(root, name, content)
}

// lockFile is what lock holds, in each agent's directory. It is empty and stays there.
const lockFile = ".lock"

// lockWait is how long another process may take to write.
const lockWait = 30 * time.Second

// lock keeps others from writing in an agent's directory, in this process and in others, until
// the func that it returns is called.
func (st *Store[T]) lock(root *os.Root) (unlock func(), err error) {
	st.saving.Lock()
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	release, err := hold.Wait(ctx, filepath.Join(root.Name(), lockFile))
	if err != nil {
		st.saving.Unlock()
		return nil, fmt.Errorf("saving a %s: waiting for another process that writes in the same directory: %w", st.Noun, err)
	}
	return func() {
		release()
		st.saving.Unlock()
	}, nil
}

// content is what the file of a value holds.
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

// write writes a file. The caller holds the lock.
func (st *Store[T]) write(root *os.Root, name string, content []byte) error {
	if err := st.roomFor(root, name, len(content)); err != nil {
		return err
	}
	// Write a temporary file and rename it, so that no reader sees half a file.
	part := "." + rand.Text()
	f, err := root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("saving a %s: %w", st.Noun, err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(part, name+".json")
	}
	if err != nil {
		root.Remove(part)
		return fmt.Errorf("saving a %s: %w", st.Noun, err)
	}
	return nil
}

// Load reads what the agent saved under a name. Errors: invalid_params if there is none of that
// name or the file is not one that Save wrote, too_large.
func (st *Store[T]) Load(agent, name string) (T, error) {
	var v, none T
	if err := st.Check(name); err != nil {
		return none, err
	}
	bad := func(why string) error {
		return protocol.Errorf(protocol.InvalidParams, "name %s: %s", name, why).With("parameter", "name").Then("%s", st.SaveAgain)
	}
	root, err := st.open(agent, false)
	var f *os.File
	if err == nil {
		defer root.Close()
		f, err = root.Open(name + ".json")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return none, st.none(name)
	}
	if err != nil {
		return none, fmt.Errorf("loading a %s: %w", st.Noun, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return none, bad("it is not a file")
	}
	content, err := io.ReadAll(io.LimitReader(f, int64(st.MaxBytes)+1024))
	if err != nil {
		return none, fmt.Errorf("loading a %s: %w", st.Noun, err)
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

// none returns the error of a name under which the agent has saved nothing.
func (st *Store[T]) none(name string) error {
	return protocol.Errorf(protocol.InvalidParams, "name %s: you have saved no %s of that name", name, st.Noun).With("parameter", "name").Then("%s", st.SeeAll)
}

// Has reports whether the agent has saved something under the name. What keeps it from telling
// is for Load to say: then it is true.
func (st *Store[T]) Has(agent, name string) bool {
	root, err := st.open(agent, false)
	if err == nil {
		defer root.Close()
		_, err = root.Lstat(name + ".json")
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// open opens the directory of what an agent saved. The directory's name is a digest of the
// agent's name, so that no agent's name can be a path.
func (st *Store[T]) open(agent string, create bool) (*os.Root, error) {
	if st == nil || st.dir == "" {
		return nil, protocol.Errorf(protocol.Unsupported, "the daemon has no state directory to keep a %s in", st.Noun).
			Then("ask the operator to give browserd a state directory (XDG_STATE_HOME)")
	}
	sum := sha256.Sum256([]byte(agent))
	dir := filepath.Join(st.dir, hex.EncodeToString(sum[:16]))
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("saving a %s: %w", st.Noun, err)
		}
	}
	return os.OpenRoot(dir)
}

// maxKeys is how many derived keys a store remembers, each for the salt of a file.
const maxKeys = 32

// aead returns the cipher of files with that salt. Deriving its key takes 0.2 s, so that it is
// remembered.
func (st *Store[T]) aead(salt []byte) (cipher.AEAD, error) {
	st.keys.Lock()
	defer st.keys.Unlock()
	if a := st.keys.of[string(salt)]; a != nil {
		return a, nil
	}
	key, err := pbkdf2.Key(sha256.New, st.Key, salt, rounds, 32)
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
	if len(st.keys.of) >= maxKeys || st.keys.of == nil {
		st.keys.of = map[string]cipher.AEAD{}
	}
	st.keys.of[string(salt)] = a
	return a, nil
}

// owner returns the additional data that binds a sealed file to its agent, name and kind, so that
// it cannot be opened as another's.
func (st *Store[T]) owner(agent, name string) []byte {
	return []byte(agent + "\x00" + name + st.Bound)
}

const saltSize = 16

// salt is that of the files that this process writes: one, since the nonce of each is random.
func (st *Store[T]) salt() []byte {
	st.keys.Lock()
	defer st.keys.Unlock()
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
	return a.Seal(out, nil, content, st.owner(agent, name)), nil
}

func (st *Store[T]) unseal(agent, name string, content []byte) ([]byte, error) {
	content = content[len(sealedMagic):]
	if len(content) < saltSize {
		return nil, errors.New("too short")
	}
	a, err := st.aead(content[:saltSize])
	if err != nil {
		return nil, err
	}
	return a.Open(nil, nil, content[saltSize:], st.owner(agent, name))
}
