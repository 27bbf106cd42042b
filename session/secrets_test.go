package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

func TestScriptOrigins(t *testing.T) {
	var u SecretUse
	for _, origin := range []string{"https://a.example", "https://b.example", "https://a.example"} {
		if err := u.RecordScript(origin); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(u.scripts, scriptOrigins{Ran: []string{"https://a.example", "https://b.example"}}); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
	if u.RanScript("https://c.example") || !u.RanScript("https://b.example") || u.RanScript("") {
		t.Error("it has run at two origins")
	}
	for i := range 2 * maxScriptOrigins { // no agent makes the list grow for ever
		u.RecordScript(fmt.Sprintf("https://%d.example", i))
	}
	if diff := cmp.Diff(u.scripts, scriptOrigins{Everywhere: true}); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
	var all SecretUse
	all.RecordScript("")
	if !all.RanScript("https://c.example") || !all.RanScript("") {
		t.Error("it has run everywhere")
	}
}

// Only elements of documents that do not exist any more are forgotten.
func TestElementsAreForgottenWithTheirDocuments(t *testing.T) {
	var u SecretUse
	first, second := SecretElement{"@e1", 1, "https://a.example"}, SecretElement{"@e2", 2, "https://b.example"}
	u.AddElement(first)
	u.AddElement(second)
	if !u.Forget(func(int) bool { return true }) {
		t.Error("none is left")
	}
	if h, is := u.Element("https://a.example"); !is || h != first {
		t.Errorf("%v, %v", h, is)
	}
	if !u.Forget(func(document int) bool { return document == 2 }) {
		t.Error("none is left")
	}
	if h, is := u.Element("https://a.example"); is {
		t.Errorf("%v is left", h)
	}
	if h, is := u.Element(""); !is || h != second {
		t.Errorf("%v, %v", h, is)
	}
	if u.Forget(func(int) bool { return false }) {
		t.Error("one is left")
	}
}

// A session of another node has what its agent's JavaScript is known to have run in, and warns whoever takes it over.
func TestARecoveredSessionKnowsOfJavaScript(t *testing.T) {
	for want, ran := range map[bool]scriptOrigins{false: {}, true: {Ran: []string{"https://a.example"}}} {
		m := NewManager(Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.DiscardHandler))
		s, err := m.Open("ann", Options{Name: "first"})
		if err != nil {
			t.Fatal(err)
		}
		s.secrets.scripts = ran
		content, err := json.Marshal(newCheckpoint(s))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Recover("ann", "second", func() (*RecoveredSession, error) { return &RecoveredSession{Epoch: 1, Content: content}, nil }); err != nil {
			t.Fatal(err)
		}
		s, err = m.Get("ann", "second")
		if err != nil {
			t.Fatal(err)
		}
		if got := Control(s).RanScript(); got != want {
			t.Errorf("a person is warned: %v, want %v", got, want)
		}
		if got := s.Secrets().RanScript("https://a.example"); got != want {
			t.Errorf("it has run: %v, want %v", got, want)
		}
		if err := m.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A profile has where JavaScript has run in its sessions, and a session has it of the sessions before. It is sealed as
// the profile is, and goes with it.
func TestAProfileKeepsScripts(t *testing.T) {
	dir := t.TempDir()
	p := profilesOf(t, dir, 10, 1<<24)
	begin := func(name string) *Session {
		t.Helper()
		m := NewManager(Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.DiscardHandler))
		m.Stores = Stores{Profiles: p}
		t.Cleanup(func() { m.Shutdown(t.Context()) })
		s, err := m.Open("ann", Options{Profile: name})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ensure(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		return s
	}
	ran := func(s *Session) [3]bool {
		return [3]bool{s.Secrets().RanScript("https://a.example"), s.Secrets().RanScript("https://b.example"), Control(s).RanScript()}
	}
	s := begin("shop")
	if ran(s) != [3]bool{} || s.Secrets().Profile() != "shop" {
		t.Errorf("a new profile: %v, %q", ran(s), s.Secrets().Profile())
	}
	if list, err := p.List("ann"); err != nil || len(list) != 0 {
		t.Errorf("before there is anything to keep: %v, %v", list, err)
	}
	if err := s.Secrets().RecordScript("https://a.example"); err != nil {
		t.Fatal(err)
	}
	if got := ran(begin("shop")); got != [3]bool{true, false, true} {
		t.Errorf("the next session: %v", got)
	}
	if got := ran(begin("other")); got != [3]bool{} {
		t.Errorf("another profile: %v", got)
	}
	if err := p.Seal("ann", "shop", userDataOf(t, 1, 100)); err != nil {
		t.Fatal(err)
	}
	if list, err := p.List("ann"); err != nil || len(list) != 1 || list[0].Name != "shop" {
		t.Errorf("%v, %v", list, err)
	}

	// An imported one may hold what ran anywhere; it replaces what the name had.
	exported, err := p.Export("ann", "shop", passphrase)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Import("ann", "imported", "", passphrase, 0, exported.Content); err != nil {
		t.Fatal(err)
	}
	if got := ran(begin("imported")); got != [3]bool{true, true, true} {
		t.Errorf("an imported profile: %v", got)
	}
	for _, name := range []string{"imported", "shop"} {
		if _, err := p.Delete("ann", name); err != nil {
			t.Fatal(err)
		}
		if got := ran(begin(name)); got != [3]bool{} {
			t.Errorf("%s after it was deleted: %v", name, got)
		}
	}

	// What was changed, or is another profile's, is not used.
	if err := begin("shop").Secrets().RecordScript(""); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "shop.scripts"))
	if len(files) != 1 {
		t.Fatalf("%v", files)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(good, []byte("Everywhere")) {
		t.Error("it is not sealed")
	}
	changed := bytes.Clone(good)
	changed[len(changed)-1] ^= 1
	for what, content := range map[string][]byte{"changed": changed, "short": good[:4], "empty": {}, "plain": []byte(`{}`)} {
		if err := os.WriteFile(files[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.loadScripts("ann", "shop"); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{"other.scripts", "shop.json"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(files[0]), name), good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.loadScripts("ann", "other"); protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("of another profile: %v", err)
	}
	if _, err := p.Load("ann", "shop"); protocol.CodeOf(err) != protocol.InvalidParams {
		t.Errorf("as a state: %v", err)
	}
}
