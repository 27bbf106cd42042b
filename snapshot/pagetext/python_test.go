package pagetext_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// pagetext.py is written from PROTOCOL.md alone. It holds the same page as PageText after
// each delta of a corpus, which the tests of package snapshot write with -update.
func TestAnotherLanguage(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	corpus, err := os.ReadFile("testdata/deltas.json")
	if err != nil {
		t.Fatal(err)
	}
	var steps []any
	if err := json.Unmarshal(corpus, &steps); err != nil || len(steps) < 100 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/pagetext.py")
	cmd.Stdin = bytes.NewReader(corpus)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
