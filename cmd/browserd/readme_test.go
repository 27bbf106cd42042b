package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the README's transcript anew")

// The README's transcript is what "browserd demo" prints.
func TestReadmeTranscript(t *testing.T) {
	const file, begin, end = "../../README.md", "<!-- transcript -->\n```\n", "```\n<!-- /transcript -->"
	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(readme, []byte(begin))
	shown, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has no transcript between its markers", file)
	}

	demo := exec.CommandContext(t.Context(), "browserd", "demo") // this binary: TestMain
	var stderr strings.Builder
	demo.Stderr = &stderr
	got, err := demo.Output()
	if err != nil {
		t.Fatalf("browserd demo: %v\n%s", err, stderr.String())
	}
	if *update {
		whole := bytes.Join([][]byte{before, []byte(begin), got, []byte(end), after}, nil)
		if err := os.WriteFile(file, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(shown), string(got)); d != "" {
		t.Errorf("README.md shows another transcript; go test ./cmd/browserd -run Readme -update writes it anew (-README +demo)\n%s", d)
	}
}
