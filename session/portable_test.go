package session

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	if err := from.Seal("ann", "shop", data); err != nil {
		t.Fatal(err)
	}
	state := protocol.State{Version: protocol.StateVersion, Saved: time.Now().UTC(), Cookies: []protocol.Cookie{{Name: "bound", Value: "s3cret-cookie", Domain: "shop.example"}}}
	if err := from.Save("ann", "shop", state); err != nil {
		t.Fatal(err)
	}
	first, err := from.Export("ann", "shop", passphrase)
	exported := first.Content
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(exported, []byte("s3cret")) || bytes.Contains(exported, []byte("IndexedDB")) {
		t.Error("it is not sealed")
	}
	if err := to.Import("bob", "mine", "", passphrase, 0, exported); err != nil {
		t.Fatal(err)
	}
	got := t.TempDir()
	if err := to.Unseal("bob", "mine", got); err != nil {
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
		if err := c.p.Import("bob", c.name, "", c.passphrase, 0, c.content); protocol.CodeOf(err) != c.want {
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
	if err := to.Unseal("bob", "mine", again); err != nil {
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
}

// An export that is larger than a piece is read and sent by pieces, each agent its own; a piece that does not follow is
// refused, and says where the next one begins. Nothing of it is left behind.
func TestAProfileGoesByPieces(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	dir := t.TempDir()
	from, to := profilesOf(t, dir, 10, 1<<24), profilesOf(t, t.TempDir(), 10, 1<<24)
	random := userDataOf(t, 1, 1)
	noise := make([]byte, 2*PieceBytes+100)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	if err := os.WriteFile(filepath.Join(random, "Default", "IndexedDB", "f"), noise, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := from.Seal("ann", "large", random); err != nil {
		t.Fatal(err)
	}
	first, err := from.Export("ann", "large", passphrase)
	exported, size := first.Content, first.Size
	if err != nil || len(exported) != PieceBytes || size <= 2*PieceBytes {
		t.Fatalf("%d bytes of %d, %v", len(exported), size, err)
	}
	older := profilesOf(t, dir, 10, 1<<24) // of another daemon with the same profiles
	if _, err := older.Export("ann", "large", passphrase); err != nil {
		t.Fatal(err)
	}
	if _, err := older.ExportNext("ann", "large", first.ID, PieceBytes); protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("another daemon's export answers: %v", err)
	}
	older.exports.drop("ann")
	for _, wrong := range []struct {
		agent, name, id string
		offset          int64
	}{{"bob", "large", first.ID, PieceBytes}, {"ann", "other", first.ID, PieceBytes}, {"ann", "large", "", PieceBytes}, {"ann", "large", "another", PieceBytes}, {"ann", "large", first.ID, size}} {
		if _, err := from.ExportNext(wrong.agent, wrong.name, wrong.id, wrong.offset); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	for int64(len(exported)) < size {
		piece, err := from.ExportNext("ann", "large", first.ID, int64(len(exported)))
		if err != nil {
			t.Fatal(err)
		}
		exported = append(exported, piece.Content...)
	}
	if _, err := from.ExportNext("ann", "large", first.ID, PieceBytes); protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("after the last piece: %v", err)
	}

	alone := func() (string, error) { return "", nil }
	if n, err := to.ImportPiece("bob", "mine", alone, passphrase, 0, exported[:PieceBytes]); err != nil || n != PieceBytes {
		t.Fatalf("%d, %v", n, err)
	}
	// A first piece that is refused begins no import, here or in the fleet: the one that is under way goes on.
	begun := func() (string, error) {
		t.Error("an import has begun whose first piece is refused")
		return "new", nil
	}
	unknown := func() (string, error) {
		return "", protocol.Errorf(protocol.FleetUnavailable, "the database is silent")
	}
	for what, err := range map[string]error{
		"a path":             second(to.ImportPiece("bob", "../mine", begun, passphrase, 0, exported[:PieceBytes])),
		"a short passphrase": second(to.ImportPiece("bob", "mine", begun, "short", 0, exported[:PieceBytes])),
		"a large piece":      second(to.ImportPiece("bob", "mine", begun, passphrase, 0, make([]byte, to.maxSealed()+1))),
		"no id":              second(to.ImportPiece("bob", "mine", unknown, passphrase, 0, exported[:PieceBytes])),
	} {
		if err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	for what, err := range map[string]error{
		"a gap":             second(to.ImportPiece("bob", "mine", alone, passphrase, PieceBytes+1, exported[PieceBytes:])),
		"the same again":    second(to.ImportPiece("bob", "mine", alone, passphrase, 1, exported[:PieceBytes])),
		"another's":         second(to.ImportPiece("ann", "mine", alone, passphrase, PieceBytes, exported[PieceBytes:])),
		"another profile's": to.Import("bob", "other", "", passphrase, PieceBytes, exported[PieceBytes:]),
		"a path":            second(to.ImportPiece("ann", "../mine", alone, passphrase, 0, exported[:PieceBytes])),
	} {
		if protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := to.Import("bob", "mine", "", passphrase, PieceBytes, exported[PieceBytes:]); err != nil {
		t.Fatal(err)
	}
	got := t.TempDir()
	if err := to.Unseal("bob", "mine", got); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(got, "Default", "IndexedDB", "f")); err != nil || !bytes.Equal(content, noise) {
		t.Errorf("%d bytes, %v", len(content), err)
	}
	// More than the agent may keep is refused while it comes.
	small := profilesOf(t, t.TempDir(), 10, 1<<20)
	if _, err := small.ImportPiece("bob", "mine", alone, passphrase, 0, make([]byte, 48<<20)); protocol.CodeOf(err) != protocol.TooLarge {
		t.Errorf("48 MiB where 1 MiB may be kept: %v", err)
	}
	if left, _ := os.ReadDir(temporary); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func second[T any](_ T, err error) error { return err }

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
