package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each client is what follows from the repertoire, and short enough to read.
func TestClientsAreFresh(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is stale, run go generate ./clients/generate", name)
		}
		if n := strings.Count(want, "\n"); n > 1600 {
			t.Errorf("%s has %d lines, more than 1,600", name, n)
		}
	}
}
