//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/untested"
)

// stranger is a user that owns nothing on the machine.
const stranger = 12345

// What another user has put where browserd keeps its state and its configuration, before
// browserd came: under root's HOME=/tmp, say, or in a directory that was open to all.
func TestWhatAnotherUserHasPutThere(t *testing.T) {
	if os.Geteuid() != 0 {
		untested.Skip(t, "files of another user: only root may give them away")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	dir := filepath.Join(home, ".local", "state", "browserd")
	must(t, os.MkdirAll(dir, 0o700))
	planted := TokenFile(dir)
	must(t, os.WriteFile(planted, []byte("planted-token-0123456789\n"), 0o600))
	must(t, os.Chown(planted, stranger, -1))

	if token, err := Token(dir); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("the token of a stranger in one's own directory: %q, %v", token, err)
	}
	must(t, os.Chown(dir, stranger, -1))
	if got, err := StateDir(); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("the state directory of a stranger: %q, %v", got, err)
	}

	for owner, refused := range map[int]bool{stranger: true, 0: false} {
		src := sources(t)
		file := filepath.Join(src.UserDir, "browserd", fileName)
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte("log: {level: debug}\n"), 0o600))
		must(t, os.Chown(file, owner, -1))
		if _, err := Load(src); (err != nil) != refused {
			t.Errorf("the configuration of user %d: %v", owner, err)
		}
		src.Path = file // who names it has chosen it
		mustLoad(t, src)
	}
}

// A relative HOME would make the working directory, which may be a stranger's, the place of
// state and configuration.
func TestRelativeHome(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := filepath.Join(dir, ".config", "browserd", fileName)
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(t, os.WriteFile(file, []byte("browser: {path: ./evil}\n"), 0o600))
	for _, xdg := range []string{"", "state", "."} {
		for _, home := range []string{".", "./", "sub/..", "../" + filepath.Base(dir)} {
			t.Setenv("HOME", home)
			t.Setenv("XDG_STATE_HOME", xdg)
			t.Setenv("XDG_CONFIG_HOME", "")
			if got, err := StateDir(); err == nil {
				t.Errorf("HOME=%q XDG_STATE_HOME=%q: the state directory is %q", home, xdg, got)
			}
			c := mustLoad(t, Sources{SystemDir: t.TempDir(), TrustDir: t.TempDir()})
			if c.File != "" || c.Browser.Path != "" {
				t.Errorf("HOME=%q: %s was read", home, c.File)
			}
			if path, err := AllowHosts(c, []string{"evil.test"}); err == nil {
				t.Errorf("HOME=%q: hosts were allowed in %s", home, path)
			}
		}
	}
}
