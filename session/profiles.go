package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/archive"
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
}

// NewProfiles keeps profiles below dir, sealed with the key of states. Without one there are none.
func NewProfiles(dir string, state StateConfig, cfg ProfileConfig) *Profiles {
	store := NewStore(dir, Kind{
		Noun: "profile", Key: state.Key, Count: cfg.Count, Bytes: cfg.Count * (16 << 20), MaxBytes: 16 << 20, Config: "profile", Bound: "\x00profile",
		SaveAgain: "profile_delete removes it", SeeAll: "profile_list lists yours",
		Free: "remove some with profile_delete (profile_list lists them)",
	}, func(s protocol.State) bool { return s.Version == protocol.StateVersion })
	return &Profiles{&States{Store: store, Checkpoint: state.Checkpoint, tabOnly: true}, int64(cfg.Bytes)}
}

// Usable returns unsupported where nothing seals profiles.
func (p *Profiles) Usable() error {
	if p == nil || p.dir == "" || p.Key == "" {
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
	root, err := p.open(agent, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.Open(name + sealedExt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening a profile: %w", err)
	}
	defer f.Close()
	err = archive.Open(f, userData, p.aead, p.archiveOwner(agent, name), p.limit)
	switch {
	case errors.Is(err, archive.ErrSealed):
		return p.changed(name)
	case errors.Is(err, archive.ErrLarge):
		return p.large(name, p.limit+1)
	case err != nil:
		return fmt.Errorf("opening a profile: %w", err)
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
// before, where it is not nil, is called right before that, with the directory. The caller holds the name.
func (p *Profiles) put(agent, name string, seal func(w io.Writer) (int64, error), before func(root *os.Root) error) error {
	root, err := p.open(agent, true)
	if err != nil {
		return err
	}
	defer root.Close()
	removeParts(root, name)
	part := name + partMark + rand.Text()
	f, err := root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("sealing a profile: %w", err)
	}
	defer root.Remove(part) // where it was not renamed
	size, err := seal(f)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("sealing a profile: %w", err)
	}
	unlock, err := p.lock(root)
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.within(agent, name, size); err != nil { // others were sealed meanwhile
		return err
	}
	if before != nil {
		if err := before(root); err != nil {
			return fmt.Errorf("sealing a profile: %w", err)
		}
	}
	if err := root.Rename(part, name+sealedExt); err != nil {
		return fmt.Errorf("sealing a profile: %w", err)
	}
	return nil
}

// partMark stands in the name of a file that is being sealed, behind that of its profile, whose
// name has none.
const partMark = "~"

// removeParts removes what a killed daemon had begun to seal of a profile. The caller holds its name.
func removeParts(root *os.Root, name string) {
	entries, _ := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+partMark) {
			root.Remove(e.Name())
		}
	}
}

// SealedAfter reports whether a profile was sealed after a time.
func (p *Profiles) SealedAfter(agent, name string, t time.Time) bool {
	root, err := p.open(agent, false)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(name + sealedExt)
	return err == nil && info.ModTime().After(t)
}

// within returns too_large if the agent may not keep so many bytes under a name.
func (p *Profiles) within(agent, name string, size int64) error {
	list, err := p.List(agent)
	if err != nil {
		return err
	}
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
	return size, p.within(agent, name, size)
}

// List lists the agent's profiles, by name.
func (p *Profiles) List(agent string) ([]Saved, error) {
	list := []Saved{}
	root, err := p.open(agent, false)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("listing profiles: %w", err)
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext)
		info, err := e.Info()
		if ext != sealedExt && ext != ".json" || err != nil || !info.Mode().IsRegular() || p.Check(name) != nil {
			continue
		}
		i := slices.IndexFunc(list, func(s Saved) bool { return s.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, Saved{Name: name})
		}
		list[i].Bytes += info.Size()
		if t := info.ModTime().UTC(); t.After(list[i].Saved) {
			list[i].Saved = t
		}
	}
	return list, nil
}

// Delete removes a profile and describes it. The caller holds its name. Errors: invalid_params if
// the agent has none of that name.
func (p *Profiles) Delete(agent, name string) (Saved, error) {
	list, err := p.List(agent)
	if err != nil {
		return Saved{}, err
	}
	i := slices.IndexFunc(list, func(s Saved) bool { return s.Name == name })
	if i < 0 {
		return Saved{}, p.none(name)
	}
	root, err := p.open(agent, false)
	if err != nil {
		return Saved{}, err
	}
	defer root.Close()
	removeParts(root, name)
	for _, ext := range []string{".json", sealedExt} {
		if err := root.Remove(name + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Saved{}, fmt.Errorf("deleting a profile: %w", err)
		}
	}
	return list[i], nil
}

// Limit is how many bytes one agent may keep.
func (p *Profiles) Limit() int64 { return p.limit }
