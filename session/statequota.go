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

// SavedState describes one saved state in a list.
type SavedState struct {
	Name  string    `json:"name"`
	Bytes int64     `json:"bytes"` // of its file
	Saved time.Time `json:"saved"`
}

// Limits returns how many states an agent may keep, and their total size in bytes.
func (st *States) Limits() (count, bytes int) { return st.cfg.Count, st.cfg.Bytes }

// List lists the states that the agent has saved, by name.
func (st *States) List(agent string) ([]SavedState, error) {
	root, err := st.open(agent, false)
	if errors.Is(err, fs.ErrNotExist) {
		return []SavedState{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return listStates(root)
}

func listStates(root *os.Root) ([]SavedState, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("listing states: %w", err)
	}
	list := []SavedState{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		info, err := e.Info()
		if !ok || err != nil || !info.Mode().IsRegular() || !stateName().MatchString(name) {
			continue
		}
		list = append(list, SavedState{name, info.Size(), info.ModTime().UTC()})
	}
	slices.SortFunc(list, func(a, b SavedState) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Delete removes a state that the agent saved, and describes it. Errors: invalid_params if
// there is none of that name.
func (st *States) Delete(agent, name string) (SavedState, error) {
	if err := st.Check(name); err != nil {
		return SavedState{}, err
	}
	none := protocol.Errorf(protocol.InvalidParams, "name %s: you have saved no state of that name", name).With("parameter", "name").Then("state_list lists yours")
	root, err := st.open(agent, false)
	if errors.Is(err, fs.ErrNotExist) {
		return SavedState{}, none
	}
	if err != nil {
		return SavedState{}, err
	}
	defer root.Close()
	st.saving.Lock()
	defer st.saving.Unlock()
	info, err := root.Lstat(name + ".json")
	if err == nil {
		err = root.Remove(name + ".json")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return SavedState{}, none
	}
	if err != nil {
		return SavedState{}, fmt.Errorf("deleting a state: %w", err)
	}
	return SavedState{name, info.Size(), info.ModTime().UTC()}, nil
}

// roomFor returns an error if a state of that name and size would exceed the agent's quota.
// A state of the same name does not count, since it is replaced. roomFor also removes files
// that a crashed daemon left half written. The caller holds saving.
func (st *States) roomFor(root *os.Root, name string, size int) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("saving a state: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			root.Remove(e.Name())
		}
	}
	list, err := listStates(root)
	if err != nil {
		return err
	}
	count, bytes := 1, int64(size)
	for _, s := range list {
		if s.Name != name {
			count, bytes = count+1, bytes+s.Bytes
		}
	}
	full := func(quota string, limit int, size any, what string) error {
		return protocol.Errorf(protocol.TooLarge, "your saved states would be %v %s, and state.%s lets one agent keep %d", size, what, quota, limit).
			With("quota", "state."+quota).With("limit", limit).With("size", size).
			Then("remove some with state_delete (state_list lists them), or save over one of them")
	}
	switch {
	case count > st.cfg.Count:
		return full("count", st.cfg.Count, count, "states")
	case bytes > int64(st.cfg.Bytes):
		return full("bytes", st.cfg.Bytes, bytes, "bytes")
	}
	return nil
}
