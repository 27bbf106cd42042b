package chromium

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/policy"
)

// keptCalls counts the calls of a Kept.
type keptCalls struct{ fills, keeps, drops int }

func (c *keptCalls) kept() *Kept {
	return &Kept{
		ID: func() string { return "ann\x00shop" },
		Fill: func(dir string) error {
			c.fills++
			return os.WriteFile(filepath.Join(dir, "filled"), nil, 0o600)
		},
		Keep: func(string) error { c.keeps++; return nil },
		Drop: func(error) { c.drops++ },
	}
}

func markAt(t *testing.T, path string) mark {
	t.Helper()
	content, err := os.ReadFile(path)
	var m mark
	if err != nil || json.Unmarshal(content, &m) != nil {
		t.Fatalf("%s %v", content, err)
	}
	return m
}

// abandon changes the mark of a profile to that of a daemon that is gone.
func abandon(t *testing.T, p *profile) {
	t.Helper()
	p.data.DaemonStart++
	if err := p.writeMark(); err != nil {
		t.Fatal(err)
	}
}

// A directory that was stored but only partly removed is not stored again.
func TestAProfileIsKeptOnce(t *testing.T) {
	var c keptCalls
	p, err := newProfile(t.TempDir(), nil, c.kept())
	if err != nil {
		t.Fatal(err)
	}
	if markAt(t, p.mark).Kept == "" {
		t.Error("its mark does not say that it is kept")
	}
	// In a directory that Reap never removes.
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(p.dir, moved); err != nil {
		t.Fatal(err)
	}
	p.dir = moved
	if err := p.keep(c.kept()); err == nil {
		t.Error("it was removed")
	}
	if m := markAt(t, p.mark); m.Kept != "" || c != (keptCalls{fills: 1, keeps: 1}) {
		t.Errorf("%+v, %+v", m, c)
	}
}

// Reap stores each kept directory once, except after ErrLater.
func TestReapKeeps(t *testing.T) {
	state := t.TempDir()
	var c keptCalls
	p, err := newProfile(state, nil, c.kept())
	if err != nil {
		t.Fatal(err)
	}
	abandon(t, p)
	keeps, answer := 0, fmt.Errorf("the database: %w", ErrLater)
	keep := func(id, userData string) error {
		keeps++
		if id != "ann\x00shop" || userData != p.userData() {
			t.Errorf("%q %s", id, userData)
		}
		return answer
	}
	for range 2 {
		if r, err := Reap(state, keep); r.Browsers != 0 || !errors.Is(err, ErrLater) {
			t.Errorf("%+v, %v", r, err)
		}
		if _, err := os.Stat(p.dir); err != nil {
			t.Errorf("what is kept later: %v", err)
		}
	}
	keeps, answer = 0, errors.New("no space")
	if r, err := Reap(state, keep); r.Browsers != 0 || err == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(p.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	if r, err := Reap(state, keep); r != (Reaped{}) || err != nil || keeps != 1 {
		t.Errorf("a second time: %+v, %v, %d", r, err, keeps)
	}
}

// What another user has put at the path of a profile is neither stored nor removed.
func TestReapKeepsNothingOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		untested.Skip(t, "not root: no directory can be made another user's")
	}
	const neighbour = 54321
	left := func(t *testing.T, user int) *profile {
		t.Helper()
		state, base := t.TempDir(), t.TempDir()
		p := &profile{dir: filepath.Join(base, profilePrefix+"x"), mark: filepath.Join(marksDir(state), "x.json")}
		p.data = mark{Daemon: 1, Boot: "another", Profile: p.dir, Kept: "ann\x00shop", User: user}
		if err := errors.Join(os.MkdirAll(p.userData(), 0o700), p.writeMark()); err != nil {
			t.Fatal(err)
		}
		return p
	}
	state := func(p *profile) string { return filepath.Dir(filepath.Dir(p.mark)) }
	for what, spoil := range map[string]func(p *profile) error{
		"another user's":  func(p *profile) error { return os.Chown(p.dir, neighbour, neighbour) },
		"open to all":     func(p *profile) error { return os.Chmod(p.dir, 0o777) },
		"open to a group": func(p *profile) error { return os.Chmod(p.dir, 0o750) },
		"a link": func(p *profile) error {
			target := p.dir + "-target"
			return errors.Join(os.Rename(p.dir, target), os.Symlink(target, p.dir))
		},
		"below another user's":        func(p *profile) error { return os.Chown(filepath.Dir(p.dir), neighbour, neighbour) },
		"below one that all write in": func(p *profile) error { return os.Chmod(filepath.Dir(p.dir), 0o777) },
	} {
		p := left(t, 0)
		if err := spoil(p); err != nil {
			t.Fatal(err)
		}
		_, err := Reap(state(p), func(string, string) error {
			t.Errorf("%s: kept", what)
			return nil
		})
		if err == nil {
			t.Errorf("%s: no error", what)
		}
		if _, err := os.Stat(p.userData()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Stat(p.mark); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the mark is there: %v", what, err)
		}
	}
	// Chromium's own user may have the directory, and not made a link of what is in it.
	for what, link := range map[string]bool{"Chromium's user's": false, "with a link": true} {
		p := left(t, neighbour)
		err := errors.Join(os.Chown(p.dir, neighbour, neighbour), os.Chown(p.userData(), neighbour, neighbour))
		if link {
			err = errors.Join(err, os.Remove(p.userData()), os.Symlink(t.TempDir(), p.userData()))
		}
		if err != nil {
			t.Fatal(err)
		}
		keeps := 0
		_, err = Reap(state(p), func(string, string) error { keeps++; return nil })
		if (err != nil) != link || (keeps == 0) != link {
			t.Errorf("%s: %v, kept %d times", what, err, keeps)
		}
		if _, err := os.Stat(p.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it is there: %v", what, err)
		}
	}
}

// After ErrLater a profile stays with its mark, without a daemon: Reap of the running daemon stores it.
func TestErrLaterKeepsTheProfile(t *testing.T) {
	state := t.TempDir()
	var c keptCalls
	kept := c.kept()
	kept.Keep = func(string) error { return ErrLater }
	p, err := newProfile(state, nil, kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.keep(kept); !errors.Is(err, ErrLater) {
		t.Error(err)
	}
	got := ""
	r, err := Reap(state, func(id, userData string) error {
		_, err := os.Stat(filepath.Join(userData, "filled"))
		got = id
		return err
	})
	if r.Browsers != 1 || err != nil || got != "ann\x00shop" {
		t.Errorf("%+v, %v, %q", r, err, got)
	}
	if _, err := os.Stat(p.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

// A start that fails calls Drop once, whatever the cause.
func TestAFailedStartGivesBackOnce(t *testing.T) {
	run := func(t *testing.T, cfg Config, found Found) (c keptCalls) {
		cfg.Kept = c.kept()
		if _, _, err := spawn(cfg, found, discard()); err == nil {
			t.Fatal("it started")
		}
		if left, _ := filepath.Glob(filepath.Join(marksDir(cfg.StateDir), "*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		return c
	}
	t.Run("no program", func(t *testing.T) {
		if c := run(t, testConfig(t), Found{Path: "/there/is/none"}); c != (keptCalls{fills: 1, drops: 1}) {
			t.Errorf("%+v", c)
		}
	})
	t.Run("the jail", func(t *testing.T) {
		cfg := testConfig(t)
		needJail(t, cfg)
		cfg.JailPort, cfg.ProxyServer = 70000, policy.RefusingAt(policy.JailPort) // a port that is refused inside
		found, err := Find(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if c := run(t, cfg, found); c != (keptCalls{fills: 1, keeps: 1}) {
			t.Errorf("%+v", c)
		}
	})
}

// The directory of a process that does not end stays for the next daemon, and is not stored now.
func TestProfileOfARunningProcessStays(t *testing.T) {
	var c keptCalls
	p, err := newProfile(t.TempDir(), nil, c.kept())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "100")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	process := &Process{cmd: cmd, profile: p, kept: c.kept(), stderr: &stderrTail{}, exited: make(chan struct{}), log: discard()}
	if err := process.end(); err == nil { // nobody has waited for it
		t.Error("no error")
	}
	if c != (keptCalls{fills: 1, drops: 1}) || markAt(t, p.mark).Kept == "" {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(p.userData()); err != nil {
		t.Error(err)
	}
	if err := p.remove(); err != nil {
		t.Error(err)
	}
}
