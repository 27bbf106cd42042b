package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Saved describes one of the things that an agent has saved.
type Saved struct {
	Name  string    `json:"name"`
	Bytes int64     `json:"bytes"` // of its file
	Saved time.Time `json:"saved"`
}

// List lists what the agent has saved, by name.
func (st *Store[T]) List(agent string) ([]Saved, error) {
	root, err := st.open(agent, false)
	if errors.Is(err, fs.ErrNotExist) {
		return []Saved{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return listSaved(root)
}

func listSaved(root *os.Root) ([]Saved, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("listing what is saved: %w", err)
	}
	list := []Saved{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		info, err := e.Info()
		if !ok || err != nil || !info.Mode().IsRegular() || !savedName().MatchString(name) {
			continue
		}
		list = append(list, Saved{name, info.Size(), info.ModTime().UTC()})
	}
	slices.SortFunc(list, func(a, b Saved) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Delete removes what the agent saved under a name, and describes it. Errors: invalid_params if
// there is none of that name.
func (st *Store[T]) Delete(agent, name string) (Saved, error) {
	if err := st.Check(name); err != nil {
		return Saved{}, err
	}
	root, err := st.open(agent, false)
	if errors.Is(err, fs.ErrNotExist) {
		return Saved{}, st.none(name)
	}
	if err != nil {
		return Saved{}, err
	}
	defer root.Close()
	unlock, err := st.lock(root)
	if err != nil {
		return Saved{}, err
	}
	defer unlock()
	info, err := root.Lstat(name + ".json")
	if err == nil {
		err = root.Remove(name + ".json")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Saved{}, st.none(name)
	}
	if err != nil {
		return Saved{}, fmt.Errorf("deleting a %s: %w", st.Noun, err)
	}
	return Saved{name, info.Size(), info.ModTime().UTC()}, nil
}

// Accepts returns an error if something of that name and of at least that size would exceed the
// agent's quota.
func (st *Store[T]) Accepts(agent, name string, size int) error {
	root, err := st.open(agent, false)
	if errors.Is(err, fs.ErrNotExist) {
		return st.fits(nil, name, size)
	}
	if err != nil {
		return err
	}
	defer root.Close()
	list, err := listSaved(root)
	if err != nil {
		return err
	}
	return st.fits(list, name, size)
}

// roomFor is Accepts before something is written. It also removes files that a crashed daemon left
// half written. The caller holds the lock.
func (st *Store[T]) roomFor(root *os.Root, name string, size int) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("saving a %s: %w", st.Noun, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Name() != lockFile {
			root.Remove(e.Name())
		}
	}
	list, err := listSaved(root)
	if err != nil {
		return err
	}
	return st.fits(list, name, size)
}

// fits returns an error if the quota has no room for something of that name and size beside
// list. What has the same name does not count, since it is replaced.
func (st *Store[T]) fits(list []Saved, name string, size int) error {
	count, bytes := 1, int64(size)
	for _, s := range list {
		if s.Name != name {
			count, bytes = count+1, bytes+s.Bytes
		}
	}
	full := func(quota string, limit int, size any, what string) error {
		return protocol.Errorf(protocol.TooLarge, "your saved %ss would be %v %s, and %s.%s lets one agent keep %d", st.Noun, size, what, st.Config, quota, limit).
			With("quota", st.Config+"."+quota).With("limit", limit).With("size", size).Then("%s", st.Free)
	}
	switch {
	case count > st.Count:
		return full("count", st.Count, count, st.Noun+"s")
	case bytes > int64(st.Bytes):
		return full("bytes", st.Bytes, bytes, "bytes")
	}
	return nil
}
