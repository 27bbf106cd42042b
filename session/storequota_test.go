package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/shelf"
)

func stateOf(bytes int) protocol.State {
	return protocol.State{Version: protocol.StateVersion, Saved: time.Now(), Origins: []protocol.Origin{
		{Origin: "https://a.test", LocalStorage: [][2]string{{"k", strings.Repeat("x", bytes)}}},
	}}
}

func refusedBy(t *testing.T, err error, quota string, limit int) {
	t.Helper()
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.TooLarge || e.Details["quota"] != quota || e.Details["limit"] != limit || e.Details["size"] == nil {
		t.Errorf("got %v, want too_large by %s", err, quota)
	}
}

// The quotas on an agent's states and bytes hold even if many are saved at once. Deleting or replacing a state
// makes room. Other agents have quotas of their own.
func TestStatesHaveQuotas(t *testing.T) {
	for _, key := range []string{"", "a passphrase of states"} {
		dir := t.TempDir()
		st := NewStates(shelf.NewFiles(dir), StateConfig{Key: key, Bytes: 10_000, Count: 3})
		if list, err := st.List("ann"); err != nil || len(list) != 0 {
			t.Errorf("before the first: %v %v", list, err)
		}
		for _, name := range []string{"a", "b", "c"} {
			if err := st.Save("ann", name, stateOf(2000)); err != nil {
				t.Fatal(err)
			}
		}
		refusedBy(t, st.Save("ann", "d", stateOf(1)), "state.count", 3)
		refusedBy(t, st.Save("ann", "c", stateOf(8000)), "state.bytes", 10_000)
		if err := st.Save("ann", "c", stateOf(4000)); err != nil {
			t.Errorf("over an older one: %v", err)
		}
		if err := st.Save("bob", "a", stateOf(2000)); err != nil {
			t.Errorf("another agent: %v", err)
		}
		if _, err := st.Delete("bob", "b"); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("another agent's state: %v", err)
		}
		if _, err := st.Delete("ann", "../b"); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("a path: %v", err)
		}
		gone, err := st.Delete("ann", "c")
		if err != nil || gone.Name != "c" || gone.Bytes < 4000 {
			t.Errorf("deleted %+v, %v", gone, err)
		}
		if _, err := st.Load("ann", "c"); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("a deleted state: %v", err)
		}
		list, err := st.List("ann")
		if err != nil || len(list) != 2 || list[0].Name != "a" || list[1].Name != "b" || list[0].Bytes < 2000 {
			t.Errorf("%+v %v", list, err)
		}
		var all sync.WaitGroup
		for _, name := range []string{"d", "e", "f", "g"} {
			all.Go(func() { st.Save("ann", name, stateOf(1)) })
		}
		all.Wait()
		if list, _ := st.List("ann"); len(list) != 3 {
			t.Errorf("saved at once: %+v", list)
		}
	}
}

// A half-written state of a daemon that died is removed when the next state is saved.
func TestHalfWrittenStateIsRemoved(t *testing.T) {
	dir := t.TempDir()
	st := NewStates(shelf.NewFiles(dir), StateConfig{Bytes: 10_000, Count: 3})
	if err := st.Save("ann", "a", stateOf(10)); err != nil {
		t.Fatal(err)
	}
	dirs, err := os.ReadDir(dir)
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v %v", dirs, err)
	}
	half := filepath.Join(dir, dirs[0].Name(), ".HALF")
	if err := os.WriteFile(half, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := st.Save("ann", "b", stateOf(10)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}

// A process that reads and writes files that another process has sealed derives one key for all of them.
func TestFilesOfAnotherProcessNeedOneKey(t *testing.T) {
	dir := t.TempDir()
	process := func() *States {
		return NewStates(shelf.NewFiles(dir), StateConfig{Key: "a passphrase of states", Bytes: 10_000, Count: 3})
	}
	if err := process().Save("ann", "a", stateOf(1)); err != nil {
		t.Fatal(err)
	}
	second := process()
	if _, err := second.Load("ann", "a"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := second.Save("ann", name, stateOf(2)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(second.keys.bySalt); n != 1 {
		t.Errorf("%d keys were derived", n)
	}
	if got, err := process().Load("ann", "b"); err != nil || got.Origins[0].LocalStorage[0][1] != "xx" {
		t.Errorf("%+v, %v", got, err)
	}
}
