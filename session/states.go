package session

import (
	"bytes"
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

	"github.com/browserd/browserd/protocol"
)

// StateConfig configures how saved states are stored.
type StateConfig struct {
	Key   string `koanf:"key" default:"" secret:"true" doc:"passphrase with which state_save encrypts what it writes (AES-256-GCM); empty: files that only browserd's user can read"`
	Bytes int    `koanf:"bytes" default:"67108864" doc:"bytes of saved states that one agent may keep, all together; one state has at most 16 MiB"`
	Count int    `koanf:"count" default:"100" doc:"saved states that one agent may keep"`
}

// Check returns an error that names the first invalid value.
func (c StateConfig) Check() error {
	if c.Key != "" && len(c.Key) < 16 {
		return fmt.Errorf("state.key: accepts at least 16 characters")
	}
	if c.Bytes <= 0 {
		return fmt.Errorf("state.bytes: %d: accepts a number above 0", c.Bytes)
	}
	if c.Count <= 0 {
		return fmt.Errorf("state.count: %d: accepts a number above 0", c.Count)
	}
	return nil
}

// States stores the states that agents have saved by name: one directory for each agent,
// which no other agent can name, with one file (mode 0600) for each state. Any goroutine may
// call its methods.
type States struct {
	dir    string
	cfg    StateConfig
	saving sync.Mutex // held while an agent's states are counted and a new one is written
}

// NewStates stores states below dir, which is created with the first one. If dir is empty,
// saving is unsupported.
func NewStates(dir string, cfg StateConfig) *States { return &States{dir: dir, cfg: cfg} }

// maxState is the largest state to write or read, in bytes.
const maxState = 16 << 20

var stateName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) })

// sealedMagic begins an encrypted state. It is followed by 16 bytes of salt, the nonce, and
// the encrypted state.
const sealedMagic = "browserd state 1\n"

// rounds of PBKDF2-HMAC-SHA256, by OWASP's advice of 2023.
const rounds = 600_000

// Check returns an error unless name is a valid name of a state. A valid name cannot be a
// path.
func (*States) Check(name string) error {
	if !stateName().MatchString(name) {
		return protocol.Errorf(protocol.InvalidParams, "name %q: accepts a small letter or a digit, then small letters, digits, '.', '_' and '-', at most 64", short(name)).
			With("parameter", "name")
	}
	return nil
}

// Save stores a state under a name. It replaces an earlier one of the agent.
func (st *States) Save(agent, name string, s protocol.State) error {
	if err := st.Check(name); err != nil {
		return err
	}
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if len(content) > maxState {
		return protocol.Errorf(protocol.TooLarge, "the state has %d bytes", len(content)).With("limit", maxState).With("size", len(content))
	}
	if st.cfg.Key != "" {
		if content, err = st.seal(agent, name, content); err != nil {
			return err
		}
	}
	root, err := st.open(agent, true)
	if err != nil {
		return err
	}
	defer root.Close()
	st.saving.Lock()
	defer st.saving.Unlock()
	if err := st.roomFor(root, name, len(content)); err != nil {
		return err
	}
	// Write a temporary file and rename it, so that no reader sees half a state.
	part := "." + rand.Text()
	f, err := root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("saving a state: %w", err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(part, name+".json")
	}
	if err != nil {
		root.Remove(part)
		return fmt.Errorf("saving a state: %w", err)
	}
	return nil
}

// Load reads a state that the agent saved. Errors: invalid_params if there is none of that
// name or the file is not one that Save wrote, too_large.
func (st *States) Load(agent, name string) (protocol.State, error) {
	var s protocol.State
	if err := st.Check(name); err != nil {
		return s, err
	}
	bad := func(why string) error {
		return protocol.Errorf(protocol.InvalidParams, "name %s: %s", name, why).With("parameter", "name").Then("save it again with state_save")
	}
	root, err := st.open(agent, false)
	var f *os.File
	if err == nil {
		defer root.Close()
		f, err = root.Open(name + ".json")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s, protocol.Errorf(protocol.InvalidParams, "name %s: you have saved no state of that name", name).With("parameter", "name")
	}
	if err != nil {
		return s, fmt.Errorf("loading a state: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return s, bad("it is not a file")
	}
	content, err := io.ReadAll(io.LimitReader(f, maxState+1024))
	if err != nil {
		return s, fmt.Errorf("loading a state: %w", err)
	}
	sealed := bytes.HasPrefix(content, []byte(sealedMagic))
	switch {
	case len(content) > maxState+512:
		return s, protocol.Errorf(protocol.TooLarge, "the state %s is larger than a state may be", name).With("limit", maxState)
	case sealed && st.cfg.Key == "":
		return s, bad("it is encrypted, and state.key is not set")
	case !sealed && st.cfg.Key != "":
		return s, bad("it is not encrypted, although state.key is set")
	case sealed:
		if content, err = st.unseal(agent, name, content); err != nil {
			return s, bad("it was encrypted with another state.key, or changed since")
		}
	}
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil || s.Version != protocol.StateVersion {
		return protocol.State{}, bad("it is not a state of this version of browserd")
	}
	return s, nil
}

// open opens the directory of an agent's states. The directory's name is a digest of the
// agent's name, so that no agent's name can be a path.
func (st *States) open(agent string, create bool) (*os.Root, error) {
	if st == nil || st.dir == "" {
		return nil, protocol.Errorf(protocol.Unsupported, "the daemon has no state directory to keep states in").
			Then("ask the operator to give browserd a state directory (XDG_STATE_HOME)")
	}
	sum := sha256.Sum256([]byte(agent))
	dir := filepath.Join(st.dir, hex.EncodeToString(sum[:16]))
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("saving a state: %w", err)
		}
	}
	return os.OpenRoot(dir)
}

func (st *States) aead(salt []byte) (cipher.AEAD, error) {
	key, err := pbkdf2.Key(sha256.New, st.cfg.Key, salt, rounds, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// owner is the additional data that binds a sealed state to its agent and name, so that it
// cannot be opened as another's.
func owner(agent, name string) []byte { return []byte(agent + "\x00" + name) }

const saltSize = 16

func (st *States) seal(agent, name string, content []byte) ([]byte, error) {
	out := append([]byte(sealedMagic), make([]byte, saltSize)...)
	salt := out[len(sealedMagic):]
	rand.Read(salt)
	a, err := st.aead(salt)
	if err != nil {
		return nil, err
	}
	return a.Seal(out, nil, content, owner(agent, name)), nil
}

func (st *States) unseal(agent, name string, content []byte) ([]byte, error) {
	content = content[len(sealedMagic):]
	if len(content) < saltSize {
		return nil, errors.New("too short")
	}
	a, err := st.aead(content[:saltSize])
	if err != nil {
		return nil, err
	}
	return a.Open(nil, nil, content[saltSize:], owner(agent, name))
}
