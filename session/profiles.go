package session

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/archive"
	"github.com/browserd/browserd/session/shelf"
)

// ProfileConfig configures the profiles that agents keep.
type ProfileConfig struct {
	Count int `koanf:"count" default:"10" doc:"profiles (session_open {profile}) that one agent may keep"`
	Bytes int `koanf:"bytes" default:"536870912" doc:"bytes of profiles that one agent may keep, all together; also of one while its Chromium runs"`
	Open  int `koanf:"open" default:"4" doc:"profiles whose Chromium runs at once, in the daemon"`
}

// Check returns an error that names the first invalid value.
func (c ProfileConfig) Check() error {
	switch {
	case c.Count <= 0:
		return fmt.Errorf("profile.count: %d: accepts a number above 0", c.Count)
	case c.Bytes < 1<<20:
		return fmt.Errorf("profile.bytes: %d: accepts 1048576 and more", c.Bytes)
	case c.Open <= 0:
		return fmt.Errorf("profile.open: %d: accepts a number above 0", c.Open)
	}
	return nil
}

// Profiles stores the profiles of agents, sealed. Each has an archive of what sites store in its Chromium, and
// beside it a state with what Chromium forgets when it ends: session cookies and session storage. A third item
// says where JavaScript of the agent has run. Any goroutine may call its methods.
type Profiles struct {
	*States // the states beside the archives; its holds are for both
	limit   int64

	exports, imports transfers
}

// NewProfiles returns the profiles on a shelf, sealed with the key of states. Without a key all methods return
// unsupported.
func NewProfiles(on shelf.Shelf, state StateConfig, cfg ProfileConfig) *Profiles {
	store := NewStore(on, Kind{
		Noun: "profile", Key: state.Key, Count: cfg.Count, Bytes: cfg.Count * (16 << 20), MaxBytes: 16 << 20, Config: "profile", AdditionalData: "\x00profile",
		SaveAgain: "profile_delete removes it", SeeAll: "profile_list lists yours",
		Free: "remove some with profile_delete (profile_list lists them)",
	}, func(s protocol.State) bool { return s.Version == protocol.StateVersion })
	return &Profiles{States: &States{Store: store, Checkpoint: state.Checkpoint, tabOnly: true}, limit: int64(cfg.Bytes)}
}

// Usable returns unsupported if there is no shelf, or no key to seal profiles with.
func (p *Profiles) Usable() error {
	if p == nil || p.shelf == nil || p.Key == "" {
		return protocol.Errorf(protocol.Unsupported, "profiles are kept sealed, and the daemon has no state.key to seal them with").
			Then("ask the operator to set state.key (16 characters and more) and to restart the daemon")
	}
	return nil
}

// sealedExt is the extension of an archive's file.
const sealedExt = ".profile"

// archiveAdditionalData returns the additional data that binds an archive to its agent and name.
func (p *Profiles) archiveAdditionalData(agent, name string) []byte {
	return append(p.additionalData(agent, name), "\x00archive"...)
}

// Unseal unpacks a profile into an empty user data directory. For a new profile the directory stays empty.
// Errors: invalid_params for an archive that was changed since it was sealed, or sealed with another key.
func (p *Profiles) Unseal(agent, name, userData string) error {
	if err := p.usable(); err != nil {
		return err
	}
	f, err := p.shelf.Open(agent, name+sealedExt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return p.wrapError("opening", err)
	}
	defer f.Close()
	err = archive.Open(f, userData, p.aead, p.archiveAdditionalData(agent, name), p.limit)
	switch {
	case errors.Is(err, archive.ErrSealed):
		return p.unsealError(name)
	case errors.Is(err, archive.ErrLarge):
		return p.tooLargeError(name, p.limit+1)
	case err != nil:
		return p.wrapError("opening", err)
	}
	return nil
}

func (*Profiles) unsealError(name string) error {
	return protocol.Errorf(protocol.InvalidParams, "profile %s: it was sealed with another state.key, or changed since", name).With("parameter", "profile").
		Then("profile_delete removes it; then log in anew")
}

func (p *Profiles) tooLargeError(name string, size int64) error {
	return protocol.Errorf(protocol.TooLarge, "the profile %s has more bytes than profile.bytes lets one agent keep", name).
		With("quota", "profile.bytes").With("limit", p.limit).With("size", size).With("profile", name).Then("%s", p.Free)
}

// SealingTimeout returns the error timeout of a command that has waited too long for a profile to be sealed.
func SealingTimeout(name string) error {
	return protocol.Errorf(protocol.Timeout, "the profile %s is still being sealed", name).With("profile", name).
		Then("nothing is lost by it; session_open with this profile answers in_use until it is sealed")
}

// Seal seals a user data directory as the agent's profile, in place of the one that is stored. If it fails, the
// stored one stays. The caller holds the name. Errors: too_large, with the quota.
func (p *Profiles) Seal(agent, name, userData string) error {
	if err := p.Usable(); err != nil {
		return err
	}
	size, err := p.measure(agent, name, userData)
	if err != nil {
		return err
	}
	return p.put(agent, name, func(w io.Writer) (int64, error) {
		return size, archive.Seal(w, userData, p.aead, p.salt(), p.archiveAdditionalData(agent, name))
	}, nil)
}

// put stores what seal writes as an agent's profile. seal returns how many bytes it counts for the quota.
// before, if it is not nil, is called right before the profile is replaced. The caller holds the name.
func (p *Profiles) put(agent, name string, seal func(w io.Writer) (int64, error), before func(shelf.Changes) error) error {
	draft, err := p.shelf.Draft(agent, name)
	if err != nil {
		return p.wrapError("sealing", err)
	}
	defer draft.Discard()
	size, err := seal(draft)
	if err := errors.Join(err, draft.Finish()); err != nil {
		return fmt.Errorf("sealing a profile: %w", err)
	}
	return p.change(agent, "sealing", func(in shelf.Changes) error {
		list, err := in.List()
		if err != nil {
			return err
		}
		if err := p.checkLimits(profileItems(list), name, size); err != nil { // others were sealed meanwhile
			return err
		}
		if before != nil {
			if err := before(in); err != nil {
				return err
			}
		}
		return in.Place(draft, name+sealedExt)
	})
}

// SealedAt returns when a profile was sealed last. It is the zero time if there is no such profile.
func (p *Profiles) SealedAt(agent, name string) (time.Time, error) {
	sealed, err := p.shelf.Stat(agent, name+sealedExt)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	return sealed.Saved, p.wrapError("looking for", err)
}

// checkLimits returns too_large if a profile of that name and size, together with the others in list, would
// exceed the agent's quota.
func (p *Profiles) checkLimits(list []Saved, name string, size int64) error {
	others, sum, kept := 0, size, false
	for _, s := range list {
		if kept = kept || s.Name == name; s.Name != name {
			others, sum = others+1, sum+s.Bytes
		}
	}
	if sum > p.limit {
		return p.tooLargeError(name, sum)
	}
	if others >= p.Count && !kept { // a profile that exists may be sealed again even if profile.count was lowered since
		return p.tooManyError(name, others)
	}
	return nil
}

// CheckNew returns too_large if the agent may not begin another profile of that name. inUse are the agent's
// profiles that are in use; they may not be stored yet.
func (p *Profiles) CheckNew(agent, name string, inUse []string) error {
	list, err := p.List(agent)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, s := range list {
		names[s.Name] = true
	}
	if names[name] {
		return nil
	}
	for _, n := range inUse {
		names[n] = true
	}
	if len(names) >= p.Count {
		return p.tooManyError(name, len(names))
	}
	return nil
}

func (p *Profiles) tooManyError(name string, others int) error {
	return protocol.Errorf(protocol.TooLarge, "you keep %d profiles, as many as profile.count lets one agent keep", others).
		With("quota", "profile.count").With("limit", p.Count).With("size", others+1).With("profile", name).Then("%s", p.Free)
}

// CheckSize returns too_large if the user data directory is too large for the agent's quota.
func (p *Profiles) CheckSize(agent, name, userData string) error {
	_, err := p.measure(agent, name, userData)
	return err
}

// measure returns how many bytes a user data directory counts for the quota, or too_large.
func (p *Profiles) measure(agent, name, userData string) (size int64, err error) {
	size, err = archive.Size(userData)
	if errors.Is(err, archive.ErrLarge) {
		return 0, p.tooLargeError(name, p.limit+1)
	}
	if err != nil {
		return 0, err
	}
	list, err := p.List(agent)
	if err != nil {
		return 0, err
	}
	return size, p.checkLimits(list, name, size)
}

// List lists the agent's profiles, by name.
func (p *Profiles) List(agent string) ([]Saved, error) {
	if err := p.usable(); err != nil {
		return nil, err
	}
	items, err := p.shelf.List(agent)
	if err != nil {
		return nil, p.wrapError("listing", err)
	}
	return profileItems(items), nil
}

// profileItems returns the profiles among the items of a shelf. What is beside an archive counts towards its
// size. A profile may have no archive yet.
func profileItems(items []shelf.Item) []Saved {
	list := []Saved{}
	for _, item := range items {
		end := filepath.Ext(item.Name)
		name := strings.TrimSuffix(item.Name, end)
		if end != sealedExt && end != ext && end != scriptsExt || !savedName().MatchString(name) {
			continue
		}
		i := slices.IndexFunc(list, func(s Saved) bool { return s.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, Saved{Name: name})
		}
		list[i].Bytes += item.Bytes
		if item.Saved.After(list[i].Saved) {
			list[i].Saved = item.Saved
		}
	}
	slices.SortFunc(list, func(a, b Saved) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Delete removes a profile and describes it. The caller holds its name. Errors: invalid_params if
// the agent has none of that name.
func (p *Profiles) Delete(agent, name string) (gone Saved, err error) {
	list, err := p.List(agent)
	if err != nil {
		return gone, err
	}
	i := slices.IndexFunc(list, func(s Saved) bool { return s.Name == name })
	if i < 0 {
		return gone, p.notSavedError(name)
	}
	p.shelf.Tidy(agent, name)
	return list[i], p.change(agent, "deleting", func(in shelf.Changes) error {
		for _, end := range []string{ext, sealedExt, scriptsExt} {
			if err := in.Remove(name + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// Limit returns profile.bytes, the quota of one agent.
func (p *Profiles) Limit() int64 { return p.limit }
