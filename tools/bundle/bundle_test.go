package main

import (
	"bytes"
	"os"
	"testing"
)

// TestBundleIsFresh fails where a module was changed and the bundle was not made again.
func TestBundleIsFresh(t *testing.T) {
	want, err := bundle("../../browser/script/js/main.js", false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../browser/script/bundle.js")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("browser/script/bundle.js is stale: run go generate ./browser/script")
	}
}
