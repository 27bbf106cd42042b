package main

import (
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// An image of a registry on loopback is pinned to its index, again after its tag has
// moved, and not at all where the registry does not know it.
func TestPin(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(t.Output(), "", 0))))
	defer server.Close()
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/debian:slim")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "Dockerfile")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	unpinned := fmt.Sprintf("# a base\nARG BASE_IMAGE=%s\nFROM ${BASE_IMAGE} AS base\n", ref)
	write(unpinned)
	if err := run(file, true); err == nil || !strings.Contains(err.Error(), "has no digest") {
		t.Errorf("check without a digest: %v", err)
	}
	for range 2 {
		index, err := random.Index(64, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.WriteIndex(ref, index); err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if err := run(file, false); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(unpinned, "slim\n", "slim@"+digest.String()+"\n", 1)
		if string(got) != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
		if err := run(file, true); err != nil {
			t.Errorf("check of what was pinned: %v", err)
		}
	}
	write(strings.Replace(unpinned, "slim", "gone", 1))
	if err := run(file, false); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("an image that is not there: %v", err)
	}
	write("FROM debian\n")
	if err := run(file, true); err == nil {
		t.Error("a Dockerfile without such an ARG passes")
	}
}
