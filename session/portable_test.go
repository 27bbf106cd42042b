package session

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/shelf"
)

const passphrase = "correct horse battery staple"

// A profile that was exported is another agent's at another daemon, with its cookies of the session. Nothing
// of it stands in the archive as it was, and whoever has not the passphrase gets nothing.
func TestAProfileGoesToAnotherDaemon(t *testing.T) {
	dir := t.TempDir()
	from, to := profilesOf(t, t.TempDir(), 10, 1<<24), NewProfiles(shelf.NewFiles(dir), StateConfig{Key: "the passphrase of another daemon"}, ProfileConfig{Count: 1, Bytes: 1 << 24})
	data := userDataOf(t, 3, 5000)
	stored := filepath.Join(data, "Default", "IndexedDB", "f")
	if err := os.WriteFile(stored, []byte("s3cret-user"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "Default", "Preferences"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := from.Keep("ann", "shop", data); err != nil {
		t.Fatal(err)
	}
	state := protocol.State{Version: protocol.StateVersion, Saved: time.Now().UTC(), Cookies: []protocol.Cookie{{Name: "bound", Value: "s3cret-cookie", Domain: "shop.example"}}}
	if err := from.Save("ann", "shop", state); err != nil {
		t.Fatal(err)
	}
	exported, err := from.Export("ann", "shop", passphrase)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(exported, []byte("s3cret")) || bytes.Contains(exported, []byte("IndexedDB")) {
		t.Error("it is not sealed")
	}
	if err := to.Import("bob", "mine", passphrase, exported); err != nil {
		t.Fatal(err)
	}
	got := t.TempDir()
	if err := to.Fill("bob", "mine", got); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(got, "Default", "IndexedDB", "f")); err != nil || string(content) != "s3cret-user" {
		t.Errorf("%q, %v", content, err)
	}
	if _, err := os.Stat(filepath.Join(got, "Default", "Preferences")); err == nil {
		t.Error("it has settings")
	}
	if s, err := to.Load("bob", "mine"); err != nil || len(s.Cookies) != 1 || s.Cookies[0].Value != "s3cret-cookie" {
		t.Errorf("%+v, %v", s, err)
	}

	// What cannot be imported leaves what is there as it was.
	changed := bytes.Clone(exported)
	changed[len(changed)/2] ^= 1
	small := NewProfiles(shelf.NewFiles(t.TempDir()), StateConfig{Key: "the passphrase of another daemon"}, ProfileConfig{Count: 1, Bytes: 3 * 4096})
	for what, c := range map[string]struct {
		p                *Profiles
		name, passphrase string
		content          []byte
		want             protocol.Code
	}{
		"another passphrase":    {to, "mine", "correct horse battery stable", exported, protocol.InvalidParams},
		"changed":               {to, "mine", passphrase, changed, protocol.InvalidParams},
		"cut":                   {to, "mine", passphrase, exported[:len(exported)-1], protocol.InvalidParams},
		"empty":                 {to, "mine", passphrase, nil, protocol.InvalidParams},
		"a short passphrase":    {to, "mine", "short", exported, protocol.InvalidParams},
		"one more than count":   {to, "second", passphrase, exported, protocol.TooLarge},
		"more than bytes":       {small, "mine", passphrase, exported, protocol.TooLarge},
		"a profile at rest":     {to, "mine", passphrase, sealedOf(t, from), protocol.InvalidParams},
		"nothing seals it here": {profilesWithout(t), "mine", passphrase, exported, protocol.Unsupported},
	} {
		if err := c.p.Import("bob", c.name, c.passphrase, c.content); protocol.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", what, err, c.want)
		}
	}
	if list, err := to.List("bob"); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*~*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	again := t.TempDir()
	if err := to.Fill("bob", "mine", again); err != nil {
		t.Errorf("after what was refused: %v", err)
	}
	for _, c := range []struct{ name, passphrase string }{{"shop", "short"}, {"other", passphrase}} {
		if _, err := from.Export("ann", c.name, c.passphrase); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("exporting %s: %v", c.name, err)
		}
	}
	if _, err := from.Export("bob", "shop", passphrase); protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("exporting another agent's: %v", err)
	}
	// More than fits into a request.
	random := userDataOf(t, 1, 1)
	var noise bytes.Buffer
	for i := 0; noise.Len() < MaxPortable+100; i++ {
		sealed, err := from.Store.seal("ann", "x", []byte(strings.Repeat("x", 100_000)))
		if err != nil {
			t.Fatal(err)
		}
		noise.Write(sealed)
	}
	if err := os.WriteFile(filepath.Join(random, "Default", "IndexedDB", "f"), noise.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := from.Keep("ann", "large", random); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Export("ann", "large", passphrase); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("exporting a large one: %v", err)
	}
}

func profilesWithout(t *testing.T) *Profiles {
	return NewProfiles(shelf.NewFiles(t.TempDir()), StateConfig{}, ProfileConfig{Count: 1, Bytes: 1 << 24})
}

// sealedOf is what lies on the disk of ann's profile shop.
func sealedOf(t *testing.T, p *Profiles) []byte {
	t.Helper()
	f, err := p.shelf.Open("ann", "shop.profile")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
