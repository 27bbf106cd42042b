package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each client is what follows from the repertoire, and short enough to read.
func TestClientsAreFresh(t *testing.T) {
	lines := map[string]int{}
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is stale, run go generate ./clients/generate", name)
		}
		lines[strings.Join(strings.Split(name, "/")[:2], "/")] += strings.Count(want, "\n")
	}
	for name, n := range lines {
		t.Logf("%s: %d generated lines", name, n)
		if n > 2000 {
			t.Errorf("%s has %d generated lines, more than 2,000: a command is to need less text in clients/generate", name, n)
		}
	}
}

// What is written by hand in each client, comments included: it is to become less.
func TestClientsAreShort(t *testing.T) {
	limits := map[string]int{"go/*.go": 412, "python/browserd/*.py": 389, "typescript/src/*.ts": 410}
	for files, limit := range limits {
		names, err := filepath.Glob(filepath.Join("..", files))
		if err != nil || len(names) == 0 {
			t.Fatal(files, err)
		}
		n := 0
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			head, _, _ := strings.Cut(string(text), "\n")
			if !strings.Contains(strings.ToLower(head), "generated") && !strings.HasSuffix(name, "_test.go") {
				n += strings.Count(string(text), "\n")
			}
		}
		if n > limit {
			t.Errorf("%s: %d written lines, more than %d", files, n, limit)
		}
		t.Logf("%s: %d written lines", files, n)
	}
}
