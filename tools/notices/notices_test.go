package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// THIRD_PARTY_NOTICES is of the modules of go.mod, and names each one that the
// program itself says it was built from.
func TestNoticesAreFresh(t *testing.T) {
	want, err := notices("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../THIRD_PARTY_NOTICES")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("THIRD_PARTY_NOTICES is stale: run make notices")
	}

	program := filepath.Join(t.TempDir(), "browserd")
	build := exec.Command("go", "build", "-o", program, "./cmd/browserd")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command("go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(string(out), -1)
	if len(modules) < 30 {
		t.Errorf("%d modules are in the program: does the pattern still match?", len(modules))
	}
	for _, m := range modules {
		if !strings.Contains(string(got), "\n"+m[1]+" "+m[2]+": ") {
			t.Errorf("%s %s is linked, and has no licence in THIRD_PARTY_NOTICES", m[1], m[2])
		}
	}
}

// A licence that asks for more than its text, such as the GPL, does not slip in.
func TestLicencesArePermissive(t *testing.T) {
	text, err := os.ReadFile("../../THIRD_PARTY_NOTICES")
	if err != nil {
		t.Fatal(err)
	}
	// modernc.org's lists name what its tests and examples use too, which is not
	// linked.
	sections := strings.Split(string(text), "\n"+strings.Repeat("=", 80)+"\n")
	linked := slices.DeleteFunc(sections, func(section string) bool {
		title, _, _ := strings.Cut(section, "\n")
		return strings.HasSuffix(title, ": LICENSE-3RD-PARTY.md")
	})
	text = []byte(strings.Join(linked, "\n"))
	for _, words := range []string{"GENERAL PUBLIC LICENSE", "Mozilla Public License", "Server Side Public License", "Business Source License"} {
		if at := strings.Index(strings.ToLower(string(text)), strings.ToLower(words)); at >= 0 {
			t.Errorf("%q is in THIRD_PARTY_NOTICES: %q", words, text[max(0, at-200):at+len(words)])
		}
	}
}
