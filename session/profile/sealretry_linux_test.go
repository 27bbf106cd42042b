package profile

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// joinNode makes a node of a test's fleet.
func joinNode(t *testing.T, pg *testpostgres.Server, name string) *fleet.Node {
	t.Helper()
	n, err := fleet.Join(t.Context(), fleet.Config{DSN: pg.DSN, Name: name, Listen: "127.0.0.1:0"}, fleet.Options{
		Version: "test", Capacity: 10, Idle: time.Minute, StateKey: "a passphrase of profiles", Sessions: func() int { return 0 }, OnTakenOver: func(string, string) {}, SetPolicyAdditions: func([]policy.Setting) {},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close(t.Context()) })
	return n
}

// runOnce runs a profile's Chromium once and writes content into its user data directory.
func runOnce(t *testing.T, o *Open, content string) (userData string) {
	t.Helper()
	if err := o.supervisor.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	userData = o.userData
	o.mu.Unlock()
	at := filepath.Join(userData, inDatabase)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
	return userData
}

// eventually waits until holds returns true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// If the database does not answer when a session ends, its profile is sealed when the database answers, by this
// daemon or the next one. Until then nobody can use the older profile here.
func TestAProfileEndsWhileTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	n := joinNode(t, pg, "one")
	start := func() *Set {
		p := profilesOn(t, fleet.Shelf(n, "profiles"))
		found, err := chromium.Find(p.cfg)
		if err != nil {
			untested.Missing(t, "%v", err)
		}
		p.cfg.Path, p.sealRetry = found.Path, time.Second
		return p
	}
	o := session.Options{Agent: "ann", Name: "s", Profile: "shop"}
	id := profileID{"ann", "shop"}
	p := start()
	// ends closes a session whose Chromium left content, while the database is silent.
	ends := func(p *Set, content string) (userData string) {
		t.Helper()
		open, err := p.Use(o)
		if err != nil {
			t.Fatal(err)
		}
		userData = runOnce(t, open, content)
		pg.Freeze(t)
		err = open.Close(t.Context())
		if protocol.CodeOf(err) != protocol.FleetUnavailable || !strings.Contains(err.Error(), "as it was sealed last") {
			t.Errorf("the session's end: %v", err)
		}
		if _, err := os.Stat(userData); err != nil {
			t.Errorf("what it gained: %v", err)
		}
		if _, err := p.Use(o); protocol.CodeOf(err) != protocol.InUse {
			t.Errorf("used before it is sealed: %v", err)
		}
		return userData
	}

	first := ends(p, "first")
	pg.Thaw(t)
	var again *Open
	eventually(t, "it is not sealed when the database answers", func() (ok bool) {
		var err error
		again, err = p.Use(o)
		return err == nil
	})
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := p.content(t, id); got != "first" {
		t.Errorf("kept %q", got)
	}
	eventually(t, "its directory is there", func() bool {
		_, err := os.Stat(first)
		return errors.Is(err, os.ErrNotExist)
	})

	// The daemon ends before the database answers; at its next start the database is silent again at first.
	ends(p, "second")
	p.Close()
	next := start()
	next.cfg.StateDir, next.stateDir = p.stateDir, p.stateDir
	if _, err := chromium.Reap(next.stateDir, next.recover); !errors.Is(err, chromium.ErrLater) {
		t.Errorf("while the database is silent: %v", err)
	}
	pg.Thaw(t)
	eventually(t, "the next daemon does not seal it", func() bool {
		next.mu.Lock()
		defer next.mu.Unlock()
		return len(next.unsealed) == 0
	})
	if got := next.content(t, id); got != "second" {
		t.Errorf("kept %q", got)
	}
}

// The next Chromium of the same session continues from the directory of the one before, or does not start.
func TestAProfileGoesOnFromWhatIsSealedLater(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	p := profilesOn(t, fleet.Shelf(joinNode(t, pg, "one"), "profiles"))
	p.sealRetry = time.Second
	open, err := p.Use(session.Options{Agent: "ann", Name: "s", Profile: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if err := open.fill(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	pg.Freeze(t)
	if err := open.keep(newUserData(t, "gained")); !errors.Is(err, chromium.ErrLater) {
		t.Errorf("kept: %v", err)
	}
	if err := open.fill(t.TempDir()); protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("filled while the database is silent: %v", err)
	}
	pg.Thaw(t)
	dir := t.TempDir()
	eventually(t, "it is not filled", func() bool { return open.fill(dir) == nil })
	if got, err := os.ReadFile(filepath.Join(dir, inDatabase)); err != nil || string(got) != "gained" {
		t.Errorf("it goes on from %q, %v", got, err)
	}
	if err := open.keep(dir); err != nil {
		t.Error(err)
	}
	if err := open.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
