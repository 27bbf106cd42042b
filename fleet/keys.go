package fleet

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// rounds of PBKDF2-HMAC-SHA256, by OWASP's advice of 2023. The tests, which start many nodes under
// the race detector, do with fewer.
var rounds = 600_000

// keys seal what the nodes keep in the database. They come from state.key.
type keys struct{ master []byte }

// openKeys derives the keys, and returns an error that names state.key where the other nodes
// have another.
func (n *Node) openKeys(ctx context.Context) (*keys, error) {
	// The first node chooses the salt and seals the proof; all others open it.
	salt := make([]byte, 16)
	rand.Read(salt)
	salt, err := n.setting(ctx, "salt", salt)
	if err != nil {
		return nil, err
	}
	k := &keys{}
	if k.master, err = pbkdf2.Key(sha256.New, n.about.StateKey, salt, rounds, 32); err != nil {
		return nil, err
	}
	proof, err := n.setting(ctx, "proof", k.seal("proof", nil))
	if err != nil {
		return nil, err
	}
	if _, err := k.unseal("proof", proof); err != nil {
		return nil, errors.New("state.key: the other nodes of the fleet have another: give all of them the same, since each has to read what the others sealed")
	}
	return k, nil
}

// openSalt reads the salt of what agents save, which the first node chooses.
func openSalt(ctx context.Context, n *Node) (err error) {
	fresh := make([]byte, 16)
	rand.Read(fresh)
	n.salt, err = n.setting(ctx, "saved salt", fresh)
	return err
}

// setting returns what the fleet has under a name, which is value if it had nothing.
func (n *Node) setting(ctx context.Context, name string, value []byte) ([]byte, error) {
	_, err := n.db.ExecContext(ctx, "INSERT INTO fleet_settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, value)
	if err == nil {
		err = n.db.QueryRowContext(ctx, "SELECT value FROM fleet_settings WHERE name = $1", name).Scan(&value)
	}
	if err != nil {
		return nil, fmt.Errorf("fleet.dsn: the database cannot be used: %w", n.clean(err))
	}
	return value, nil
}

// derived returns the key for a purpose.
func (k *keys) derived(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, k.master, nil, "browserd fleet "+purpose, 32)
	if err != nil {
		panic(err) // only of a length that is none
	}
	return key
}

// aead returns the cipher for what is kept for a purpose.
func (k *keys) aead(purpose string) cipher.AEAD {
	block, err := aes.NewCipher(k.derived(purpose))
	if err != nil {
		panic(err)
	}
	a, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return a
}

// sealFor seals what is kept of a session, so that it is of no use as another's.
func (k *keys) sealFor(s key, content []byte) []byte {
	return k.aead("session").Seal(nil, nil, content, []byte(s.agent+"\x00"+s.name))
}

func (k *keys) unsealFor(s key, sealed []byte) ([]byte, error) {
	return k.aead("session").Open(nil, nil, sealed, []byte(s.agent+"\x00"+s.name))
}

// sealStorage seals what the origins of a session keep.
func (k *keys) sealStorage(s key, content []byte) []byte {
	return k.aead("storage").Seal(nil, nil, content, []byte(s.agent+"\x00"+s.name))
}

func (k *keys) unsealStorage(s key, sealed []byte) ([]byte, error) {
	return k.aead("storage").Open(nil, nil, sealed, []byte(s.agent+"\x00"+s.name))
}

// sealAnswers seals what operators have answered for a session, so that it is of no use in another epoch.
func (k *keys) sealAnswers(s key, epoch int64, content []byte) []byte {
	return k.aead("session answers").Seal(nil, nil, content, boundTo(s, epoch))
}

func (k *keys) unsealAnswers(s key, epoch int64, sealed []byte) ([]byte, error) {
	return k.aead("session answers").Open(nil, nil, sealed, boundTo(s, epoch))
}

func boundTo(s key, epoch int64) []byte {
	return fmt.Appendf(nil, "%s\x00%s\x00%d", s.agent, s.name, epoch)
}

// sealGiven seals what an agent was given of a secret.
func (k *keys) sealGiven(agent string, content []byte) []byte {
	return k.aead("given").Seal(nil, nil, content, []byte(agent))
}

// unsealGiven returns what opens many of them.
func (k *keys) unsealGiven() func(agent string, sealed []byte) ([]byte, error) {
	a := k.aead("given")
	return func(agent string, sealed []byte) ([]byte, error) { return a.Open(nil, nil, sealed, []byte(agent)) }
}

// tag returns what is the same for the same content of an agent, and tells nothing of it to whoever lacks the key.
func (k *keys) tag(agent string, content []byte) string {
	m := hmac.New(sha256.New, k.derived("given tag"))
	fmt.Fprintf(m, "%d %s", len(agent), agent)
	m.Write(content)
	return string(m.Sum(nil))
}

func (k *keys) seal(purpose string, content []byte) []byte {
	return k.aead(purpose).Seal(nil, nil, content, []byte(purpose))
}

func (k *keys) unseal(purpose string, sealed []byte) ([]byte, error) {
	return k.aead(purpose).Open(nil, nil, sealed, []byte(purpose))
}
