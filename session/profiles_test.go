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

// userDataOf makes a user data directory with so many files of so many bytes.
func userDataOf(t *testing.T, files, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "Default", "IndexedDB")
	if err := os.MkdirAll(in, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		if err := os.WriteFile(filepath.Join(in, strings.Repeat("f", i+1)), make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func profilesOf(t *testing.T, dir string, count, bytes int) *Profiles {
	return NewProfiles(shelf.NewFiles(dir), StateConfig{Key: "a passphrase of profiles"}, ProfileConfig{Count: count, Bytes: bytes})
}

// Profiles that are sealed at once exceed the quota no more than one after the other.
func TestProfilesSealedAtOnceHaveQuotas(t *testing.T) {
	const mb = 1 << 20
	data := userDataOf(t, 1, 2*mb)
	for round := range 10 {
		p := profilesOf(t, t.TempDir(), 2, 5*mb)
		if err := p.Seal("ann", "a", data); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		refused := make(chan error, 3)
		for _, name := range []string{"b", "c", "d"} {
			all.Go(func() {
				if err := p.Seal("ann", name, data); err != nil {
					refused <- err
				}
			})
		}
		all.Wait()
		close(refused)
		n := 0
		for err := range refused {
			if n++; protocol.CodeOf(err) != protocol.TooLarge {
				t.Errorf("%v", err)
			}
		}
		if list, err := p.List("ann"); err != nil || len(list) != 2 || n != 2 {
			t.Fatalf("round %d: %+v, %v; %d refused", round, list, err, n)
		}
	}
}

// What a killed daemon had begun to seal is removed, and that of a profile of a longer name is not.
func TestHalfAProfileIsRemoved(t *testing.T) {
	dir := t.TempDir()
	p := profilesOf(t, dir, 10, 1<<24)
	data := userDataOf(t, 1, 100)
	if err := p.Seal("ann", "shop", data); err != nil {
		t.Fatal(err)
	}
	sealed, _ := filepath.Glob(filepath.Join(dir, "*", "shop.profile"))
	if len(sealed) != 1 {
		t.Fatalf("%v", sealed)
	}
	in := filepath.Dir(sealed[0])
	for _, name := range []string{"shop~HALF", "shop.x~HALF"} {
		if err := os.WriteFile(filepath.Join(in, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Seal("ann", "shop", data); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(in, "*~*"))
	if len(left) != 1 || filepath.Base(left[0]) != "shop.x~HALF" {
		t.Errorf("%v", left)
	}
}

// Many small files count as what they take on the disk. What cannot be measured exceeds nothing.
func TestWhatExceedsAProfile(t *testing.T) {
	p := profilesOf(t, t.TempDir(), 10, 40*4096)
	if err := p.CheckSize("ann", "shop", userDataOf(t, 40, 1)); err != nil {
		t.Errorf("40 files: %v", err)
	}
	many := userDataOf(t, 41, 1)
	for _, err := range []error{p.CheckSize("ann", "shop", many), p.Seal("ann", "shop", many)} {
		if protocol.CodeOf(err) != protocol.TooLarge {
			t.Errorf("41 files: %v", err)
		}
	}
	if err := p.CheckSize("ann", "shop", filepath.Join(many, "gone")); protocol.CodeOf(err) == protocol.TooLarge {
		t.Errorf("%v", err)
	}
}

func TestSealed(t *testing.T) {
	dir := t.TempDir()
	p := profilesOf(t, dir, 10, 1<<24)
	sealed := func(agent string) time.Time {
		t.Helper()
		at, err := p.SealedAt(agent, "shop")
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if at := sealed("ann"); !at.IsZero() {
		t.Errorf("before it was: %v", at)
	}
	if err := p.Seal("ann", "shop", userDataOf(t, 1, 1)); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "shop.profile"))
	if len(files) != 1 {
		t.Fatalf("%v", files)
	}
	hourAgo := time.Now().Add(-time.Hour) // file systems do not tell very short times apart
	if err := os.Chtimes(files[0], hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	first := sealed("ann")
	if first.IsZero() || !sealed("bob").IsZero() {
		t.Errorf("%v, bob's %v", first, sealed("bob"))
	}
	if err := p.Seal("ann", "shop", userDataOf(t, 1, 1)); err != nil {
		t.Fatal(err)
	}
	if !sealed("ann").After(first) {
		t.Errorf("again: %v, before %v", sealed("ann"), first)
	}
	var none *Profiles
	if err := none.Seal("ann", "shop", ""); !errors.As(err, new(*protocol.Error)) {
		t.Errorf("%v", err)
	}
}

// A profile is refused before its Chromium is launched where there are as many as may be, also of those that
// are in use and were never sealed; one that is kept is sealed again although there are more than may be by now.
func TestProfilesAreCounted(t *testing.T) {
	dir, data := t.TempDir(), userDataOf(t, 1, 1)
	p := profilesOf(t, dir, 2, 1<<24)
	for _, name := range []string{"a", "b"} {
		if err := p.CheckNew("ann", name, nil); err != nil {
			t.Fatal(err)
		}
		if err := p.CheckNew("ann", name, []string{"c", "d"}); protocol.CodeOf(err) != protocol.TooLarge {
			t.Errorf("%s beside two in use: %v", name, err)
		}
		if err := p.Seal("ann", name, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.CheckNew("ann", "a", []string{"b"}); err != nil {
		t.Errorf("one that is kept: %v", err)
	}
	if err := p.CheckNew("ann", "c", nil); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("a third: %v", err)
	}
	lowered := profilesOf(t, dir, 1, 1<<24)
	if err := lowered.CheckSize("ann", "a", data); err != nil {
		t.Errorf("in use, after profile.count was lowered: %v", err)
	}
	if err := lowered.Seal("ann", "a", data); err != nil {
		t.Errorf("sealed again: %v", err)
	}
	if err := lowered.Seal("ann", "c", data); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("a new one: %v", err)
	}
}
