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

// Profiles keeps the profiles of agents, sealed: of each an archive of what sites store in its
// Chromium, and beside it a state with what Chromium forgets when it ends, cookies of the session
// and session storage. Any goroutine may call its methods.
type Profiles struct {
	*States // the states beside the archives; it reserves the names of both
	limit   int64

	exports, imports transfers
}

// NewProfiles keeps profiles on a shelf, sealed with the key of states. Without one there are none.
func NewProfiles(on shelf.Shelf, state StateConfig, cfg ProfileConfig) *Profiles {
	store := NewStore(on, Kind{
		Noun: "profile", Key: state.Key, Count: cfg.Count, Bytes: cfg.Count * (16 << 20), MaxBytes: 16 << 20, Config: "profile", Bound: "\x00profile",
		SaveAgain: "profile_delete removes it", SeeAll: "profile_list lists yours",
		Free: "remove some with profile_delete (profile_list lists them)",
	}, func(s protocol.State) bool { return s.Version == protocol.StateVersion })
	return &Profiles{States: &States{Store: store, Checkpoint: state.Checkpoint, tabOnly: true}, limit: int64(cfg.Bytes)}
}

// Usable returns unsupported where nothing seals profiles.
func (p *Profiles) Usable() error {
	if p == nil || p.shelf == nil || p.Key == "" {
		return protocol.Errorf(protocol.Unsupported, "profiles are kept sealed, and the daemon has no state.key to seal them with").
			Then("ask the operator to set state.key (16 characters and more) and to restart the daemon")
	}
	return nil
}

// sealedExt ends the name of an archive's file.
const sealedExt = ".profile"

// archiveOwner is what binds an archive to its agent and name.
func (p *Profiles) archiveOwner(agent, name string) []byte {
	return append(p.owner(agent, name), "\x00archive"...)
}

// Fill puts what is kept of a profile into an empty user data directory. One that is not there
// yet leaves it empty. Errors: invalid_params for an archive that is not as it was sealed.
func (p *Profiles) Fill(agent, name, userData string) error {
	if err := p.usable(); err != nil {
		return err
	}
	f, err := p.shelf.Open(agent, name+sealedExt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return p.failed("opening", err)
	}
	defer f.Close()
	err = archive.Open(f, userData, p.aead, p.archiveOwner(agent, name), p.limit)
	switch {
	case errors.Is(err, archive.ErrSealed):
		return p.changed(name)
	case errors.Is(err, archive.ErrLarge):
		return p.large(name, p.limit+1)
	case err != nil:
		return p.failed("opening", err)
	}
	return nil
}

func (*Profiles) changed(name string) error {
	return protocol.Errorf(protocol.InvalidParams, "profile %s: it was sealed with another state.key, or changed since", name).With("parameter", "profile").
		Then("profile_delete removes it; then log in anew")
}

func (p *Profiles) large(name string, size int64) error {
	return protocol.Errorf(protocol.TooLarge, "the profile %s has more bytes than profile.bytes lets one agent keep", name).
		With("quota", "profile.bytes").With("limit", p.limit).With("size", size).With("profile", name).Then("%s", p.Free)
}

// BeingSealed returns the timeout of who waits for a profile to be sealed.
func BeingSealed(name string) error {
	return protocol.Errorf(protocol.Timeout, "the profile %s is still being sealed", name).With("profile", name).
		Then("nothing is lost by it; session_open with this profile answers in_use until it is sealed")
}

// Keep seals a user data directory as the agent's profile, in the place of what is kept. Where it
// fails, that stays as it is. The caller holds its name. Errors: too_large, with the quota.
func (p *Profiles) Keep(agent, name, userData string) error {
	if err := p.Usable(); err != nil {
		return err
	}
	size, err := p.measure(agent, name, userData)
	if err != nil {
		return err
	}
	return p.put(agent, name, func(w io.Writer) (int64, error) {
		return size, archive.Seal(w, userData, p.aead, p.salt(), p.archiveOwner(agent, name))
	}, nil)
}

// put puts what seal writes in the place of an agent's profile. seal returns how many bytes it holds.
// before, where it is not nil, is called right before that. The caller holds the name.
func (p *Profiles) put(agent, name string, seal func(w io.Writer) (int64, error), before func(shelf.Changes) error) error {
	draft, err := p.shelf.Draft(agent, name)
	if err != nil {
		return p.failed("sealing", err)
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
		if err := p.within(profilesIn(list), name, size); err != nil { // others were sealed meanwhile
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

// Sealed returns when a profile was sealed last; the zero time: never, or it was deleted since.
func (p *Profiles) Sealed(agent, name string) (time.Time, error) {
	sealed, err := p.shelf.Stat(agent, name+sealedExt)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	return sealed.Saved, p.failed("looking for", err)
}

// within returns too_large if the agent may not keep so many bytes under a name beside list.
func (p *Profiles) within(list []Saved, name string, size int64) error {
	others, sum, kept := 0, size, false
	for _, s := range list {
		if kept = kept || s.Name == name; s.Name != name {
			others, sum = others+1, sum+s.Bytes
		}
	}
	if sum > p.limit {
		return p.large(name, sum)
	}
	if others >= p.Count && !kept { // one that is kept stays, also where profile.count was lowered since
		return p.many(name, others)
	}
	return nil
}

// Admits returns too_large if the agent may not begin a profile of a name beside those that it keeps and
// those that are in use, which may not be kept yet.
func (p *Profiles) Admits(agent, name string, inUse []string) error {
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
		return p.many(name, len(names))
	}
	return nil
}

func (p *Profiles) many(name string, others int) error {
	return protocol.Errorf(protocol.TooLarge, "you keep %d profiles, as many as profile.count lets one agent keep", others).
		With("quota", "profile.count").With("limit", p.Count).With("size", others+1).With("profile", name).Then("%s", p.Free)
}

// Exceeds returns too_large if the agent may not keep what a user data directory holds.
func (p *Profiles) Exceeds(agent, name, userData string) error {
	_, err := p.measure(agent, name, userData)
	return err
}

// measure returns what a user data directory holds, or too_large.
func (p *Profiles) measure(agent, name, userData string) (size int64, err error) {
	size, err = archive.Size(userData)
	if errors.Is(err, archive.ErrLarge) {
		return 0, p.large(name, p.limit+1)
	}
	if err != nil {
		return 0, err
	}
	list, err := p.List(agent)
	if err != nil {
		return 0, err
	}
	return size, p.within(list, name, size)
}

// List lists the agent's profiles, by name.
func (p *Profiles) List(agent string) ([]Saved, error) {
	if err := p.usable(); err != nil {
		return nil, err
	}
	items, err := p.shelf.List(agent)
	if err != nil {
		return nil, p.failed("listing", err)
	}
	return profilesIn(items), nil
}

// profilesIn returns the profiles that lie on a shelf, each with what lies beside its archive.
func profilesIn(items []shelf.Item) []Saved {
	list := []Saved{}
	for _, item := range items {
		end := filepath.Ext(item.Name)
		name := strings.TrimSuffix(item.Name, end)
		if end != sealedExt && end != ext || !savedName().MatchString(name) {
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
		return gone, p.none(name)
	}
	p.shelf.Tidy(agent, name)
	return list[i], p.change(agent, "deleting", func(in shelf.Changes) error {
		for _, end := range []string{ext, sealedExt} {
			if err := in.Remove(name + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// Limit is how many bytes one agent may keep.
func (p *Profiles) Limit() int64 { return p.limit }
