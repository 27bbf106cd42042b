package session

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/shelf"
)

// Saved describes one of the things that an agent has saved.
type Saved struct {
	Name  string    `json:"name"`
	Bytes int64     `json:"bytes"` // of its file
	Saved time.Time `json:"saved"`
}

// List lists what the agent has saved, by name.
func (st *Store[T]) List(agent string) ([]Saved, error) {
	if err := st.usable(); err != nil {
		return nil, err
	}
	list, err := st.shelf.List(agent)
	if err != nil {
		return nil, st.wrapError("listing", err)
	}
	return savedItems(list), nil
}

// savedItems returns the items of a shelf whose extension is ext.
func savedItems(items []shelf.Item) []Saved {
	list := []Saved{}
	for _, i := range items {
		if name, ok := strings.CutSuffix(i.Name, ext); ok && savedName().MatchString(name) {
			list = append(list, Saved{name, i.Bytes, i.Saved})
		}
	}
	slices.SortFunc(list, func(a, b Saved) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Delete removes what the agent saved under a name, and describes it. Errors: invalid_params if
// there is none of that name.
func (st *Store[T]) Delete(agent, name string) (gone Saved, err error) {
	if err := st.Check(name); err != nil {
		return gone, err
	}
	if st.usable() == nil && !st.Has(agent, name) { // do not create a directory for it
		return gone, st.notSavedError(name)
	}
	err = st.change(agent, "deleting", func(in shelf.Changes) error {
		list, err := in.List()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(i shelf.Item) bool { return i.Name == name+ext })
		if i < 0 {
			return st.notSavedError(name)
		}
		gone = Saved{name, list[i].Bytes, list[i].Saved}
		return in.Remove(name + ext)
	})
	return gone, err
}

// CheckQuota returns an error if something of that name and of at least that size would exceed the
// agent's quota.
func (st *Store[T]) CheckQuota(agent, name string, size int) error {
	list, err := st.List(agent)
	if err != nil {
		return err
	}
	return st.checkQuota(list, name, int64(size))
}

// checkQuota returns an error if something of that name and size, together with the others in list, would
// exceed the quota. An item of the same name does not count, since it is replaced.
func (st *Store[T]) checkQuota(list []Saved, name string, size int64) error {
	count, bytes := 1, size
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
