package actions

import (
	"flag"
	"os"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/commands.md")

const commandsFile = "../docs/commands.md"

func TestCommandsDocIsFresh(t *testing.T) {
	if *update {
		if err := os.WriteFile(commandsFile, []byte(Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(commandsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), Markdown()); diff != "" {
		t.Fatalf("docs/commands.md is stale, run go test ./actions -update:\n%s", diff)
	}
}

// A row is complete: a summary, a main parameter that exists, and All sorted.
func TestRowsAreComplete(t *testing.T) {
	if !sort.SliceIsSorted(All, func(i, j int) bool { return All[i].Name < All[j].Name }) {
		t.Error("All is not in the order of the names, so Lookup cannot find them")
	}
	for i := range All {
		h := All[i].Help()
		if h.Summary == "" {
			t.Errorf("%s has no summary", h.Command)
		}
		found := h.Main == ""
		for _, p := range h.Parameters {
			found = found || p.Name == h.Main
			if p.Doc == "" {
				t.Errorf("%s: parameter %s has no doc", h.Command, p.Name)
			}
		}
		if !found {
			t.Errorf("%s: the main parameter %q is none of its parameters", h.Command, h.Main)
		}
		if got, ok := Lookup(h.Command); !ok || got.Name != h.Command {
			t.Errorf("Lookup(%q) does not find it", h.Command)
		}
	}
}
