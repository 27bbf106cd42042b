package chromium

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Uploads for a Chromium that somebody else started outlive no daemon: what a killed one
// left is removed at the next start, and what a living one has is not.
func TestReapRemovesSharedDirectories(t *testing.T) {
	mine, err := MakeSharedDir("uploads")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(mine)
	left, err := MakeSharedDir("uploads")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(left)
	path := filepath.Join(left, sharedMark)
	var m mark
	content, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(content, &m) != nil {
		t.Fatalf("%s %v", content, err)
	}
	m.DaemonStart++ // an earlier process of the same id
	content, _ = json.Marshal(m)
	if err := errors.Join(os.WriteFile(path, content, 0o600), os.WriteFile(filepath.Join(left, "f"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := Reap(t.TempDir(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed daemon left is there: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("what a living daemon has is gone: %v", err)
	}
}
