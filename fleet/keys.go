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

// pbkdf2Rounds is how many rounds of PBKDF2-HMAC-SHA256 derive the master key, as OWASP advised in 2023. It is a variable
// because the tests, which start many nodes under the race detector, set it lower.
var pbkdf2Rounds = 600_000

// keys seal what the nodes keep in the database. They are derived from state.key.
type keys struct{ master []byte }

// openKeys derives the keys. It returns an error that names state.key if the other nodes have a different one.
func (n *Node) openKeys(ctx context.Context) (*keys, error) {
	// The first node stores the salt and a sealed proof. The others open the proof, to see that they have the same state.key.
	salt := make([]byte, 16)
	rand.Read(salt)
	salt, err := n.settingOr(ctx, "salt", salt)
	if err != nil {
		return nil, err
	}
	k := &keys{}
	if k.master, err = pbkdf2.Key(sha256.New, n.opts.StateKey, salt, pbkdf2Rounds, 32); err != nil {
		return nil, err
	}
	proof, err := n.settingOr(ctx, "proof", k.seal("proof", nil))
	if err != nil {
		return nil, err
	}
	if _, err := k.unseal("proof", proof); err != nil {
		return nil, errors.New("state.key: the other nodes of the fleet have another: give all of them the same, since each has to read what the others sealed")
	}
	return k, nil
}

// openSalt reads the salt of the shelves' keys. The first node chooses it.
func openSalt(ctx context.Context, n *Node) (err error) {
	fresh := make([]byte, 16)
	rand.Read(fresh)
	n.salt, err = n.settingOr(ctx, "saved salt", fresh)
	return err
}

// derive returns the key for a purpose.
func (k *keys) derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, k.master, nil, "browserd fleet "+purpose, 32)
	if err != nil {
		panic(err) // only if the length is invalid
	}
	return key
}

// aead returns the cipher for what is kept for a purpose.
func (k *keys) aead(purpose string) cipher.AEAD {
	block, err := aes.NewCipher(k.derive(purpose))
	if err != nil {
		panic(err)
	}
	a, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return a
}

// sealCheckpoint seals a session's checkpoint. It cannot be unsealed as that of another session.
func (k *keys) sealCheckpoint(s key, content []byte) []byte {
	return k.aead("session").Seal(nil, nil, content, []byte(s.agent+"\x00"+s.name))
}

func (k *keys) unsealCheckpoint(s key, sealed []byte) ([]byte, error) {
	return k.aead("session").Open(nil, nil, sealed, []byte(s.agent+"\x00"+s.name))
}

// sealStorage seals what the origins of a session keep.
func (k *keys) sealStorage(s key, content []byte) []byte {
	return k.aead("storage").Seal(nil, nil, content, []byte(s.agent+"\x00"+s.name))
}

func (k *keys) unsealStorage(s key, sealed []byte) ([]byte, error) {
	return k.aead("storage").Open(nil, nil, sealed, []byte(s.agent+"\x00"+s.name))
}

// sealAnswers seals operators' answers for a session. They cannot be unsealed for another session or epoch.
func (k *keys) sealAnswers(s key, epoch int64, content []byte) []byte {
	return k.aead("session answers").Seal(nil, nil, content, epochData(s, epoch))
}

func (k *keys) unsealAnswers(s key, epoch int64, sealed []byte) ([]byte, error) {
	return k.aead("session answers").Open(nil, nil, sealed, epochData(s, epoch))
}

// epochData is the additional authenticated data of what is sealed for an epoch of a session.
func epochData(s key, epoch int64) []byte {
	return fmt.Appendf(nil, "%s\x00%s\x00%d", s.agent, s.name, epoch)
}

// sealGiven seals what an agent was given of a secret.
func (k *keys) sealGiven(agent string, content []byte) []byte {
	return k.aead("given").Seal(nil, nil, content, []byte(agent))
}

// unsealGiven returns a function that unseals what sealGiven has sealed. It derives the key once.
func (k *keys) unsealGiven() func(agent string, sealed []byte) ([]byte, error) {
	a := k.aead("given")
	return func(agent string, sealed []byte) ([]byte, error) { return a.Open(nil, nil, sealed, []byte(agent)) }
}

// tag returns a keyed hash (HMAC) of an agent's value: the same value has the same tag, and without the key a tag says
// nothing about its value.
func (k *keys) tag(agent string, content []byte) string {
	m := hmac.New(sha256.New, k.derive("given tag"))
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
