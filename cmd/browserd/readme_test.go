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

var update = flag.Bool("update", false, "write docs/transcript.md again")

// shownIn cuts a file at the markers of its transcript.
func shownIn(t *testing.T, file string) (before, shown, after []byte) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(text, []byte("<!-- transcript -->\n```\n"))
	shown, after, ok2 := bytes.Cut(rest, []byte("```\n<!-- /transcript -->"))
	if !ok || !ok2 {
		t.Fatalf("%s has no transcript between its markers", file)
	}
	return before, shown, after
}

const longTranscript = "../../docs/transcript.md"

// docs/transcript.md shows what "browserd demo" prints.
func TestLongTranscript(t *testing.T) {
	before, shown, after := shownIn(t, longTranscript)
	demo := exec.CommandContext(t.Context(), "browserd", "demo") // this binary: TestMain
	var stderr strings.Builder
	demo.Stderr = &stderr
	got, err := demo.Output()
	if err != nil {
		t.Fatalf("browserd demo: %v\n%s", err, stderr.String())
	}
	if *update {
		begin, end := []byte("<!-- transcript -->\n```\n"), []byte("```\n<!-- /transcript -->")
		whole := bytes.Join([][]byte{before, begin, got, end, after}, nil)
		if err := os.WriteFile(longTranscript, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(shown), string(got)); d != "" {
		t.Errorf("docs/transcript.md is stale; go test ./cmd/browserd -run LongTranscript -update writes it again (-file +demo)\n%s", d)
	}
}

// The README shows whole steps of docs/transcript.md, in their order. A line "…" stands
// for the steps between them.
func TestReadmeTranscript(t *testing.T) {
	_, readme, _ := shownIn(t, "../../README.md")
	_, long, _ := shownIn(t, longTranscript)
	if n := bytes.Count(readme, []byte("\n")); n > 25 {
		t.Errorf("the README's transcript has %d lines, want at most 25", n)
	}
	rest := strings.Split(strings.TrimSpace(string(long)), "\n\n→ ")
	left, steps := false, 0
	for _, step := range strings.Split(strings.TrimSpace(string(readme)), "\n\n") {
		if step == "…" {
			left = true
			continue
		}
		steps++
		step = strings.TrimPrefix(step, "→ ")
		i := 0
		for i < len(rest) && strings.TrimPrefix(rest[i], "→ ") != step {
			i++
		}
		switch {
		case i == len(rest):
			t.Fatalf("this step of the README is not, or not here, in docs/transcript.md:\n%s", step)
		case left != (i > 0):
			t.Errorf("%d steps are left out before this one, and a line … says so: %t\n%s", i, left, step)
		}
		rest, left = rest[i+1:], false
	}
	if steps < 3 {
		t.Errorf("the README shows %d steps: does the pattern still match?", steps)
	}
}
