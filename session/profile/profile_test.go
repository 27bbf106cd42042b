package profile

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/shelf"
)

func testProfiles(t *testing.T) *Set {
	t.Helper()
	return profilesOn(t, shelf.NewFiles(t.TempDir()))
}

// profilesOn returns the profiles of a daemon on a shelf.
func profilesOn(t *testing.T, on shelf.Shelf) *Set {
	t.Helper()
	store := session.NewProfiles(on, session.StateConfig{Key: "a passphrase of profiles"}, session.ProfileConfig{Count: 10, Bytes: 1 << 24})
	p := New(store, t.TempDir(), 4, slog.New(slog.DiscardHandler))
	p.Configure(chromium.Config{Headless: true, Jail: chromium.JailOff, StateDir: p.stateDir, ProxyServer: policy.RefusingAt(policy.JailPort)}, nil)
	t.Cleanup(p.Close)
	return p
}

// inDatabase is a file of a user data directory that Chromium does not touch.
const inDatabase = "Default/IndexedDB/kept"

// newUserData makes a user data directory with content in a database, and returns it.
func newUserData(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(inDatabase)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, inDatabase), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// content returns the content of a profile's file inDatabase.
func (p *Set) content(t *testing.T, id profileID) string {
	t.Helper()
	dir := t.TempDir()
	if err := p.store.Unseal(id.agent, id.name, dir); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, inDatabase))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// A directory that a killed daemon left does not replace a profile that was sealed later.
func TestRecoverLeavesWhatIsNewer(t *testing.T) {
	p := testProfiles(t)
	id := profileID{"ann", "shop"}
	if err := p.recover(id.mark(time.Time{}), newUserData(t, "first")); err != nil {
		t.Fatal(err)
	}
	if err := p.recover(id.mark(time.Time{}), newUserData(t, "half")); err != nil {
		t.Error(err)
	}
	if got := p.content(t, id); got != "first" {
		t.Errorf("kept %q", got)
	}
	first, err := p.store.SealedAt(id.agent, id.name)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.recover(id.mark(first), newUserData(t, "second")); err != nil {
		t.Error(err)
	}
	if got := p.content(t, id); got != "second" {
		t.Errorf("kept %q", got)
	}
}

// While a profile is being sealed nobody can use it, neither its own session nor one of another daemon. A
// second Close waits for the first.
func TestAProfileIsNobodysWhileItIsSealed(t *testing.T) {
	p := testProfiles(t)
	found, err := chromium.Find(p.cfg)
	if err != nil {
		untested.Missing(t, "%v", err)
	}
	p.cfg.Path = found.Path
	o := session.Options{Agent: "ann", Name: "s", Profile: "shop"}
	first, err := p.Use(o)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := p.Use(o); again != first || err != nil {
		t.Errorf("the same session: %v, %v", again, err)
	}
	// As of a Chromium that is being sealed, while another one waits to be launched.
	if err := first.fill(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	launched := make(chan error, 1)
	go func() { launched <- first.supervisor.Warm(t.Context()) }()
	for end := time.Now().Add(20 * time.Second); first.supervisor.Starting() == 0; time.Sleep(time.Millisecond) {
		if len(launched) > 0 || time.Now().After(end) {
			t.Fatal("no Chromium is being launched")
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := first.Close(short); protocol.CodeOf(err) != protocol.Timeout {
		t.Errorf("closing: %v", err)
	}
	for _, name := range []string{"s", "other"} {
		o := o
		o.Name = name
		if open, err := p.Use(o); protocol.CodeOf(err) != protocol.InUse {
			t.Errorf("%s: %v, %v", name, open, err)
		}
	}
	if release, err := p.store.Hold("ann", "shop"); err == nil {
		release()
		t.Error("its name is free")
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Close(context.Background()) }()
	if err := first.keep(newUserData(t, "kept")); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the second to close: %v", err)
	}
	<-launched
	second, err := p.Use(o)
	if err != nil || second == first {
		t.Fatalf("%v, %v", second, err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if again, err := p.Use(o); again != second || err != nil {
		t.Errorf("after the first was closed once more: %v, %v", again, err)
	}
	if got := p.content(t, first.profileID); got != "kept" {
		t.Errorf("kept %q", got)
	}
}

// A profile that another node has taken over stays as that node sealed it.
func TestAProfileOfAnotherNodeIsNotSealed(t *testing.T) {
	p := testProfiles(t)
	o, err := p.Use(session.Options{Agent: "ann", Name: "s", Profile: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.store.Seal("ann", "shop", newUserData(t, "the other's")); err != nil {
		t.Fatal(err)
	}
	var page session.Page = &profilePage{nil, o}
	page.(session.SaveStopper).StopSaving()
	if err := o.fill(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if err := o.keep(newUserData(t, "late")); err != nil {
		t.Error(err)
	}
	if got := p.content(t, o.profileID); got != "the other's" {
		t.Errorf("kept %q", got)
	}
	if err := o.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A profile can be filled again after its directory was dropped since its Chromium could not be ended.
func TestProfileCanBeFilledAfterDrop(t *testing.T) {
	p := testProfiles(t)
	o, err := p.Use(session.Options{Agent: "ann", Name: "s", Profile: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := o.fill(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		o.drop(os.ErrDeadlineExceeded)
	}
	if err := o.Close(t.Context()); err == nil {
		t.Error("it says that it was sealed")
	}
}

// The name of a profile stays reserved until its state is saved too.
func TestNameIsHeldUntilReleased(t *testing.T) {
	t.Parallel()
	p := profilesOn(t, shelf.NewFiles(t.TempDir()))
	o := session.Options{Agent: "ann", Name: "s", Profile: "shop"}
	open, err := p.Use(o)
	if err != nil {
		t.Fatal(err)
	}
	page := &profilePage{profile: open}
	release := page.HoldName()
	if err := open.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Use(o); protocol.CodeOf(err) != protocol.InUse {
		t.Errorf("while it is shared: %v", err)
	}
	release()
	release()
	page.HoldName()() // of nobody's name
	again, err := p.Use(o)
	if err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
