package session

import (
	"bytes"
	"context"
	"slices"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/shelf"
)

// Passkeys stores the passkeys of agents, sealed, in one file for each agent. Any goroutine may call its
// methods.
type Passkeys struct{ store *Store[passkeyFile] }

// passkeyFile is what an agent's file holds.
type passkeyFile struct {
	Version int                `json:"version"`
	Keys    []protocol.Passkey `json:"keys"`
}

// maxPasskeys is how many passkeys one agent may have.
const maxPasskeys = 100

// allPasskeys is the name of an agent's file.
const allPasskeys = "passkeys"

// NewPasskeys returns the passkeys on a shelf, sealed with key. Without a key all methods return unsupported.
func NewPasskeys(on shelf.Shelf, key string) *Passkeys {
	return &Passkeys{NewStore(on, Kind{
		Noun: "file of passkeys", Key: key, Count: 1, Bytes: 1 << 20, MaxBytes: 1 << 20, AdditionalData: "\x00passkeys",
		SaveAgain: "ask the operator, who can remove the directory passkeys of the state directory: all passkeys in it are lost",
		Free:      "remove some with passkey_delete",
	}, func(f passkeyFile) bool { return f.Version == 1 })}
}

// List returns the agent's passkeys, oldest first. Errors: unsupported without a key or a shelf.
func (p *Passkeys) List(agent string) ([]protocol.Passkey, error) {
	if err := p.usable(); err != nil {
		return nil, err
	}
	if !p.store.Has(agent, allPasskeys) {
		return nil, nil
	}
	f, err := p.store.Load(agent, allPasskeys)
	return f.Keys, err
}

// ListForNew is List for a command during which a page may make another passkey. Errors: also too_large if the
// agent has as many as it may.
func (p *Passkeys) ListForNew(agent string) ([]protocol.Passkey, error) {
	keys, err := p.List(agent)
	if err == nil && len(keys) >= maxPasskeys {
		err = protocol.Errorf(protocol.TooLarge, "you keep %d passkeys, as many as one agent may", len(keys)).With("limit", maxPasskeys).With("size", len(keys)).
			Then("remove some with passkey_delete (passkey_list lists them)")
	}
	return keys, err
}

// RecordUse stores passkeys that were made or used, with their new signature counters. A counter never
// decreases, even if two sessions use one passkey at the same time. If the fleet's database does not answer,
// RecordUse waits for it until ctx ends, since the site knows the passkey already.
func (p *Passkeys) RecordUse(ctx context.Context, agent string, used []protocol.PasskeyUse) error {
	return retryUnavailable(ctx, func() error { return p.recordUse(agent, used) })
}

func (p *Passkeys) recordUse(agent string, used []protocol.PasskeyUse) error {
	return p.update(agent, func(keys []protocol.Passkey) ([]protocol.Passkey, error) {
		for _, u := range used {
			if i := indexOf(keys, u.ID); i >= 0 {
				u.SignCount = max(u.SignCount, keys[i].SignCount)
				keys[i] = u.Passkey
			} else if u.Made {
				// A site has one for each of its users: the new one replaces it (CTAP 2.1, 6.1.2).
				keys = slices.DeleteFunc(keys, func(k protocol.Passkey) bool {
					return k.Resident && u.Resident && k.RPID == u.RPID && bytes.Equal(k.UserHandle, u.UserHandle)
				})
				keys = append(keys, u.Passkey)
			}
		}
		return keys, nil
	})
}

// Delete removes a passkey and returns it. Errors: invalid_params if the agent has none of that id.
func (p *Passkeys) Delete(agent, id string) (gone protocol.Passkey, err error) {
	err = p.update(agent, func(keys []protocol.Passkey) ([]protocol.Passkey, error) {
		i := indexOf(keys, id)
		if i < 0 {
			return nil, protocol.Errorf(protocol.InvalidParams, "id: you have no passkey %q", protocol.Cut(id, 100)).With("parameter", "id").Then("passkey_list lists yours")
		}
		gone = keys[i]
		return append(keys[:i], keys[i+1:]...), nil
	})
	return gone, err
}

func (p *Passkeys) update(agent string, change func([]protocol.Passkey) ([]protocol.Passkey, error)) error {
	if err := p.usable(); err != nil {
		return err
	}
	return p.store.Update(agent, allPasskeys, func(f passkeyFile) (_ passkeyFile, err error) {
		f.Version = 1
		f.Keys, err = change(f.Keys)
		return f, err
	})
}

func (p *Passkeys) usable() error {
	if p == nil || p.store.shelf == nil || p.store.Key == "" {
		return protocol.Errorf(protocol.Unsupported, "passkeys are kept sealed, and the daemon has no state.key to seal them with").
			Then("ask the operator to set state.key (16 characters and more) and to restart the daemon")
	}
	return nil
}

func indexOf(keys []protocol.Passkey, id string) int {
	return slices.IndexFunc(keys, func(k protocol.Passkey) bool { return k.ID == id })
}
