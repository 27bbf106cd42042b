package driver

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// pinchtab is taken from the peers' directory, then from PATH, and only at its version.
func TestPinchtabProgram(t *testing.T) {
	peers, path := t.TempDir(), t.TempDir()
	t.Setenv("PATH", path)
	put := func(file, version string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\necho pinchtab "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want string) {
		t.Helper()
		got, err := pinchtabProgram(Options{Peers: peers})
		if got != want || (want == "") != errors.Is(err, ErrMissing) {
			t.Errorf("it is %q, %v; want %q", got, err, want)
		}
	}
	byHand, onPath := filepath.Join(peers, "bin", "pinchtab"), filepath.Join(path, "pinchtab")
	want("")
	put(onPath, pinchtabVersion)
	want(onPath)
	put(byHand, "0.0.1")
	want("")
	put(byHand, pinchtabVersion)
	want(byHand)
}
