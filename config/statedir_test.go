package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/browserd/browserd/internal/untested"
)

func TestStateDir(t *testing.T) {
	if runtime.GOOS != "linux" {
		untested.Skip(t, "the paths below are Linux's")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, c := range []struct{ xdg, want string }{
		{"", filepath.Join(home, ".local", "state", "browserd")},
		{"not/absolute", filepath.Join(home, ".local", "state", "browserd")},
		{filepath.Join(home, "state"), filepath.Join(home, "state", "browserd")},
	} {
		t.Setenv("XDG_STATE_HOME", c.xdg)
		got, err := StateDir()
		if err != nil || got != c.want {
			t.Errorf("XDG_STATE_HOME=%q: got %q, %v, want %q", c.xdg, got, err, c.want)
		}
		if info, err := os.Stat(got); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", got, info, err)
		}
	}

	wide := filepath.Join(home, "state", "browserd")
	if err := os.Chmod(wide, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := StateDir(); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(wide); info.Mode().Perm() != 0o700 {
		t.Errorf("a directory that was open to others stays so: %o", info.Mode().Perm())
	}

	t.Setenv("HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	if _, err := StateDir(); err == nil || !strings.Contains(err.Error(), "set HOME or XDG_STATE_HOME") {
		t.Errorf("without HOME: %v", err)
	}
}

// Many daemons that start at once agree on one token, whole from the first
// moment and for this user alone.
func TestToken(t *testing.T) {
	dir := t.TempDir()
	const daemons = 16
	tokens := make([]string, daemons)
	var wg sync.WaitGroup
	for i := range daemons {
		wg.Go(func() {
			var err error
			if tokens[i], err = Token(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, got := range tokens {
		if got != tokens[0] || len(got) < 26 {
			t.Fatalf("got %q and %q", tokens[0], got)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "token" {
		t.Errorf("left behind: %v, %v", files, err)
	}
	if info, err := os.Stat(TokenFile(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, err := Token(dir); err != nil || got != tokens[0] {
		t.Errorf("a later daemon, or the command line, finds %q, %v", got, err)
	}
}

func TestTokenFileThatCannotServe(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"open to others": {func(p string) error { return os.WriteFile(p, []byte("0123456789abcdef"), 0o644) }, "can be read by others (mode 644)"},
		"empty":          {func(p string) error { return os.WriteFile(p, nil, 0o600) }, "is empty"},
		"a link":         {func(p string) error { return os.Symlink("/etc/hostname", p) }, "is no plain file"},
	} {
		dir := t.TempDir()
		if err := c.make(TokenFile(dir)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(TokenFile(dir)); err == nil && info.Mode().IsRegular() {
			if err := os.Chmod(TokenFile(dir), info.Mode().Perm()); err != nil { // whatever the umask made of it
				t.Fatal(err)
			}
		}
		if got, err := Token(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}
